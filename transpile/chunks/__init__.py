"""Chunks: fused functions of arrays in chunks (Dask), and as generalized ufuncs of NumPy."""
