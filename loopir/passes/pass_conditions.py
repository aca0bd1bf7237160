"""Conditions of passes: what a kernel must contain for a pass to change it.

Asked before each pass of `pass_list`, so that most passes walk only kernels that they may change.
"""
from __future__ import annotations

from itertools import product

from ..algebra.constant_folding import constant_trip_count
from ..dtypes import DTYPES, INDEX
from ..ir_names import names_read
from ..ir_traversal import contains, contains_nest, memoized_per_node, ops_within, walk_statements
from ..nodes import (
    Accum,
    Call,
    Check,
    Const,
    If,
    Interval,
    Kernel,
    Loop,
    Node,
    RangeDesc,
    Store,
    Var,
    VecLoop,
    While,
)

__all__ = [
    "alternates", "branches_in_loops", "carries_bools", "carries_indices", "carries_low_bits",
    "carries_values", "chooses", "contains_groups", "converts_in_nests", "counts_bits_in_nests",
    "counts_in_lanes", "divides", "has_checks_or_roots", "has_constant_trips", "has_exits",
    "has_vector_maps_in_loops", "in_branches", "is_alternating", "masks_integers", "owns_bools",
    "reads_integers", "scalar_loops", "selects", "shifts_or_masks", "stores_in_loops",
    "widens_elements",
]


@memoized_per_node
def scalar_loops(kernel: Kernel) -> tuple[Loop, ...]:
    """The scalar counted loops of `kernel`, at any depth."""
    return tuple(n for s in kernel.body for n in walk_statements(s) if isinstance(n, Loop))


def in_branches(kernel: Kernel, kind: type) -> bool:
    """Whether a branch in a loop has a statement of that kind."""
    branches = (n for loop in scalar_loops(kernel) for s in loop.body for n in walk_statements(s))
    return any(isinstance(n, If) and contains(n, kind) for n in branches)


def branches_in_loops(kernel: Kernel) -> bool:
    """Whether a scalar loop has a branch, or there is a ``while``."""
    return contains(kernel, While) or any(contains(loop, If) for loop in scalar_loops(kernel))


def stores_in_loops(kernel: Kernel) -> bool:
    """Whether a loop stores to an array."""
    return any(contains(loop, Store) for loop in scalar_loops(kernel))


def contains_groups(kernel: Kernel) -> bool:
    """Whether a loop of `kernel` does nothing but run another one, both in steps of more than one:
    over groups of blocks, and over the blocks of a group.
    """
    return any(
        _is_strided(x) and len(x.body) == 1 and _is_strided(x.body[0]) for x in scalar_loops(kernel)
    )


def _is_strided(s: Node) -> bool:
    """Whether `s` is a counted loop that steps by more than one."""
    return isinstance(s, Loop) and isinstance(s.range, RangeDesc)


def has_exits(kernel: Kernel) -> bool:
    """Whether a loop ends early, once its accumulators say so."""
    return any(loop.until is not None for loop in scalar_loops(kernel))


def carries_bools(kernel: Kernel) -> bool:
    """Whether a loop has a bool as an accumulator."""
    return any(a.init.dtype == "bool" for loop in scalar_loops(kernel) for a in loop.accs)


def alternates(kernel: Kernel) -> bool:
    """Whether a loop has an accumulator whose step has a form that alternates."""
    return any(is_alternating(a) for loop in scalar_loops(kernel) for a in loop.accs)


def is_alternating(a: Accum) -> bool:
    """Whether the step of `a` is one of ``-a``, ``not a``, ``a * -1``, and ``c - a`` of a constant.
    """
    match a.step:
        case Call("neg" | "not", (Var(name),)) | Call("sub", (Const(), Var(name))):
            return name == a.name
        case Call("mul", (Var(name), Const(factor)) | (Const(factor), Var(name))):
            return name == a.name and factor == -1
    return False


def carries_indices(kernel: Kernel) -> bool:
    """Whether a loop has an int as an accumulator, which may be the index of an element."""
    accs = (a for loop in scalar_loops(kernel) for a in loop.accs)
    return any(DTYPES[a.init.dtype].kind in "iu" for a in accs)


def carries_values(kernel: Kernel) -> bool:
    """Whether a loop has an accumulator whose step may be a value of the iteration alone, such as
    an element: the step does not read the accumulator, or it is a select.
    """
    return any(
        a.name not in names_read(a.step) or (isinstance(a.step, Call) and a.step.op == "select")
        for loop in scalar_loops(kernel) for a in loop.accs
    )


