"""Passes: each a file, Kernel → Kernel, pure; unchanged input comes back as the same object."""
