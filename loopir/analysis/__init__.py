"""Analyses: what is known of code. They never change it."""
