"""Loop versioning by the size of elements: sums and products of small integers need no checks.

Each sum of a stencil over an array of int64 may overflow, for all that is known of the elements:
the checks of eight sums take longer than the sums. One pass over the array tells that its elements
are so small that none can overflow.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import reduce
from typing import Any

from ...algebra.constant_folding import index_const, literal
from ...algebra.index_builder import index_max, index_sub, logical_and
from ...analysis.integers.intervals import (
    Bounds,
    Intervals,
    decide_comparison,
    dtype_bounds,
    is_scalar_integer,
    is_within,
)
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, changed_names, multiply_bound_names, names_read
from ...ir_traversal import contains, counted_range, map_children, walk, walk_statements
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Append,
    Assign,
    Break,
    Call,
    Check,
    Dim,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Param,
    Return,
    Scan,
    Stmt,
    Var,
    While,
    Yield,
    Zip,
)

__all__ = ["version_small_elements"]

_MAX_NODES = 400  # size limit of a nest that is copied
_MAX_COPIES = 2  # of nests in a kernel
_UNSUPPORTED = (Append, Break, Return, Scan, While, Zip)
_CHECK_WEIGHTS = {"add_over": 1, "sub_over": 1, "mul_over": 4}
"""What the check of one operation costs in a vector, in checks of a sum."""
_LEAST_WEIGHT = 3
"""The checks that have to go for each array that is looked through."""


def version_small_elements(kernel: Kernel) -> Kernel:
    """Version a nest of loops for small elements of the integer arrays that it reads: that version
    has no checks of sums and products which cannot overflow then.

    It pays where several checks go for each array (`_LEAST_WEIGHT`), and where the nest has about
    as many iterations as the arrays have elements, which is tested beforehand. Before::

        def k(x: i64[::1], y: mut(i64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0] - 2):
                check(~mul_over(x[i], x[i + 1]), "over")
                t = x[i] * x[i + 1]
                check(~add_over(t, x[i + 2]), "over")
                y[i] = t + x[i + 2]

    after::

        def k(x: i64[::1], y: mut(i64[::1])):
            disjoint(x, y)
            if 0.5 * f64(x.shape[0]) <= 1.0 * f64(max(x.shape[0] - 2, 0)):
                for k in loop(0, x.shape[0], bits=0):
                    bits = step(bits | x[k] + 1073741824)
                small = give(bits & -2147483648 == 0)
            else:
                small = give(False)
            if small:
                for i_1 in loop(0, x.shape[0] - 2):
                    t_1 = short_mul(x[i_1], x[i_1 + 1])
                    y[i_1] = t_1 + x[i_1 + 2]
            else:
                for i_2 in loop(0, x.shape[0] - 2):
                    check(~mul_over(x[i_2], x[i_2 + 1]), "over")
                    t_2 = x[i_2] * x[i_2 + 1]
                    check(~add_over(t_2, x[i_2 + 2]), "over")
                    y[i_2] = t_2 + x[i_2 + 2]
    """
    arrays = {p.name: p for p in kernel.params if p.rank and p.dtype in ("i32", "i64")}
    fresh, memory, copies = FreshNames(kernel), AliasInfo(kernel), 0
    versions = {id(n) for s in walk(kernel) if isinstance(s, If) for n in _versions_of(s)}

    def edited(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """`stmts` with nests in two versions: the outermost loops for which that pays."""
        nonlocal copies
        new: list[Stmt] = []
        for s in stmts:
            if not isinstance(s, Loop) or not contains(s, Check) or id(s) in versions:
                new.append(s)
                continue
            found = _assumption(s, arrays, memory, kernel) if copies < _MAX_COPIES else None
            if found is not None:
                copies += 1
                new += _versions(s, found, fresh)
            else:
                body = edited(s.body)
                new.append(s if body == s.body else replace(s, body=body))
        return tuple(new)

    body = edited(kernel.body)
    return replace(kernel, body=body) if copies else kernel


@record(frozen=True, slots=True)
class _Assumption:
    """That all elements of `arrays` are in ``-bound … bound - 1``, so that the `checks` hold, and
    the operands of `products` have 32 bits.
    """

    arrays: tuple[Param, ...]
    bound: int
    checks: frozenset[Check]
    products: frozenset[Call]

    @property
    def weight(self) -> int:
        """What the checks cost."""
        return sum(_CHECK_WEIGHTS[o.op] for c in self.checks if (o := _overflow(c)) is not None)


def _assumption(
    loop: Loop, arrays: dict[str, Param], memory: AliasInfo, kernel: Kernel
) -> _Assumption | None:
    """What to assume of the elements that `loop` reads; None if that does not pay."""
    if contains(loop, _UNSUPPORTED) or sum(1 for _ in walk(loop)) > _MAX_NODES:
        return None
    if any(n.until is not None for n in walk(loop) if isinstance(n, Loop)):
        return None
    written = arrays_written((loop,))
    if written & arrays_read((loop,)):
        return None  # `hoist_checks` may avoid the copy of what the loop updates
    read = [
        arrays[a] for a in sorted(arrays_read((loop,)) & arrays.keys())
        if not memory.overlap((a,), written)
    ]
    dtypes = {p.dtype for p in read}
    if len(dtypes) != 1:
        return None
    bits = DTYPES[dtypes.pop()].bits
    tried = [_assuming(loop, read, 1 << k, kernel) for k in (bits - 6, bits // 2 - 2)]
    best = max(tried, key=lambda a: a.weight)  # of two that do equally well, the wider
    checked = {n.array for c in best.checks for n in _origins(c.cond, loop)}
    best = replace(best, arrays=tuple(p for p in read if p.name in checked))
    return best if best.weight >= _LEAST_WEIGHT * len(best.arrays) > 0 else None


def _assuming(loop: Loop, read: list[Param], bound: int, kernel: Kernel) -> _Assumption:
    """The checks of `loop` that hold if the elements of the arrays `read` are within `bound`."""
    intervals = _SmallElements({p.name for p in read}, bound)
    ambiguous, checks, half = multiply_bound_names(kernel), set[Check](), dtype_bounds("i32")
    for s in walk_statements(loop):
        if isinstance(s, Assign) and s.name not in ambiguous and is_scalar_integer(s.value):
            intervals.names[s.name] = intervals.of(s.value)
        elif isinstance(s, Check) and (o := _overflow(s)) is not None:
            a, b = o.args
            if decide_comparison(o.op, a.dtype, intervals.of(a), intervals.of(b)) is False:
                checks.add(s)
    calls = (n for n in walk(loop) if isinstance(n, Call) and n.op == "mul" and n.dtype == "i64")
    products = (n for n in calls if all(is_within(intervals.of(a), half) for a in n.args))
    return _Assumption(tuple(read), bound, frozenset(checks), frozenset(products))


class _SmallElements(Intervals):
    """Intervals of expressions, if the elements of some arrays are within a bound."""

    def __init__(self, arrays: Collection[str], bound: int) -> None:
        super().__init__()
        self.arrays, self.bound = arrays, bound

    def _of(self, e: Expr) -> Bounds:
        """The interval of `e`."""
        if isinstance(e, Load) and e.array in self.arrays:
            return -self.bound, self.bound - 1
        return super()._of(e)


def _overflow(s: Check) -> Call | None:
    """The predicate of overflow that `s` checks not to be true; None if it checks another."""
    match s.cond:
        case Call("not", (Call(op) as predicate,)) if op in _CHECK_WEIGHTS:
            return predicate if is_scalar_integer(predicate.args[0]) else None
    return None


def _origins(e: Expr, loop: Loop) -> Iterator[Load]:
    """The loads in `loop` from which `e` is computed."""
    values = {s.name: s.value for s in walk_statements(loop) if isinstance(s, Assign)}
    worklist = [e]
    while worklist:
        for n in walk(worklist.pop()):
            if isinstance(n, Load):
                yield n
            elif isinstance(n, Var) and n.name in values:
                worklist.append(values.pop(n.name))


def _versions(loop: Loop, assumed: _Assumption, fresh: FreshNames) -> Iterator[Stmt]:
    """The test of the elements, and a branch on it: `loop` without the checks, or `loop`."""
    small = Var(fresh.name("small"), "bool")
    enough: Expr = reduce(logical_and, (_is_long_enough(loop, p) for p in assumed.arrays))
    tests, bits = list[Stmt](), list[Expr]()
    for p in assumed.arrays:
        nest, seen = _bits_of_elements(p, assumed.bound, fresh)
        tests.append(nest)
        bits.append(seen)
    dtype = assumed.arrays[0].dtype
    seen_bits = reduce(lambda a, b: Call("bitor", (a, b), dtype), bits)
    above = Call("bitand", (seen_bits, literal(-2 * assumed.bound, dtype)), dtype)
    none = Call("eq", (above, literal(0, dtype)), "bool")
    yield If(enough, tuple(tests), (), (Yield(small.name, none, literal(0, "bool")),))

    def short(n: Any) -> Any:
        """`n` with the products of 32 bits."""
        new = map_children(n, short)
        return replace(new, op="short_mul") if n in assumed.products else new

    def without(n: Stmt) -> tuple[Stmt, ...]:
        """The statement `n` without the checks."""
        if isinstance(n, Check):
            return () if n in assumed.checks else (n,)
        if isinstance(n, Loop):
            return (replace(n, body=tuple(x for b in n.body for x in without(b))),)
        if isinstance(n, If):
            then, orelse = ([x for b in side for x in without(b)] for side in (n.then, n.orelse))
            return (replace(n, then=tuple(then), orelse=tuple(orelse)),)
        return (n,)

    (plain,) = without(loop)
    if assumed.products:
        plain = short(plain)
    first, second = fresh.copy(plain), fresh.copy(loop)
    assert isinstance(first, Loop)
    assert isinstance(second, Loop)
    yields = tuple(
        Yield(a.name, p.current, q.current)
        for a, p, q in zip(loop.accs, first.accs, second.accs, strict=True)
    )
    yield If(small, (first,), (second,), yields, span=loop.span)


def _bits_of_elements(p: Param, bound: int, fresh: FreshNames) -> tuple[Stmt, Var]:
    """The loops over all elements of `p`, and the bits that these have, plus `bound`: one that is
    worth ``2 * bound`` or more, if an element is not within the bound.
    """
    index = tuple(Var(fresh.name("k"), INDEX) for _ in range(p.rank or 0))
    names = [fresh.name("bits") for _ in index]
    step: Expr = Call("add", (Load(p.name, index, p.dtype), literal(bound, p.dtype)), p.dtype)
    step = Call("bitor", (Var(names[-1], p.dtype), step), p.dtype)
    nest: tuple[Stmt, ...] = ()
    for axis in reversed(range(len(index))):
        init = Var(names[axis - 1], p.dtype) if axis else literal(0, p.dtype)
        acc = Accum(names[axis], init, step)
        nest = (Loop(index[axis].name, Interval(index_const(0), Dim(p.name, axis)), nest, (acc,)),)
        step = Var(names[axis], p.dtype)
    return nest[0], Var(names[0], p.dtype)


def _is_long_enough(loop: Loop, p: Param) -> Expr:
    """Whether `loop` has at least half as many iterations as `p` has elements."""
    one: Expr = literal(1.0, "f64")
    iterations = reduce(_product, map(_as_float, _trips(loop, changed_names(loop))), one)
    lengths = [_as_float(Dim(p.name, axis)) for axis in range(p.rank or 0)]
    half: Expr = literal(0.5, "f64")
    return Call("le", (reduce(_product, lengths, half), iterations), "bool")


def _as_float(e: Expr) -> Expr:
    return Call("cast", (e,), "f64")


def _product(a: Expr, b: Expr) -> Expr:
    return Call("mul", (a, b), "f64")


def _trips(loop: Loop, changed: Collection[str]) -> Iterator[Expr]:
    """The trip counts of `loop` and of the nested loops around its checks, of those whose range
    does not depend on the names `changed`.
    """
    interval = counted_range(loop)
    ends = () if interval is None or contains(interval, Load) else (interval.lo, interval.hi)
    if ends and names_read(*ends).isdisjoint(changed):
        yield index_max(index_sub(ends[1], ends[0]), 0)
    inner = [s for s in loop.body if isinstance(s, Loop) and contains(s, Check)]
    if inner:
        yield from _trips(inner[0], changed)


def _versions_of(s: If) -> tuple[Stmt, ...]:
    """The loops between which `s` chooses, if this pass has made it; else none."""
    match s:
        case If(then=(Loop() as first,), orelse=(Loop() as second,)):
            return first, second
    return ()
