"""Specialization for one signature: values become constants, members of objects local names."""
