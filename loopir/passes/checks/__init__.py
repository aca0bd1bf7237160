"""Checks: bound and overflow checks are removed, hoisted out of loops, or made once a block."""
