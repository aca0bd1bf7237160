"""Expression algebra: constant folding and rewrites that preserve value and float flags."""
