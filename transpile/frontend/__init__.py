"""Front end: from a Python function to core Python.

In the order of processing: the source is found (`source`) and compared with the bytecode
(`bytecode_check`); arguments whose values select the code become constants (`specialize`); calls of
Python functions are inlined (`inline`); members of arguments get local names (`specialize`); macros
expand (`transpile.expand`). `macros` is their engine; `language` and `iterators`,
`transpile.containers` and `transpile.numpy` have the macros themselves.
"""
