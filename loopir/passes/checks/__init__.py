"""Checks: bound and overflow checks are proved, hoisted out of loops, or asked once a block."""
