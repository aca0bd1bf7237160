"""Targets: instruction sets, legal IR to C or MLIR, compiling, loading and calling kernels.

In the order of processing: `legalization/` makes vector loops concrete for an ISA,
`kernel_selection` picks hand-written kernels, `c/` and `mlir/` emit text, `build/` compiles and
caches shared objects, `abi/` calls them from Python. `isa/` has one module for each target.
"""
