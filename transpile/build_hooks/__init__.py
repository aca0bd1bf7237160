"""Build hooks: hatchling and setuptools make wheels of libraries with the kernels of ``@fuse``."""
