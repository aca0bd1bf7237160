"""Reductions, scans, matrix products."""
