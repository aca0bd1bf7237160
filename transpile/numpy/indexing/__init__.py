"""Indexing: views, canonical subscripts, loops over subscripts, structured arrays."""
