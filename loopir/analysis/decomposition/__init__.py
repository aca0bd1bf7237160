"""Domain decomposition: which axes of its arrays a kernel may be given in chunks."""
