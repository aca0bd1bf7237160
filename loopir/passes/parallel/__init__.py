"""Parallel loops: which loops threads may run, and folds and searches split so that they may."""
