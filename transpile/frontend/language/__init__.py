"""Desugaring: macros that rewrite language forms and builtins to core Python."""
