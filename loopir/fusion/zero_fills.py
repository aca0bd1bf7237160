"""Zero fills: an array that is made of zeros is filled by the first loop over all its elements.

Such a loop stores to some of the elements, or adds to them. Where it stores 0 first, the allocator
need not fill the array: one pass over memory less, and a store under a condition is one of a
`select`. The stage ``fuse`` of `transpile/pipeline.py` calls `fill_in_first_loop`.

A temporary that several passes over it sum up is filled by one loop over its elements, each with
its sum in a scalar (`sum_up_elements`): fusion then joins that loop with those that use the sums.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..algebra.index_builder import index_sub, is_nonempty
from ..analysis.integers.affine import AffineBindings
from ..dtypes import DTYPES, INDEX
from ..ir_traversal import contains, walk, walk_statements
from ..lazy_dataclass import replace
from ..nodes import (
    Append,
    Assign,
    Break,
    Call,
    Check,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Param,
    RangeDesc,
    Return,
    Scan,
    Stmt,
    Store,
    Var,
    While,
)
from ..process.lazy_function import lazy_function
from .iteration_domains import affine_bindings, same_range, trip_count_difference

__all__ = ["fill_in_first_loop", "sum_up_elements"]

canonicalize_loops = lazy_function("loopir.passes", "canonical.canonicalize_loops")
check_elimination = lazy_function("loopir.passes", "checks.check_elimination")
partition_loops = lazy_function("loopir.passes", "loops.partition_loops")
permute_loops = lazy_function("loopir.passes", "loops.permute_loops")
promote = lazy_function("loopir.passes", "memory.promote")
simplify = lazy_function("loopir.passes", "canonical.simplify")


def fill_in_first_loop(
    kernel: Kernel, zeros: Mapping[str, Sequence[Expr]]
) -> tuple[Kernel, frozenset[str]]:
    """`kernel`, with a store of 0 in front of the first loop body that uses one of the arrays, and
    the names of these, which need no fill any more. ``zeros``: the arrays that are allocated for
    each call, filled with 0, each with its lengths.

        for i in loop(0, n):              for i in loop(0, n):
            if x[i] > 0.0:                    out[i] = 0.0
                out[i] = x[i]        →        if x[i] > 0.0:
                                                  out[i] = x[i]

    The first statement of the kernel that uses the array is a nest over all its elements, with
    nothing but assignments between its loops, which no iteration leaves early; its innermost body
    has no loops, and uses one element alone, whose subscripts are the variables of the nest. A loop
    over all elements of a vector but a few at its ends, as of a stencil, will do, too.
    """
    zeros = {name: lengths for name, lengths in zeros.items() if name in _stored(kernel)}
    if not zeros:
        return kernel, frozenset()
    params = {p.name: p for p in kernel.params}
    bindings = affine_bindings(kernel)
    body, filled = list(kernel.body), set()
    rests: list[Stmt] = []
    for name, lengths in zeros.items():
        uses = (k for k, s in enumerate(body) if any(_uses(n, name) for n in walk(s)))
        first = next(uses, None)
        if first is None:
            continue
        nest, subscripts = _nest(body[first]), _subscripts(body[first], name)
        rest = _rest_of(nest, subscripts, lengths, bindings)
        if rest is not None and params[name].dtype in DTYPES:
            body[first] = _with_fill(nest, Store(name, subscripts, Const(0, params[name].dtype)))
            filled.add(name)
            rests += _fills_of_rest(params[name], lengths[0], *rest)
    new = replace(kernel, body=(*rests, *body)) if filled else kernel
    return new, frozenset(filled)


def sum_up_elements(
    kernel: Kernel, zeros: Mapping[str, Sequence[Expr]], *, reassociate: bool
) -> tuple[Kernel, frozenset[str]]:
    """`kernel`, in which one loop stores the sum of each element of some temporaries; and the names
    of these. ``zeros``: the temporaries that are filled with 0, as in `fill_in_first_loop`.

        for k in loop(0, w):                      for i in loop(0, n):
            for i in loop(0, n):                      for k in loop(0, w, s=0.0):
                t[i] = t[i] + x[k + i]       →            s = step(s + x[k + i])
        for j in loop(0, n):                          t[i] = s
            y[j] = t[j] / d                       for j in loop(0, n):
                                                      y[j] = t[j] / d

    The nest is the first statement that uses the temporary. The passes that prepare a sum in a
    scalar (`permute_loops`, `promote`) run on the whole kernel, which is else returned as it is.
    """
    sums = [name for name in zeros if _is_summed_by_nest(kernel, name)]
    if not sums:
        return kernel, frozenset()
    new = kernel
    for step in (canonicalize_loops, simplify, check_elimination, partition_loops, simplify):
        new = step(new)
    new = simplify(promote(permute_loops(new, reassociate=reassociate)))
    body, summed, bindings = list(new.body), set[str](), affine_bindings(new)
    for name in sums:
        first = next(k for k, s in enumerate(body) if any(_uses(n, name) for n in walk(s)))
        nest = _nest(body[first])
        variables = tuple(Var(loop.var, INDEX) for loop in nest)
        ranges = (loop.range for loop in nest)
        wholes = [Interval(Const(0, INDEX), n) for n in zeros[name]]
        is_whole = len(variables) == len(wholes) and all(
            same_range(r, whole, bindings) for r, whole in zip(ranges, wholes, strict=True)
        )
        if is_whole and (sum_from_zero := _sum_from_zero(nest[-1].body, name, variables)):
            body[first] = _with_body(nest, sum_from_zero)
            summed.add(name)
    return (replace(new, body=tuple(body)), frozenset(summed)) if summed else (kernel, frozenset())


def _is_summed_by_nest(kernel: Kernel, array: str) -> bool:
    """Whether the first statement that uses `array` is a nest which adds to elements that its
    outermost loop does not select, and a later statement loads some.
    """
    uses = [s for s in kernel.body if any(_uses(n, array) for n in walk(s))]
    if len(uses) < 2 or not isinstance(loop := uses[0], Loop):
        return False
    match loop.body:
        case (*before, Loop() as inner) if all(isinstance(s, Assign | Check) for s in before):
            subscripts = _subscripts(inner, array)
            stores = [n for n in walk(inner) if isinstance(n, Store)]
            is_sum = [s.array for s in stores] == [array] and len(subscripts) > 0
            return is_sum and Var(loop.var, INDEX) not in subscripts
    return False


def _sum_from_zero(
    body: Sequence[Stmt], array: str, index: tuple[Expr, ...]
) -> tuple[Stmt, ...] | None:
    """The loop that sums up the element of `array` at `index`, from 0, and the store of the sum, if
    `body` is that loop, from the element as it was, and the store, where the loop has iterations.
    """
    match body:
        case [If(cond, (Loop(accs=(acc,)) as loop, Store(value=Var(name)) as store), (), ())] if (
            acc.init == Load(array, index, acc.init.dtype) and name == acc.name
            and isinstance(loop.range, Interval) and cond == is_nonempty(loop.range)
            and (store.array, store.index, store.mask) == (array, index, None)
            and not any(_uses(n, array) for s in (*loop.body, acc.step) for n in walk(s))
        ):
            zero = replace(acc, init=Const(0, acc.init.dtype))
            return replace(loop, accs=(zero,)), store
    return None


def _with_body(nest: Sequence[Loop], body: tuple[Stmt, ...]) -> Loop:
    """The `nest` with another innermost body."""
    new = replace(nest[-1], body=body)
    for loop in reversed(nest[:-1]):
        new = replace(loop, body=(*loop.body[:-1], new))
    return new


def _stored(kernel: Kernel) -> set[str]:
    return {n.array for n in walk_statements(kernel) if isinstance(n, Store)}


def _uses(n: object, array: str) -> bool:
    return isinstance(n, Load | Store | Append | Scan) and n.array == array


def _subscripts(s: Stmt, array: str) -> tuple[Expr, ...]:
    """The subscripts of the one element of `array` that `s` uses; empty if it uses several, or all.
    """
    uses = [n for n in walk(s) if _uses(n, array)]
    found = {n.index for n in uses if isinstance(n, Load | Store)}
    is_one = len(found) == 1 and all(isinstance(n, Load | Store) for n in uses)
    return found.pop() if is_one else ()


def _rest_of(
    nest: Sequence[Loop], subscripts: Sequence[Expr], lengths: Sequence[Expr],
    bindings: AffineBindings,
) -> tuple[int, int] | None:
    """How many elements a `nest` that uses the element at `subscripts` leaves out at the start of
    an array with these `lengths`, and at its end. None if it may end early or has other loops in
    it, if it uses no element for each iteration, and if it leaves out more than `_MAX_REST`, or
    elements of a matrix.
    """
    if not nest or not len(nest) == len(subscripts) == len(lengths):
        return None
    may_end_early = any(x.until is not None for x in nest) or contains(nest[0], Break | Return)
    if may_end_early or any(contains(inner, Loop | While) for inner in nest[-1].body):
        return None
    variables = tuple(Var(loop.var, INDEX) for loop in nest)
    wholes = [Interval(Const(0, INDEX), n) for n in lengths]
    if tuple(subscripts) == variables and all(
        same_range(loop.range, whole, bindings) for loop, whole in zip(nest, wholes, strict=True)
    ):
        return 0, 0
    match nest[0].range, subscripts[0]:
        case (Interval(Const(lo)) | RangeDesc(Const(lo), _, 1)), Var() as i:
            start = int(lo)
        case (Interval(Const(lo)) | RangeDesc(Const(lo), _, 1)), Call(
            "add", (Var() as i, Const(shift))
        ):
            start = int(lo) + int(shift)
        case _:
            return None
    if len(nest) > 1 or i != variables[0]:
        return None
    left_out = trip_count_difference(wholes[0], nest[0].range, bindings)
    if left_out is None or not 0 <= start <= left_out <= _MAX_REST:
        return None
    return start, left_out - start


_MAX_REST = 4
"""The most elements that are filled one by one: those at the ends of a stencil."""


def _fills_of_rest(array: Param, length: Expr, start: int, end: int) -> Iterator[Stmt]:
    """Stores of 0 to the first `start` and the last `end` elements of a vector, as far as there
    are so many. They have no span: they are no code of the user's.
    """
    first = [Const(k, INDEX) for k in range(start)]
    last = [index_sub(length, k) for k in range(1, end + 1)]
    for at in (*first, *last):
        inside = Call("and", (
            Call("ge", (at, Const(0, INDEX)), "bool"), Call("lt", (at, length), "bool")
        ), "bool")
        yield If(inside, (Store(array.name, (at,), Const(0, array.dtype)),), ())


def _with_fill(nest: Sequence[Loop], fill: Store) -> Loop:
    """The `nest` with `fill` in front of its innermost body."""
    return _with_body(nest, (fill, *nest[-1].body))


def _nest(s: Stmt) -> list[Loop]:
    """The loop `s` and those nested in it, with only assignments in front of them; of another
    statement none.
    """
    match s:
        case Loop(body=(*before, Loop() as inner)) if all(isinstance(b, Assign) for b in before):
            return [s, *_nest(inner)]
        case Loop():
            return [s]
    return []