def chooses(kernel: Kernel) -> bool:
    """Whether a value depends on a condition: an extremum does, in any of its spellings."""
    return contains(kernel, If) or not _CHOICES.isdisjoint(ops_within(kernel))


def has_checks_or_roots(kernel: Kernel) -> bool:
    """Whether there is a check, a ``while`` loop, a square root, which may be compared, or a
    minimum beside a quotient, as of a block that ends with its array at the latest.
    """
    found = ops_within(kernel)
    return contains(kernel, While | Check) or "sqrt" in found or {"min", "floordiv"} <= found


def shifts_or_masks(kernel: Kernel) -> bool:
    """Whether bits of integers are selected, by shifts or masks."""
    return not _BIT_OPS.isdisjoint(ops_within(kernel))


def masks_integers(kernel: Kernel) -> bool:
    """Whether low bits of integers are selected, by masks or remainders."""
    return not {"bitand", "mod"}.isdisjoint(ops_within(kernel))


def carries_low_bits(kernel: Kernel) -> bool:
    """Whether a loop has an int as an accumulator, and low bits of products are selected."""
    has_products = "mul" in ops_within(kernel) and masks_integers(kernel)
    return has_products and carries_indices(kernel)


def counts_bits_in_nests(kernel: Kernel) -> bool:
    """Whether bits are selected in a kernel with nested loops."""
    return shifts_or_masks(kernel) and contains_nest(kernel)


def divides(kernel: Kernel) -> bool:
    """Whether a kernel with loops has a quotient or remainder."""
    return not {"floordiv", "mod"}.isdisjoint(ops_within(kernel)) and contains(kernel, Loop)


def converts_in_nests(kernel: Kernel) -> bool:
    """Whether integers are converted or divided in a kernel with nested loops."""
    return contains_nest(kernel) and not _CONVERSIONS.isdisjoint(ops_within(kernel))


def selects(kernel: Kernel) -> bool:
    """Whether a value is a select."""
    return "select" in ops_within(kernel)


def counts_in_lanes(kernel: Kernel) -> bool:
    """Whether a vector loop has an int as an accumulator, which may be a count."""
    loops = (n for s in kernel.body for n in walk_statements(s) if isinstance(n, VecLoop))
    return any(DTYPES[a.init.dtype].kind in "iu" for loop in loops for a in loop.accs)


def has_vector_maps_in_loops(kernel: Kernel) -> bool:
    """Whether a vector loop without accumulators stands directly in a scalar loop."""
    inner = (s for loop in scalar_loops(kernel) for s in loop.body)
    return any(isinstance(s, VecLoop) and not s.accs for s in inner)


def has_constant_trips(kernel: Kernel) -> bool:
    """Whether the trip count of a loop is a constant."""
    ranges = (loop.range for loop in scalar_loops(kernel))
    return any(isinstance(r, Interval) and constant_trip_count(r) is not None for r in ranges)


def widens_elements(kernel: Kernel) -> bool:
    """Whether the kernel has an array of integers of at most 16 bits, and an integer argument."""
    dtypes = {(DTYPES[p.dtype].kind, DTYPES[p.dtype].bits) for p in kernel.params if p.rank}
    has_narrow = not dtypes.isdisjoint(product("iu", (8, 16)))
    return has_narrow and any(p.rank is None and p.dtype == INDEX for p in kernel.params)


def reads_integers(kernel: Kernel) -> bool:
    """Whether the kernel has an array of integers of 32 or 64 bits, and checks for overflow."""
    has_integers = any(p.rank and p.dtype in ("i32", "i64") for p in kernel.params)
    return has_integers and not _OVERFLOWS.isdisjoint(ops_within(kernel))


def owns_bools(kernel: Kernel) -> bool:
    """Whether an array of bools is made for the kernel alone."""
    return any(p.owned and p.dtype == "bool" for p in kernel.params)


_BIT_OPS = frozenset(("shr", "bitand"))
"""The operations that select bits of an integer."""

_OVERFLOWS = frozenset(("add_over", "sub_over", "mul_over"))

_CONVERSIONS = frozenset(("cast", "floordiv", "mod"))

_CHOICES = frozenset(("select", "max", "min", "maximum", "minimum"))
"""The operations whose result is one of their operands, by a comparison or a condition."""
