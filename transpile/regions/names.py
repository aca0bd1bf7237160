"""Which local names live on behind each statement, and which are surely bound before it."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from loopir.record import record

from ..macros.names import bound

__all__ = [
    "Names", "Ways", "live_before", "loaded", "surely", "through", "within_loop", "within_try",
    "within_with",
]

Names = frozenset[str]
_NONE: Names = frozenset()


@record(frozen=True, slots=True)
class Ways:
    """The names that are read, or may be, where control goes next.

    ``on``: to the next statement; ``out`` and ``again``: by ``break`` and ``continue``; ``caught``:
    to a handler, from anywhere.
    """

    on: Names = _NONE
    out: Names = _NONE
    again: Names = _NONE
    caught: Names = _NONE


def loaded(*nodes: ast.AST) -> Iterator[str]:
    """The names that `nodes` read or delete, but for those that a comprehension binds itself.

    An inner function reads what it does not bind.
    """
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
                yield from loaded(node.value)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                first, *_ = node.generators
                own = bound(*(g.target for g in node.generators))
                yield from {*loaded(*ast.iter_child_nodes(node))} - own
                yield from loaded(first.iter)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                body = node.body if isinstance(node.body, list) else [node.body]
                own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
                inner = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name)}
                yield from inner - own
                yield from loaded(node.args)
                yield from loaded(*getattr(node, "decorator_list", ()))
            case _:
                yield from loaded(*ast.iter_child_nodes(node))


# -- backwards


def live_before(block: Sequence[ast.stmt], ways: Ways) -> list[Names]:
    """For each statement the names that live before it, and at the end those behind the last."""
    out = [ways.on]
    for s in reversed(block):
        out.append(_before(s, Ways(out[-1], ways.out, ways.again, ways.caught)) | ways.caught)
    return out[::-1]


def _before(s: ast.stmt, ways: Ways) -> Names:
    match s:
        case ast.Return() | ast.Raise():
            return frozenset(loaded(s))
        case ast.Break():
            return ways.out
        case ast.Continue():
            return ways.again
        case ast.If(test=test, body=body, orelse=orelse):
            return _reads(test) | live_before(body, ways)[0] | live_before(orelse, ways)[0]
        case ast.While():
            return within_loop(s, ways).on
        case ast.For(iter=iterable) | ast.AsyncFor(iter=iterable):
            return within_loop(s, ways).on | _reads(iterable)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            inside = within_with(ways)
            return _reads(*items) | (live_before(body, inside)[0] - frozenset(bound(*items)))
        case ast.Try():
            return live_before(s.body, within_try(s, ways)[0])[0]
        case ast.Match(subject=subject, cases=cases):
            inner = (live_before(c.body, ways)[0] for c in cases)
            read = (_reads(c.pattern, *_some(c.guard)) for c in cases)
            return ways.on.union(_reads(subject), *inner, *read)
        case _:
            kept = ways.on - (frozenset(bound(s)) if _binds_surely(s) else _NONE)
            return kept | _reads(s)


def within_loop(s: ast.For | ast.AsyncFor | ast.While, ways: Ways) -> Ways:
    """Where control goes from the body of a loop."""
    head = live_before(s.orelse, ways)[0]
    head |= _reads(s.test) if isinstance(s, ast.While) else _reads(s.target)
    target = frozenset() if isinstance(s, ast.While) else frozenset(bound(s.target))
    while True:
        inside = Ways(head, ways.on, head, ways.caught)
        more = head | (live_before(s.body, inside)[0] - target)
        if more == head:
            return inside
        head = more


def within_with(ways: Ways) -> Ways:
    """Where control goes from the body of a ``with``, which may swallow an exception."""
    return Ways(ways.on, ways.out, ways.again, ways.caught | ways.on)


def within_try(s: ast.Try, ways: Ways) -> tuple[Ways, Ways]:
    """Where control goes from the body of a ``try``, and from its handlers and its ``else``."""
    last = live_before(s.finalbody, ways)[0]
    always = last if s.finalbody else _NONE
    caught = ways.caught | always
    ends = Ways(last, ways.out | always, ways.again | always, caught)
    types = (h.type for h in s.handlers if h.type)
    handled = (live_before(h.body, ends)[0] for h in s.handlers)
    done = live_before(s.orelse, ends)[0]
    here = caught.union(_reads(*types), *handled)
    return Ways(done, ends.out, ends.again, here), ends


# -- forwards


def surely(s: ast.stmt, have: Names) -> Names | None:
    """The names that are surely bound behind `s`, as `have` are before it; None: it never ends."""
    match s:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return None
        case ast.If(body=body, orelse=orelse):
            return _either(through(body, have), through(orelse, have))
        case ast.For() | ast.AsyncFor() | ast.While() | ast.Match():
            return have
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return have | frozenset(bound(*items))
        case ast.Try(body=body, orelse=orelse, handlers=handlers, finalbody=finalbody):
            done = through([*body, *orelse], have)
            for h in handlers:
                done = _either(done, through(h.body, have))
            named = {h.name for h in handlers if h.name}
            return None if done is None else through(finalbody, done - named)
        case ast.Delete():
            return have - frozenset(n.id for n in ast.walk(s) if isinstance(n, ast.Name))
        case _:
            return have | frozenset(bound(s)) if _binds_surely(s) else have


def through(block: Iterable[ast.stmt], have: Names) -> Names | None:
    known: Names | None = have
    for s in block:
        if known is None:
            return None
        known = surely(s, known)
    return known


def _either(a: Names | None, b: Names | None) -> Names | None:
    return b if a is None else a if b is None else a & b


def _binds_surely(s: ast.stmt) -> bool:
    """Whether a simple statement binds all that it may."""
    if isinstance(s, ast.AnnAssign):
        return s.value is not None
    odd = (ast.NamedExpr, ast.Delete)
    return not any(isinstance(n, odd) for n in ast.walk(s))


def _reads(*nodes: ast.AST) -> Names:
    return frozenset(loaded(*nodes))


def _some(node: ast.expr | None) -> tuple[ast.expr, ...]:
    return () if node is None else (node,)
