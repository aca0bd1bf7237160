"""Memory: elements in scalars, dead stores, compress-stores, packed booleans and operands."""
