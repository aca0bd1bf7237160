"""Loop IR: nodes, operations, text form, verifier, interpreter, analyses, fusion and passes.

The lowest layer: it imports neither `targets` nor `transpile`.
"""
