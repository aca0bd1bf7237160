"""May it raise: which floating-point flags code may raise, and whether it may end in a replay.

A *flag* is a bit of the floating-point status that some operands of an operation set; NumPy and
Python turn it into a warning or an exception, so that a pass may neither drop nor add one. If a
check of the code ``"replay"`` fails, the caller runs the function again in Python; a kernel with
`Kernel.stops` ends at that check.
"""
from __future__ import annotations

from collections.abc import Iterator
from math import inf

from ..dtypes import DTYPES
from ..ir_traversal import children, contains, memoized_per_node, ops_within, walk
from ..nodes import Call, Check, Const, Expr, Node
from ..op_table import OPS
from .constant_folding import is_lossless_cast

__all__ = [
    "answer_keeping_flags", "call_may_raise", "is_overflow_check", "is_replay_check",
    "may_only_underflow", "may_raise_flags", "may_replay", "possible_flags", "replay_checks",
]


def _flags_of_call(e: Call) -> tuple[str, ...]:
    """The float-flag classes that `e` raises for some operands."""
    if e.op == "cast":
        source = e.args[0].dtype
        is_exact_from_integer = DTYPES[source].kind != "f" and DTYPES[e.dtype].wide is None
        return (
            ()
            if is_exact_from_integer or is_lossless_cast(source, e.dtype)
            else ("over", "under", "invalid")
        )
    flags = OPS[e.op].raises if any(DTYPES[a.dtype].kind == "f" for a in e.args) else ()
    return tuple(c for c in flags if c not in _excluded_flags(e)) if flags else ()


def _excluded_flags(e: Call) -> tuple[str, ...]:
    """The flags that a constant operand of `e` excludes.

        x + 0.3      all: x stays infinite, or is too large to be changed
        x * 0.3      all but "under": the product is no larger than x, and 0.3 no infinity
        x / 3.0      the same
    """
    if e.dtype not in _UNCHANGED_BY:
        return ()
    match e.op, e.args:
        case "add" | "sub", (Const(c), _) | (_, Const(c)):
            return ("over", "invalid") if abs(c) < _UNCHANGED_BY[e.dtype] else ()
        case "mul", (Const(c), _) | (_, Const(c)):
            return ("over", "invalid") if 0.0 < abs(c) <= 1.0 else ()
        case "div", (_, Const(c)):
            return ("divide", "over", "invalid") if 1.0 <= abs(c) < inf else ()
    return ()


_UNCHANGED_BY = {"f32": 2.0**100, "f64": 2.0**960}
"""Numbers that are less than half the distance between the two largest ones of a dtype."""


def call_may_raise(e: Call) -> bool:
    """Whether `e` raises a floating-point flag for some operands."""
    return bool(_flags_of_call(e))


def may_only_underflow(n: Node) -> bool:
    """Whether `n` may raise "under", which NumPy ignores unless it is told otherwise, and no other
    floating-point flag.
    """
    return possible_flags(n) == {"under"}


def possible_flags(*code: Node) -> frozenset[str]:
    """The float-flag classes that `code` may raise: "divide", "over", "under", "invalid".

        x / y        (floats)     →    {"divide", "over", "under", "invalid"}
        i64(x) + 1   (x a float)  →    {"invalid", "over", "under"}, by the conversion
        i + 1                     →    {}: integer operations raise no flag

    By the column ``raises`` of each operation (`op_table.Op`), not by values: ``x / 2.0`` may raise
    all four. Passes ask before they drop, move or duplicate code; a memo in each node makes it
    cheap.
    """
    return frozenset[str]().union(*map(_flags_within, code))


@memoized_per_node
def _flags_within(n: Node) -> frozenset[str]:
    """The float-flag classes that `n` and the nodes below it may raise, memoised."""
    if not contains(n, Call):
        return _NO_FLAGS
    own = _flags_of_call(n) if isinstance(n, Call) else ()
    return frozenset(own).union(*map(_flags_within, children(n)))


_NO_FLAGS: frozenset[str] = frozenset()


def may_raise_flags(n: Node) -> bool:
    """Whether evaluating `n` may raise a floating-point flag."""
    return bool(possible_flags(n))


def answer_keeping_flags(e: Call, answer: bool) -> Expr:
    """Replace an integer comparison whose `answer` is known, keeping its float flags.

    Floats in the operands that may raise a flag are still computed: ``i64(x / y) < 2**63 - 1`` →
    ``(x / y == 0.0) | True``. A flag of the conversion to an integer is not kept: lowering has
    checked that the float fits.
    """
    out: Expr = Const(answer, "bool")
    for part in (p for a in e.args for p in _flag_raising_parts(a)):
        test = part if part.dtype == "bool" else Call("eq", (part, Const(0.0, part.dtype)), "bool")
        out = Call("or" if answer else "and", (test, out), "bool")
    return out


def _flag_raising_parts(e: Expr) -> Iterator[Expr]:
    """The outermost bool and float subexpressions of an integer expression that may raise a flag.
    """
    if may_raise_flags(e) and (e.dtype == "bool" or DTYPES[e.dtype].kind == "f"):
        yield e
    elif isinstance(e, Call):
        for a in e.args:
            yield from _flag_raising_parts(a)


def is_replay_check(n: object) -> bool:
    """Whether `n` is a check after which the call is replayed in Python if it fails."""
    return isinstance(n, Check) and n.code == "replay"


def replay_checks(*code: Node) -> Iterator[Check]:
    """The checks in `code` after which the call is replayed if they fail, in their order."""
    parts = (part for part in code if contains(part, Check))
    return (n for part in parts for n in walk(part) if isinstance(n, Check) and is_replay_check(n))


def is_overflow_check(c: Check) -> bool:
    """Whether `c` checks that an operation on integers does not overflow, and no subscript::

        check(count <= 2147483646, "over")              of NumPy's scalars
        check(skipped | ~add_over(t, 1), "replay")      of Python's ints, under a condition
    """
    return c.code == "over" or not _OVERFLOW_TESTS.isdisjoint(ops_within(c.cond))


_OVERFLOW_TESTS = frozenset(("add_over", "sub_over", "mul_over"))


def may_replay(*code: Node) -> bool:
    """Whether the call may be replayed in Python because of `code`: it has a check of the code
    "replay".

    A pass must not move a visible store before such code: the kernel may end at the check
    (`Kernel.stops`), and the replay would then run on a changed array. A check of another code,
    such as "over", only sets a flag. (Guards are tested before the kernel runs, and are no part of
    `code`.)
    """
    return any(True for _ in replay_checks(*code))
