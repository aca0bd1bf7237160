"""Expressions in their simplest form: rules that keep value and flags, and what they rest on."""
