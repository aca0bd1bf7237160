"""Loop transformations: partitioning, fission, permutation, unrolling, blocking, unroll-and-jam."""
