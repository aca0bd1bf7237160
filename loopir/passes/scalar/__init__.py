"""Scalar optimizations: common subexpressions, code motion, narrow integers, selects."""
