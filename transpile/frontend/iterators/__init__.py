"""Iteration: macros that make index loops of iterables, comprehensions, and folds over them."""
