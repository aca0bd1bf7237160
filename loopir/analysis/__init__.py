"""Analyses: what is known of code. Nothing here changes it."""
