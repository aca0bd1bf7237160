"""Analyses of Python code: types by inference, shapes, aliases, liveness. They change nothing."""
