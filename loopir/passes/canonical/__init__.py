"""Canonical forms: one kind of loop, one float width, simplest expressions, no needless names."""
