"""New arrays: literals, fills, random arrays, comprehensions, concatenation."""
