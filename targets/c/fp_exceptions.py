"""Floating-point exceptions that a C compiler might drop: unread values that may raise a flag.

Kernels report the hardware's flags (divide, overflow, invalid; LLVM: strict floating point), but C
compilers delete computations without users, and may compute only the last of several values. This
analysis finds such values in the IR:

- `unread_raising_names`: names that no code with an effect uses, at least on some paths;
- `final_value_accumulators`: accumulators of which only the last value matters to the compiler;
- `overwritten_stores`: stores that a later iteration may overwrite.

The printer puts an optimisation barrier behind each of them (`c_text.force_computed`). Before,
`name_raising_conditions` gives names to conditions of branches, so that they can have one, too.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import get_args

from loopir import nodes as ir
from loopir.algebra.may_raise import may_raise_flags
from loopir.ir_names import FreshNames, names_read
from loopir.ir_traversal import EXPRESSIONS, children, contains, walk, walk_statements
from loopir.lazy_dataclass import replace

from .c_expressions import skippable_operands

__all__ = [
    "unread_raising_names", "final_value_accumulators", "overwritten_stores",
    "name_raising_conditions",
]

_Bound = ir.Assign | ir.Accum | ir.VecAccum | ir.Yield
_CountedLoop = ir.Loop | ir.VecLoop
_EFFECT_FREE = (
    *get_args(ir.Expr), *get_args(ir.Range), *get_args(_Bound), *get_args(_CountedLoop), ir.If,
    ir.Check,
)


def name_raising_conditions(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with names for the conditions of branches that may raise a flag, if the C compiler
    may find that the branch has no effect. A named condition gets a barrier
    (`unread_raising_names`), without which it might not be computed::

        if 1.0 / x[i] > y: …      →      cond = 1.0 / x[i] > y;  if cond: …
    """
    return replace(
        kernel,
        body=(*_name_conditions(kernel.body, FreshNames(kernel), _rewritten_arrays(kernel)),),
    )


def _name_conditions(
    block: Iterable[ir.Stmt], fresh: FreshNames, rewritten: Collection[str]
) -> Iterator[ir.Stmt]:
    """As `name_raising_conditions`, for the statements `block`; `rewritten`: arrays with several
    stores, of which one may overwrite another.
    """
    for s in block:
        if isinstance(s, ir.If):
            then, orelse = (
                (*_name_conditions(s.then, fresh, rewritten),),
                (*_name_conditions(s.orelse, fresh, rewritten),),
            )
            s = replace(s, then=then, orelse=orelse)
            if may_raise_flags(s.cond) and s.cond.lanes == 1 and not _has_effect(s, rewritten):
                name = fresh.name("cond")
                yield ir.Assign(name, s.cond, span=s.span)
                s = replace(s, cond=ir.Var(name, "bool"))
        elif isinstance(s, (ir.Loop, ir.While)):
            s = replace(s, body=(*_name_conditions(s.body, fresh, rewritten),))
        yield s


def _rewritten_arrays(kernel: ir.Kernel) -> frozenset[str]:
    """Arrays with several stores, of which one may overwrite another."""
    stores = Counter(n.array for n in walk_statements(kernel) if isinstance(n, ir.Store))
    return frozenset(array for array, count in stores.items() if count > 1)


def unread_raising_names(kernel: ir.Kernel) -> frozenset[str]:
    """The names whose values may raise a flag, and that a C compiler need not compute. `emit_block`
    puts a barrier behind the assignment of each, without which the flag could be lost.

        t = 1.0 / x[i]                             t is read on one path only: the compiler may
        y = select(c, t, 0.0)                      divide there alone, but Python always does

    - No effect depends on the value (`_live_names`): the compiler may delete it.
    - Or it is read in a branch or as a side of a select, to which the compiler may move it; except
      if an ``if`` tests it directly after its assignment, and so on every path (`_conditions`).
    - Or it is an operand that need not be computed where the other operands decide the value, as
      of ``and`` (`skippable_operands`).
    """
    raising = [
        n for n in walk_statements(kernel) if isinstance(n, _Bound) and may_raise_flags(n)
    ]
    if not raising:
        return frozenset()
    nodes = list(walk(kernel))
    branches = (part for n in nodes if isinstance(n, ir.If) for part in (*n.then, *n.orelse))
    yielded = (e for n in nodes if isinstance(n, ir.Yield) for e in (n.then, n.orelse))
    calls = [n for n in nodes if isinstance(n, ir.Call) and n.lanes == 1]
    selected = (e for n in calls if n.op == "select" for e in n.args[1:])
    maybe_unread = names_read(*branches, *yielded, *selected) - _conditions(kernel)
    maybe_unread |= names_read(*(e for n in calls for e in skippable_operands(n.op, n.args)))
    live = _live_names(kernel, _rewritten_arrays(kernel))
    return frozenset(
        n.name
        for n in raising
        if n.name not in live or (isinstance(n, ir.Assign) and n.name in maybe_unread)
    )


def final_value_accumulators(loop: ir.Loop | ir.While) -> frozenset[str]:
    """Accumulators of which only the last values matter, so that a C compiler may compute these
    alone: those that nothing in the loop reads; then also those that only steps of accumulators
    found so far read, and so on. (A sum is none: its own step reads it.)
    """
    exit_condition = loop.cond if isinstance(loop, ir.While) else loop.until
    body = names_read(*loop.body, *([exit_condition] if exit_condition is not None else []))
    needed, previous_count = list(loop.accs), -1
    while len(needed) != previous_count:
        previous_count = len(needed)
        read_names = body | names_read(*(a.step for a in needed))
        needed = [a for a in needed if a.name in read_names]
    return frozenset(a.name for a in loop.accs) - {a.name for a in needed}


