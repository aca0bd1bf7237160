"""Cache: kernel interfaces, refusals and functions as data, for later processes."""
