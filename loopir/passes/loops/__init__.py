"""Loop transformations: partitioning, fission, order, unrolling, blocking, unroll-and-jam."""
