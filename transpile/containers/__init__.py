"""Macros that rewrite lists, dicts, sets and tuples to loops over flat storage."""
