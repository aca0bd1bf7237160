"""Parts of the C of parallel loops: what a chunk does beside its iterations."""
