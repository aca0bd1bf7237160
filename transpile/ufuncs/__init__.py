"""Ufuncs: fused functions of single elements, or of a few axes, over arrays of any rank."""
