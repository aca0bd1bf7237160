"""NumPy functions and whole-array expressions as AST macros: Python loops over the elements."""
