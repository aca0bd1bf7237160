"""Reductions: extrema and their positions, prefix scans, blocked sums, versions for short ones."""