def overwritten_stores(
    block: Iterable[ir.Node], around: Collection[str] = ()
) -> Iterator[ir.Store]:
    """Stores to an element that the next iteration of an enclosing loop may overwrite: the
    subscripts do not name the variables of all enclosing loops (`around`). A C compiler may compute
    the last value alone::

        for i in loop(0, n): y[0] = 1.0 / x[i]      only the last quotient is left in y[0]
    """
    for n in block:
        if not contains(n, ir.Store):
            continue
        if isinstance(n, ir.Store) and not {*around} <= names_read(*n.index):
            yield n
        inner = (*around, getattr(n, "var", "")) if hasattr(n, "body") else around
        yield from overwritten_stores(children(n), inner)


def _conditions(kernel: ir.Kernel) -> frozenset[str]:
    """Names of conditions that are tested directly after their assignment, and so on every path."""
    blocks = [kernel.body]
    for n in walk_statements(kernel):
        blocks += (n.then, n.orelse) if isinstance(n, ir.If) else (getattr(n, "body", ()),)
    pairs = (pair for block in blocks for pair in pairwise(block))
    return frozenset(
        a.name for a, s in pairs
        if isinstance(a, ir.Assign) and isinstance(s, ir.If) and s.cond == ir.Var(a.name, "bool")
    )


_Path = tuple[tuple[int, bool], ...]
"""The enclosing branches: the id of each If, and whether it is the first side."""


def _live_names(kernel: ir.Kernel, rewritten: Collection[str]) -> set[str]:
    """Names on which an effect depends, directly or through other live names. Only a read on the
    path that binds the name counts: a name that only a branch behind it reads is not live.
    ``rewritten``: as for `_name_conditions`.

    If none of a loop's names is live, a C compiler may remove the whole loop.
    """
    reads: dict[str, list[tuple[str, _Path]]] = {"": []}
    for reader, e, path in _reads(kernel.body, (), rewritten):
        reads.setdefault(reader, []).extend((name, path) for name in _names(e))
    paths = dict(_bound(kernel.body, ()))
    live, worklist = set[str](), [""]
    while worklist:
        for name, path in reads.get(worklist.pop(), ()):
            if name not in live and paths.get(name) == path:
                live.add(name)
                worklist.append(name)
    return live


def _bound(block: Iterable[ir.Node], path: _Path) -> Iterator[tuple[str, _Path]]:
    """Each name that `block` binds, with the path that binds it."""
    for n in block:
        if isinstance(n, EXPRESSIONS):
            continue
        if isinstance(n, _Bound):
            yield n.name, path
        if isinstance(n, ir.If):
            yield from _bound(n.yields, path)
            yield from _bound(n.then, (*path, (id(n), True)))
            yield from _bound(n.orelse, (*path, (id(n), False)))
        else:
            yield from _bound(children(n), path)


def _reads(
    block: Iterable[ir.Node], path: _Path, rewritten: Collection[str]
) -> Iterator[tuple[str, ir.Node, _Path]]:
    """Triples (reader, code, path): which name reads what code, "" for code with an effect.

    A read counts only as far as a C compiler must honour it. If a loop has no effect, only its
    accumulators read its exit condition: where nothing uses the accumulators, the compiler may
    remove the whole loop. The step of an accumulator of which only the last value matters reads
    nothing in earlier iterations (`final_value_accumulators`).
    """
    for n in block:
        match n:
            case ir.If(cond, then, orelse, yields):
                first, other = (*path, (id(n), True)), (*path, (id(n), False))
                for y in yields:
                    yield y.name, y.then, first
                    yield y.name, y.orelse, other
                    yield y.name, cond, path
                if _has_effect(n, rewritten):
                    yield "", cond, path
                yield from _reads(then, first, rewritten)
                yield from _reads(orelse, other, rewritten)
            case ir.Loop(until=until) | ir.VecLoop(until=until) if (
                until is not None and not _has_effect(n, rewritten)
            ):
                for acc in n.accs:
                    yield acc.name, until, path
                yield "", n.range, path
                yield from _reads((*n.accs, *n.body), path, rewritten)
            case ir.Loop(accs=accs) | ir.While(accs=accs) if (
                final_values := final_value_accumulators(n)
            ):
                adjusted = (replace(a, step=a.init) if a.name in final_values else a for a in accs)
                yield from _reads(children(replace(n, accs=(*adjusted,))), path, rewritten)
            case ir.Assign(name) | ir.Accum(name) | ir.VecAccum(name):
                yield from ((name, part, path) for part in children(n))
            case _ if isinstance(n, get_args(ir.Expr)):
                yield "", n, path
            case _:
                yield from _reads(children(n), path, rewritten)


def _has_effect(n: ir.If | _CountedLoop, rewritten: Collection[str]) -> bool:
    """Whether `n` has an effect that a C compiler cannot prove redundant.

    Not counted: checks, which may be provably true; stores of loaded or named values, which may be
    there already; stores to arrays in `rewritten`, which may be overwritten.
    """
    return not all(
        isinstance(part, _EFFECT_FREE) or _is_idle_store(part, rewritten) for part in walk(n)
    )


def _is_idle_store(n: ir.Node, rewritten: Collection[str]) -> bool:
    """Whether a compiler might prove the store redundant: it copies a value, or its array is in
    `rewritten`.
    """
    copies_value = isinstance(n, ir.Store) and isinstance(n.value, (ir.Load, ir.Var))
    return isinstance(n, ir.Store) and (copies_value or n.array in rewritten)


def _names(code: ir.Node) -> Iterator[str]:
    """The names that `code` reads."""
    return (n.name for n in walk(code) if isinstance(n, ir.Var))
