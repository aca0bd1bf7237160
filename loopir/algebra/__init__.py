"""Expression algebra: constant folding and exact rewrites, which keep value and flags."""
