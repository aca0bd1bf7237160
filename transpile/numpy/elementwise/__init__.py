"""Elementwise expressions, and assignment of whole arrays."""
