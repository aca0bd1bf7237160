"""Memory: scalar replacement, dead stores, compress-stores, packed booleans and operands."""
