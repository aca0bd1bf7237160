"""Kernel calls: from the arguments of a Python call to the call of a kernel, and to its result."""
