"""Canonical forms: one kind of loop, no storage-only floats, simplest expressions, no copies."""
