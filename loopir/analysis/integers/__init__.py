"""Integers: linear forms, ranges, differences, and what conditions imply about them."""
