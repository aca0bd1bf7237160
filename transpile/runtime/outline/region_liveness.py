"""Liveness and definite assignment of local names, before and after each statement."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from loopir.lazy_dataclass import record

from ...frontend.ast_names import bound_names

__all__ = [
    "NameSet", "LiveOut", "live_before", "read_names", "assigned_after", "assigned_after_block",
    "live_out_of_loop_body", "live_out_of_try", "live_out_of_with_body",
]

NameSet = frozenset[str]
_NO_NAMES: NameSet = frozenset()


@record(frozen=True, slots=True)
class LiveOut:
    """The names that are live at each successor of a statement.

    ``next``: the next statement; ``at_break``, ``at_continue``: where these go; ``at_handler``: an
    exception handler, from anywhere.
    """

    next: NameSet = _NO_NAMES
    at_break: NameSet = _NO_NAMES
    at_continue: NameSet = _NO_NAMES
    at_handler: NameSet = _NO_NAMES


def read_names(*nodes: ast.AST) -> Iterator[str]:
    """The names that `nodes` read or delete, except those that a comprehension binds itself.

    An inner function reads its free names.
    """
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
                yield from read_names(node.value)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                first, *_ = node.generators
                own = bound_names(*(g.target for g in node.generators))
                yield from {*read_names(*ast.iter_child_nodes(node))} - own
                yield from read_names(first.iter)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                body = node.body if isinstance(node.body, list) else [node.body]
                own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
                inner = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name)}
                yield from inner - own
                yield from read_names(node.args)
                yield from read_names(*getattr(node, "decorator_list", ()))
            case _:
                yield from read_names(*ast.iter_child_nodes(node))


# -- backwards


def live_before(block: Sequence[ast.stmt], exits: LiveOut) -> list[NameSet]:
    """The live names before each statement, and at the end those after the last one."""
    out = [exits.next]
    for s in reversed(block):
        out.append(_live_before_statement(s, replace(exits, next=out[-1])) | exits.at_handler)
    return out[::-1]


def _live_before_statement(s: ast.stmt, exits: LiveOut) -> NameSet:
    match s:
        case ast.Return() | ast.Raise():
            return frozenset(read_names(s))
        case ast.Break():
            return exits.at_break
        case ast.Continue():
            return exits.at_continue
        case ast.If(test=test, body=body, orelse=orelse):
            return _read_set(test) | live_before(body, exits)[0] | live_before(orelse, exits)[0]
        case ast.While():
            return live_out_of_loop_body(s, exits).next
        case ast.For(iter=iterable) | ast.AsyncFor(iter=iterable):
            return live_out_of_loop_body(s, exits).next | _read_set(iterable)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            inside = live_out_of_with_body(exits)
            return _read_set(*items) | (
                live_before(body, inside)[0] - frozenset(bound_names(*items))
            )
        case ast.Try():
            return live_before(s.body, live_out_of_try(s, exits)[0])[0]
        case ast.Match(subject=subject, cases=cases):
            inner = (live_before(c.body, exits)[0] for c in cases)
            read = (_read_set(c.pattern, *_optional(c.guard)) for c in cases)
            return exits.next.union(_read_set(subject), *inner, *read)
        case _:
            kept = exits.next - (frozenset(bound_names(s)) if _always_binds(s) else _NO_NAMES)
            return kept | _read_set(s)


def live_out_of_loop_body(s: ast.For | ast.AsyncFor | ast.While, exits: LiveOut) -> LiveOut:
    """The successors of a loop body (a fixpoint)."""
    head = live_before(s.orelse, exits)[0]
    head |= _read_set(s.test) if isinstance(s, ast.While) else _read_set(s.target)
    target = frozenset() if isinstance(s, ast.While) else frozenset(bound_names(s.target))
    while True:
        inside = LiveOut(head, exits.next, head, exits.at_handler)
        more = head | (live_before(s.body, inside)[0] - target)
        if more == head:
            return inside
        head = more


def live_out_of_with_body(exits: LiveOut) -> LiveOut:
    """The successors of the body of a ``with``, which may suppress an exception."""
    return LiveOut(exits.next, exits.at_break, exits.at_continue, exits.at_handler | exits.next)


def live_out_of_try(s: ast.Try, exits: LiveOut) -> tuple[LiveOut, LiveOut]:
    """The successors of the body of a ``try``, and of its handlers and ``else``."""
    last = live_before(s.finalbody, exits)[0]
    always = last if s.finalbody else _NO_NAMES
    caught = exits.at_handler | always
    ends = LiveOut(last, exits.at_break | always, exits.at_continue | always, caught)
    types = (h.type for h in s.handlers if h.type)
    handled = (live_before(h.body, ends)[0] for h in s.handlers)
    done = live_before(s.orelse, ends)[0]
    here = caught.union(_read_set(*types), *handled)
    return LiveOut(done, ends.at_break, ends.at_continue, here), ends


# -- forwards


def assigned_after(s: ast.stmt, have: NameSet) -> NameSet | None:
    """The names definitely bound after `s`, given those before; None if its end is unreachable."""
    match s:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return None
        case ast.If(body=body, orelse=orelse):
            return _assigned_on_both(
                assigned_after_block(body, have), assigned_after_block(orelse, have)
            )
        case ast.For() | ast.AsyncFor() | ast.While() | ast.Match():
            return have
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return have | frozenset(bound_names(*items))
        case ast.Try(body=body, orelse=orelse, handlers=handlers, finalbody=finalbody):
            done = assigned_after_block([*body, *orelse], have)
            for h in handlers:
                done = _assigned_on_both(done, assigned_after_block(h.body, have))
            named = {h.name for h in handlers if h.name}
            return None if done is None else assigned_after_block(finalbody, done - named)
        case ast.Delete():
            return have - frozenset(n.id for n in ast.walk(s) if isinstance(n, ast.Name))
        case _:
            return have | frozenset(bound_names(s)) if _always_binds(s) else have


def assigned_after_block(block: Iterable[ast.stmt], have: NameSet) -> NameSet | None:
    """The names definitely bound after `block`, given those before; None if its end is unreachable.
    """
    known: NameSet | None = have
    for s in block:
        if known is None:
            return None
        known = assigned_after(s, known)
    return known


def _assigned_on_both(a: NameSet | None, b: NameSet | None) -> NameSet | None:
    return b if a is None else a if b is None else a & b


def _always_binds(s: ast.stmt) -> bool:
    """Whether a simple statement binds all names that it may bind."""
    if isinstance(s, ast.AnnAssign):
        return s.value is not None
    odd = (ast.NamedExpr, ast.Delete)
    return not any(isinstance(n, odd) for n in ast.walk(s))


def _read_set(*nodes: ast.AST) -> NameSet:
    return frozenset(read_names(*nodes))


def _optional(node: ast.expr | None) -> tuple[ast.expr, ...]:
    return () if node is None else (node,)
