"""Vectorisation: legality, if-conversion, widening, vector, outer, divergent and search loops."""
