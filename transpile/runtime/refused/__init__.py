"""Refused functions: their warnings, and the compiled regions by which calls of them are served."""
