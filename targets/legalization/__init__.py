"""Legalisation: vector loops of abstract width made concrete for one target, by a cost model."""
