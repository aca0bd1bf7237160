"""Lower complex numbers, as pairs of floats."""
