"""Filter fusion: the body of a loop over filtered elements moves to where they are appended.

    for i in loop(0, n, k=0):               for i in loop(0, n, k=0, s=0.0):
        if x[i] > m:                            if x[i] > m:
            append(w, k, x[i])                      append(w, k, x[i])
    for j in loop(0, k, s=0.0):         →       if x[i] > m:
        s = step(s + w[j])                          kept = x[i]
                                                    s_1 = give(s + kept)
                                                else:
                                                    s_1 = give(s)
                                                s = step(s_1)

`fuse_over_filter` rewrites the second loop so that it runs over the range of the first one; the
driver then joins both like any two loops. After fusion `count_appends` reduces an append to an
array that nobody loads to an increment of its counter.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..algebra.constant_folding import index_const
from ..algebra.index_builder import index_add
from ..analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ..dtypes import INDEX
from ..ir_names import FreshNames, bound_names, names_read, rename_names
from ..ir_traversal import is_innermost, map_children, walk, walk_statements
from ..lazy_dataclass import replace
from ..nodes import (
    Append,
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Node,
    Stmt,
    Store,
    Var,
    Yield,
)
from ..statement_blocks import backward_slice

__all__ = ["fuse_over_filter", "count_appends"]

StatementTuple = tuple[Stmt, ...]
NameMaker = Callable[[str], str]
"""Returns a fresh name similar to the given one."""


def fuse_over_filter(
    kernel: Kernel, first: Loop, second: Loop, fresh_name: NameMaker
) -> Loop | None:
    """`second`, a loop over the elements that `first` appends to an array, rewritten as a loop over
    the range of `first`, in which its body stands under the condition of the append::

        first:  for i in loop(0, n, k=0): if x[i] > m: append(w, k, x[i])
        second: for j in loop(0, k, s=0.0): s = step(s + w[j])
        →       for i in loop(0, n, s=0.0): if x[i] > m: s + x[i] is the next s, else s

    None if it cannot be rewritten, for the reason that stands at each ``return None``.

    The condition and the appended values are computed again in the rewritten loop, so that it does
    not depend on `first`; the driver (`fuse_loops._LoopFuser.join`) then asks as of any two loops
    whether they may be joined. Both loops have the same variable; ``fresh_name`` makes names.
    """
    match second.range:
        case Interval(lo, end) if lo == index_const(0):
            appends = _matching_appends(first, end)
        case _:
            return None
    if not appends or second.until is not None:
        return None  # it does not run over exactly the elements that are appended
    if any(isinstance(n, Store | LoopLike) for s in second.body for n in walk(s)):
        return None  # a store at position k, or a loop, would run for each iteration of `first`

    # w[j] in `second` becomes kept, which is to be x[i]
    position = (Var(second.var, INDEX),)
    appended = {a.array: Assign(fresh_name("kept"), a.value, span=a.span) for a in appends}

    def with_appended_values(n: Any) -> Any:
        """`n` with loads of appended elements replaced by their values."""
        if isinstance(n, Load) and n.index == position and n.array in appended:
            return Var(appended[n.array].name, n.dtype)
        return map_children(n, with_appended_values)

    body = tuple(with_appended_values(s) for s in second.body)
    updated = [a for a in second.accs if a.step != a.current]
    steps: Mapping[str, Expr] = {a.name: with_appended_values(a.step) for a in updated}
    code = (*body, *steps.values())
    if _uses_filter_details(code, appends, second.var):
        return None  # such as the position in the array, which the rewritten loop does not know

    # under a branch as in `first`: if x[i] > m: kept = x[i]; s_1 = give(s + kept), …
    used_values = tuple(s for s in appended.values() if s.name in names_read(*code))
    recomputed, _ = _under_same_branches(first.body, appends[0], used_values, {}, fresh_name)
    if _may_overwrite(kernel, first, recomputed):
        return None  # computed again after `first`, the values might be others
    body, steps = _under_same_branches(
        first.body, appends[0], (*used_values, *body), steps, fresh_name
    )

    # what `first` binds keeps its name there, and gets a fresh one here
    first_names = bound_names(first) - {first.var}
    names = {name: fresh_name(name) for name in sorted(bound_names(*body) & first_names)}
    body = tuple(rename_names(s, names) for s in body)
    accs = tuple(
        replace(a, step=rename_names(steps[a.name], names)) if a in updated else a
        for a in second.accs
    )
    if first_names & names_read(*body, *(a.step for a in accs)):
        return None  # the condition or a value depends on an accumulator of `first`
    return replace(second, range=first.range, body=body, accs=accs)


def _uses_filter_details(code: Iterable[Node], appends: Sequence[Append], var: str) -> bool:
    """Whether `code` reads other appended arrays, their lengths, or the position in them (`var`).
    """
    code = tuple(code)
    arrays, details = {a.array for a in appends}, {var, *(a.count for a in appends)}
    return bool(arrays & arrays_read(code) or details & names_read(*code))


def _may_overwrite(kernel: Kernel, loop: Loop, code: StatementTuple) -> bool:
    """Whether `loop` may write elements that `code` loads."""
    return AliasInfo(kernel).overlap(arrays_read(code), arrays_written((loop,)))


def _counts_in_min(e: Expr) -> frozenset[str]:
    """The names of which `e` is the minimum, clamps at 0 ignored; empty for any other expression.
    """
    match e:
        case Var(name=name):
            return frozenset((name,))
        case Call(op="max", args=(n, zero)) if zero == index_const(0):
            return _counts_in_min(n)
        case Call(op="min", args=(a, b)) if (left := _counts_in_min(a)) and (
            right := _counts_in_min(b)
        ):
            return left | right
    return frozenset()


def _matching_appends(loop: Loop, end: Expr) -> list[Append]:
    """The appends in `loop`, all in one block, whose counters' minimum is `end`: they append that
    many elements together. Empty if that is not certain.

    Each counter starts at 0 and belongs to one append; each array is appended to once.
    """
    nodes = [n for s in loop.body for n in walk_statements(s)]
    zero_based = {a.name for a in loop.accs if a.init == index_const(0)}
    append_counts = Counter(x for n in nodes if isinstance(n, Append) for x in (n.array, n.count))
    if loop.until is not None or not is_innermost(loop):
        return []
    blocks = [loop.body, *(b for n in nodes if isinstance(n, If) for b in (n.then, n.orelse))]
    for block in blocks:
        candidates = [s for s in block if isinstance(s, Append) and s.count in zero_based]
        candidates = [
            s for s in candidates if append_counts[s.count] == append_counts[s.array] == 1
        ]
        if frozenset() < _counts_in_min(end) <= {s.count for s in candidates}:
            return candidates
    return []


def _under_same_branches(
    block: StatementTuple,
    append: Append,
    inner: StatementTuple,
    steps: Mapping[str, Expr],
    fresh_name: NameMaker,
) -> tuple[StatementTuple, Mapping[str, Expr]]:
    """`inner` under the branches that stand around `append` in `block`, after the statements of
    `block` that it depends on; and the values that accumulators have after that code, by name.
    `steps`: their values after `inner`. Where the branch is not taken they keep their value.
    """
    position, s = next((k, s) for k, s in enumerate(block) if any(n is append for n in walk(s)))
    if isinstance(s, If):
        in_then = any(n is append for x in s.then for n in walk(x))
        inside, values = _under_same_branches(
            s.then if in_then else s.orelse, append, inner, steps, fresh_name
        )
        names = {name: fresh_name(name) for name in values}
        yields = tuple(
            Yield(names[name], *((e, Var(name, e.dtype)) if in_then else (Var(name, e.dtype), e)))
            for name, e in values.items()
        )
        branch = replace(
            s, then=inside if in_then else (), orelse=() if in_then else inside, yields=yields
        )
        inner = (branch,)
        steps = {name: Var(names[name], e.dtype) for name, e in values.items()}
    return (*backward_slice(block[:position], *inner), *inner), steps


def count_appends(kernel: Kernel, arrays: frozenset[str]) -> Kernel:
    """`kernel` with appends to `arrays` in innermost loops replaced by increments of their
    counters.
    """
    fresh = FreshNames(kernel)

    def visit(n: Any) -> Any:
        """`n` with the appends of innermost loops in it replaced, unless their counters are read.
        """
        n = map_children(n, visit)
        if isinstance(n, Loop) and is_innermost(n):
            counts = {a.name for a in n.accs if a.step == a.current}
            code = (*n.body, *(a.step for a in n.accs if a.name not in counts))
            nodes = [x for c in code for x in walk(c)]
            read = {x.name for x in nodes if isinstance(x, Var)}
            appended = {x.count for x in nodes if isinstance(x, Append) and x.array in arrays}
            for count in sorted(appended & counts - read):
                body, final_count = _counting_block(n.body, Var(count, INDEX), fresh)
                accs = (replace(a, step=final_count) if a.name == count else a for a in n.accs)
                n = replace(n, body=body, accs=tuple(accs))
        return n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def _counting_block(
    block: StatementTuple, count: Var, fresh: FreshNames
) -> tuple[StatementTuple, Expr]:
    """`block` with increments instead of appends, and the final value of the counter."""
    out: list[Stmt] = []
    value: Expr = count
    for s in block:
        appends = [n for n in walk(s) if isinstance(n, Append) and n.count == count.name]
        if isinstance(s, If) and appends:
            then, then_count = _counting_block(s.then, count, fresh)
            orelse, else_count = _counting_block(s.orelse, count, fresh)
            merged = Yield(fresh.name(count.name), then_count, else_count)
            out.append(replace(s, then=then, orelse=orelse, yields=(*s.yields, merged)))
            value = Var(merged.name, INDEX)
        elif appends:
            value = index_add(value, 1)
        else:
            out.append(s)
    return tuple(out), value
