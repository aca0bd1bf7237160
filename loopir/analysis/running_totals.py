"""Running totals: whether threads may share a loop that carries counts of appends or integer scans.

    for i in pred(0, n, width=W, where=x[i:W] > 0.0, k=0):      for i in vec(0, n, width=W, s=0):
        append(out, k, x[i:W])                                      t = prefix("add", s, x[i:W])
                                                                    out[i:W] = t

What an iteration adds to such a total depends on nothing that the loop carries or stores. So what a
part of the range adds can be computed first, by a loop that does nothing else (`totals_only`). The
totals of all parts before it are the values with which a part begins: the result is that of the
loop, whoever runs which part, and when (a scan in two passes: Blelloch, Prefix Sums and Their
Applications, 1990).
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from ..algebra.constant_folding import literal, neutral_element
from ..algebra.may_raise import is_replay_check
from ..dtypes import DTYPES
from ..ir_names import names_read
from ..ir_traversal import contains, kernel_header, walk, walk_statements
from ..lazy_dataclass import replace
from ..nodes import (
    Accum,
    Append,
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Node,
    PredLoop,
    Prefix,
    Stmt,
    Store,
    Var,
    VecAccum,
    VecLoop,
)
from .dependence import Alias, alias_table
from .integers.intervals import dtype_bounds

__all__ = [
    "MOST_TOTALS", "arrays_to_differ", "operation_of_total", "totals", "totals_obstacle",
    "totals_only",
]

MOST_TOTALS = 4
"""The most totals of a loop that threads share. The totals of 64 blocks are on the stack of the
thread that calls (``parallel_totals.h``)."""


def totals_obstacle(loop: Loop | VecLoop | PredLoop, kernel: Kernel) -> str | None:
    """Why the accumulators of `loop` are no running totals, so that one thread must run it, for a
    report; None if they are. That its iterations do not touch the same elements is not asked here.

        each iteration                                      the answer
        if x[i] > 0.0: append(w, k, x[i])                   None
        if x[i] > 0.0: append(w, k, i); append(v, m, x[i])  None: two totals
        s_1 = prefix("add", s, x[i]); out[i] = s_1          None if s is an integer
        the same of floats                                  parts would round otherwise
        s = step(s + x[i])                                  each iteration needs `s` of the one …
        if k < 9: append(w, k, x[i])                        it reads how many elements `w` has
        append(w, k, w[i])                                  it reads and appends to `w`
        check(x[i] > 0, "over"); append(w, k, x[i])         None, as the loop goes on
        s_1, s_0 = prefix("add", s, x[i])
        check(~add_over(s_0, x[i]), "replay"); out[i] = s_1 None
        check(i < n, "replay"); append(w, k, where(x[i]))   it may raise, and each iteration …:
                                                            without the check, what the total is
                                                            computed of could load what there is not
    """
    statements = [n for part in loop.body for n in walk_statements(part)]
    appends = [s for s in statements if isinstance(s, Append)]
    arrays = {s.count: s.array for s in appends}
    scans = {s.acc: s for s in statements if isinstance(s, Prefix)}
    is_plain = all(isinstance(s, Append | Assign | Check | If | Prefix | Store) for s in statements)
    is_counted = isinstance(loop.range, Interval) and len(loop.accs) <= MOST_TOTALS
    others = [
        a for a in loop.accs
        if not (isinstance(a.step, Var) and a.step.name == a.name)  # advanced in the body alone
        or not (a.name in arrays or (
            a.name in scans and _is_exact(scans[a.name]) and isinstance(loop, VecLoop)))
    ]
    if others or not is_plain or not is_counted or not arrays.keys() <= {a.name for a in loop.accs}:
        carried = (others or loop.accs)[0].name
        if appends:
            return _beside_appends(min(arrays.values()), others, loop)
        in_order = _order_of_floats(carried, scans)
        return in_order or f"each iteration needs `{carried}` of the one before"
    if len({*arrays.values()}) < len(arrays):
        return f"it appends to `{appends[0].array}` in several places"
    if _loads_behind_check(loop):
        return f"it may raise, and each iteration needs `{loop.accs[0].name}` of the one before"
    return _dependence_obstacle(loop, arrays, scans, kernel)


def _beside_appends(
    array: str, others: Sequence[Accum | VecAccum], loop: Loop | VecLoop | PredLoop
) -> str:
    """Why one thread must run a `loop` that appends to `array`: it has ``others``, accumulators
    that are no running totals, too many of these, or inner loops.
    """
    text = f"it appends to `{array}`"
    counts = {n.count for n in walk(loop) if isinstance(n, Append)}
    inner = [a for n in walk(loop) if isinstance(n, Loop | VecLoop) for a in n.accs]
    for a in reversed(inner):  # the counts of loops around the appends
        counts |= set() if counts.isdisjoint(names_read(a.step)) else {a.name}
    if folds := [a.name for a in others if a.name not in counts]:
        return f"{text}, and each iteration needs `{folds[0]}` of the one before"
    if len(loop.accs) > MOST_TOTALS:
        return f"{text} and more than {MOST_TOTALS - 1} other lists"
    return f"{text} in an inner loop" if any(contains(s, LoopLike) for s in loop.body) else text


def _loads_behind_check(loop: Loop | VecLoop | PredLoop) -> bool:
    """Whether the totals of `loop` are computed of elements that it loads only if a check holds,
    with which `totals_only` does not bother.
    """
    behind, has_check = set[Node](), False
    for s in loop.body:
        if has_check or not isinstance(s, Check):
            has_check = has_check or any(is_replay_check(n) for n in walk_statements(s))
            behind |= {n for n in walk(s) if isinstance(n, Load)} if has_check else set()
        has_check = has_check or is_replay_check(s)
    return any(n in behind for e in _totals_read(loop) for n in walk(e))


def _order_of_floats(carried: str, scans: dict[str, Prefix]) -> str | None:
    """That the running sum or product ``carried`` would be rounded otherwise if threads computed
    parts of it, for a report; None if it is another scan, or none.
    """
    scan = scans.get(carried)
    if scan is None or scan.factor is not None or DTYPES[scan.value.dtype].kind != "f":
        return None
    noun = {"add": "sum", "mul": "product"}.get(scan.op)
    return noun and f"`{carried}` is a running {noun} of floats, which parts would round otherwise"


def _is_exact(scan: Prefix) -> bool:
    """Whether parts of the scan may be combined in any grouping: it is one of integers or bools."""
    dtype = scan.value.dtype
    is_exact = scan.factor is None and DTYPES[dtype].kind != "f"
    return is_exact and _identity(scan.op, dtype) is not None


def _identity(op: str, dtype: str) -> Const | None:
    """The integer or bool with which `op` gives its other operand; None if there is none."""
    if op in ("min", "minimum", "max", "maximum") and DTYPES[dtype].kind in "iu":
        return literal(dtype_bounds(dtype)[op.startswith("min")], dtype)
    return neutral_element(op, dtype)


def _dependence_obstacle(
    loop: Loop | VecLoop | PredLoop, arrays: dict[str, str], scans: dict[str, Prefix],
    kernel: Kernel,
) -> str | None:
    """What the totals of `loop` depend on that the loop carries or stores, for a report. ``arrays``
    are those to which it appends, by their counters.
    """
    read = {name for n in _totals_read(loop) for name in names_read(n)}
    if counters := sorted(read & arrays.keys()):
        return f"it reads how many elements `{arrays[counters[0]]}` has"
    partial_results = {x for s in scans.values() for x in (s.acc, s.name, s.before)}
    if read & partial_results:
        return f"each iteration needs `{min(scans)}` of the one before"
    aliases = alias_table(kernel_header(kernel))
    appended = sorted(arrays.values())
    for array, other in _arrays_of_totals(loop):
        if array == other:
            return f"it reads and {'appends' if array in appended else 'writes'} to `{array}`"
        if array in appended and aliases.relation(array, other) is not Alias.DISJOINT:
            return f"`{array}` and `{other}` may be the same array"
    return None


def _arrays_of_totals(loop: Loop | VecLoop | PredLoop) -> list[tuple[str, str]]:
    """Pairs of arrays, the first of which `loop` writes: they must not be the same memory. Totals
    are computed from loads before and while other parts run; of what is appended to, nothing else
    may be read or written, nor appended to by another counter.
    """
    nodes = [n for part in loop.body for n in walk(part)]
    nodes += walk(loop.pred) if isinstance(loop, PredLoop) else ()
    appended, stored, loaded = (
        {n.array for n in nodes if isinstance(n, kind)} for kind in (Append, Store, Load)
    )
    in_totals = {n.array for e in _totals_read(loop) for n in walk(e) if isinstance(n, Load)}
    pairs = {(a, b) for a in appended for b in loaded | stored}
    pairs |= {*combinations(sorted(appended), 2)}
    return sorted(pairs | {(a, b) for a in stored for b in in_totals})


def arrays_to_differ(
    loop: Loop | VecLoop | PredLoop, kernel: Kernel
) -> Iterator[tuple[str, str]]:
    """The pairs of arrays that may be one array in a call, in which case one thread must run the
    `loop`, whose accumulators are running totals:

        for i: s += x[i]; out[i] = s        x and out; with ``out is x`` the totals of a part could
                                            no longer be computed while or after it runs
    """
    aliases = alias_table(kernel_header(kernel))
    for a, b in _arrays_of_totals(loop):
        if aliases.relation(a, b) is not Alias.DISJOINT:
            yield a, b


def totals(loop: Loop | VecLoop | PredLoop) -> tuple[Accum | VecAccum, ...]:
    """The accumulators of a parallel `loop`: there are no others than running totals."""
    return loop.accs


def operation_of_total(loop: Loop | VecLoop | PredLoop, acc: Accum | VecAccum) -> str:
    """The operation that combines totals of the accumulator `acc` of `loop`."""
    scans = (s for s in loop.body if isinstance(s, Prefix) and s.acc == acc.name)
    return next((s.op for s in scans), "add")


def totals_only(loop: Loop | VecLoop | PredLoop) -> Loop | VecLoop | PredLoop:
    """`loop` with nothing but what its totals are computed of. Of an append only the number of
    elements counts, and not what they are; a scan becomes a reduction, of as many lanes as the loop
    has.

        for i in vec(0, n, width=W, group=8, s=0):        for i in vec(0, n, width=W, group=8, s=0):
            t = prefix("add", s, x[i:W])              →        s = step(s + x[i:W])
            check(t < 9, "over")
            out[i:W] = t
    """
    needed = {name for n in _totals_read(loop) for name in names_read(n)}
    body = tuple(_kept(loop.body, needed))
    if not isinstance(loop, VecLoop):
        return replace(loop, body=body)
    scans = {s.acc: s for s in loop.body if isinstance(s, Prefix)}
    return replace(loop, body=body, accs=tuple(_reduced(a, scans.get(a.name)) for a in loop.accs))


def _reduced(acc: VecAccum, scan: Prefix | None) -> VecAccum:
    """`acc` as the reduction of the terms of `scan`, which has advanced it; `acc` if it is None."""
    if scan is None:
        return acc
    dtype, so_far = scan.value.dtype, Var(acc.name, scan.value.dtype, scan.value.lanes)
    step = Call(scan.op, (so_far, scan.value), dtype, scan.value.lanes)
    identity = _identity(scan.op, dtype)
    assert identity is not None
    return replace(acc, init=identity, step=step)


def _kept(body: Iterable[Stmt], needed: set[str]) -> Iterator[Stmt]:
    """The statements of `body` that append, or bind what is ``needed`` to know how much."""
    for s in body:
        match s:
            case Append(value=value):
                zero = literal(0, value.dtype)
                is_scalar = value.lanes == 1
                yield replace(s, value=zero if is_scalar else Broadcast(zero, value.lanes))
            case Assign(name) if name in needed:
                yield s
            case If(then=then, orelse=orelse, yields=yields):
                sides = tuple(_kept(then, needed)), tuple(_kept(orelse, needed))
                bound = tuple(y for y in yields if y.name in needed)
                if any(sides) or bound:
                    yield replace(s, then=sides[0], orelse=sides[1], yields=bound)


def _totals_read(loop: Loop | VecLoop | PredLoop) -> list[Node]:
    """What the totals of `loop` are computed of: masks of appends, conditions around them, terms of
    scans; and the values of names in these.
    """
    found: list[Node] = [loop.pred] if isinstance(loop, PredLoop) else []
    needed = {name for n in found for name in names_read(n)}

    def visit(body: Iterable[Stmt]) -> bool:
        """Adds what `body` reads to know its part of the totals, from the end to the start. Whether
        it has a part, or binds what is needed.
        """
        counts = False
        for s in reversed([*body]):
            read: list[Expr] = []
            match s:
                case Append(mask=mask):
                    read, counts = [mask] if mask is not None else [], True
                case Prefix(value=value):
                    read, counts = [value], True
                case Assign(name, value) if name in needed:
                    read, counts = [value], True
                case If(cond, then, orelse, yields):
                    read = [e for y in yields if y.name in needed for e in (y.then, y.orelse)]
                    needed.update(name for e in read for name in names_read(e))
                    if [visit(orelse), visit(then)] != [False, False] or read:
                        read, counts = [*read, cond], True
            found.extend(read)
            needed.update(name for e in read for name in names_read(e))
        return counts

    visit(loop.body)
    return found
