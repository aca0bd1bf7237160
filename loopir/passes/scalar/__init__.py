"""Scalar optimisations: common subexpressions, code motion, narrow integers, selects."""
