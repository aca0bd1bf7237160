"""Outlining: regions of a refused function that compile become functions of their own."""
