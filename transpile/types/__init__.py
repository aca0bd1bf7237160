"""Types: what the value of a name is, which types a call has, phis, effects of statements."""
