"""Types and static analyses: inference, dataflow, alias, escape, effects, liveness, shapes."""
