"""Building kernels: C compilers, the cache of shared objects on disk, dynamic loading."""
