"""What a machine offers: tables per ISA, legal IR to C, compilers, the object cache and loading."""
