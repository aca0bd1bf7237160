"""Named NumPy functions: identities, and loops from templates."""
