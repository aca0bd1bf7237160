"""Instruction sets: one module of rows for each target, and the registry of all targets."""
