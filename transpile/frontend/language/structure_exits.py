"""Structured control flow: ``break``, ``continue``, ``else``, early ``return`` → one exit."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from ..ast_names import bound_names, names_used
from ..ast_walk import child_nodes, copy_tree
from ..core_nodes import copy_location
from ..macros.macro_context import Context

__all__ = [
    "NotStructured", "always_leaves", "exits_of", "is_irregular_loop", "is_plain_break",
    "exits_of_block", "ExitStructurer", "structure_loops", "structure_exits",
]

_LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class NotStructured(Exception):
    """A way out leads through a statement that is Python's own."""


def exits_of(s: ast.stmt) -> frozenset[str]:
    """The ways out of `s`: some of break, continue and return."""
    match s:
        case ast.Break() | ast.Continue() | ast.Return():
            return frozenset((type(s).__name__.lower(),))
        case ast.If(body=body, orelse=orelse):
            return exits_of_block(body) | exits_of_block(orelse)
        case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
            return (exits_of_block(body) & {"return"}) | exits_of_block(orelse)
        case _ if isinstance(s, _SCOPES):
            return frozenset()
    if any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in _here(s)):
        raise NotStructured
    return frozenset()


def exits_of_block(block: Iterable[ast.stmt]) -> frozenset[str]:
    """Those of all statements of `block`."""
    return frozenset(way for s in block for way in exits_of(s))


def _here(s: ast.AST) -> Iterator[ast.AST]:
    """`s` and the statements in it, without those of inner functions and classes."""
    yield s
    for child in child_nodes(s):
        if not isinstance(child, (ast.expr, *_SCOPES)):
            yield from _here(child)


def always_leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether every path through `block` leaves it."""
    for s in block:
        match s:
            case ast.Break() | ast.Continue() | ast.Return():
                return True
            case ast.If(body=body, orelse=orelse) if always_leaves(body) and always_leaves(orelse):
                return True
    return False


def is_plain_break(s: ast.stmt) -> bool:
    """``if …: break``"""
    return isinstance(s, ast.If) and not s.orelse and isinstance(s.body[0], ast.Break)


def is_irregular_loop(n: ast.AST) -> bool:
    """Whether `n` is a loop that needs rewriting for its own sake."""
    if not isinstance(n, _LOOPS):
        return False
    breaking = [s for s in n.body if "break" in exits_of(s)]
    simple = not breaking or (len(breaking) == 1 and is_plain_break(breaking[0]))
    return bool(n.orelse) or "continue" in exits_of_block(n.body) or not simple


_RETURNED = "_returned"


def structure_exits(tree: ast.FunctionDef, cx: Context) -> None:
    """Rewrites the body of `tree` so that each loop is left in one place, and the function at its
    end. What follows a way out runs where none was taken; results are computed at the end::

        for i in range(n):
            if x[i] < 0:
                continue
            if x[i] > t:
                return i
            s = s + x[i]
        else:
            s = -s
        return s
    →
        _returned = False
        for i in range(n):
            _returned = False
            if x[i] < 0:
                pass
            elif x[i] > t:
                _returned = True
            else:
                s = s + x[i]
            if _returned:
                break
        if not _returned:
            s = -s
        if _returned:
            return i
        return s
    """
    try:
        if _early(tree.body) or any(map(is_irregular_loop, ast.walk(tree))):
            tree.body = ExitStructurer(cx).function(_lists_ahead(tree.body))
    except NotStructured:
        return


def structure_loops(block: Sequence[ast.stmt], cx: Context) -> Sequence[ast.stmt]:
    """`block`, which nothing leaves, with each loop in it left in one place."""
    if any(is_irregular_loop(n) for s in block for n in ast.walk(s)):
        with suppress(NotStructured):
            return ExitStructurer(cx).block([copy_tree(s) for s in block])
    return block


def _early(body: Sequence[ast.stmt]) -> bool:
    """Whether `body` returns before its end, where results are told apart by flags."""
    for s in body:
        match s:
            case ast.If(test=ast.Name(id=flag), orelse=[]) if flag.startswith(_RETURNED):
                return False
        if "return" in exits_of(s):
            return not (s is body[-1] and isinstance(s, ast.Return))
    return False


def _lists_ahead(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """`body` with its empty lists in front, as long as nothing has spoken of their names, for what
    follows a way out is a branch::

        if n < 1:
            return s
        a = []
    →
        a = []
        if n < 1:
            return s
    """
    ahead: list[ast.stmt] = []
    rest: list[ast.stmt] = []
    for s in body:
        names = bound_names(s) if _is_empty_list(s) else set()
        free = names and names.isdisjoint(name for other in rest for name in names_used(other))
        (ahead if free else rest).append(s)
    return [*ahead, *rest]


def _is_empty_list(s: ast.stmt) -> bool:
    match s:
        case ast.Assign(targets=[ast.Name()], value=ast.List(elts=[])):
            return True
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            plain = all(isinstance(n, ast.Name) for n in names) and len(names) == len(values)
            return plain and all(isinstance(v, ast.List) and not v.elts for v in values)
    return False


class ExitStructurer:
    """Rewrites one function. ``returns``: the flag of each early return, and its value."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.returns: list[tuple[str, ast.Return]] = []
        self.loops: list[dict[str, str]] = []  # of each loop around, the flags that it has

    def function(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        last = body[-1] if isinstance(body[-1], ast.Return) else None
        ended = last is not None or always_leaves(body)
        kept = body[:-1] if last is not None else body
        if always_leaves(kept):
            last = None
        new = self.block(kept)
        if last is None and ended:
            _, last = self.returns.pop()
        start = [line for flag, _ in self.returns for line in self.set(flag, False)]
        end: list[ast.stmt] = []
        for flag, node in self.returns:
            test = ast.Name(flag, ast.Load())
            end.append(copy_location(ast.If(test, [node], []), node))
        if last is None and self.returns:
            self.cx.at = body[-1]
            last = copy_location(ast.Return(ast.Constant(None)), body[-1])
        return [*start, *new, *end, *([last] if last is not None else [])]

    def set(self, flag: str, value: bool) -> list[ast.stmt]:
        return self.cx.code("FLAG = VALUE", FLAG=flag, VALUE=ast.Constant(value))

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements`, where what stands behind a way out runs if it was not taken."""
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            self.cx.at = s
            ways, rest = exits_of(s), statements[k + 1 :]
            match s:
                case ast.Break() | ast.Continue() | ast.Return():
                    return [*out, *self.leave(s)]
                case ast.If(test=test, body=body, orelse=orelse) if ways:
                    a, b = always_leaves(body), always_leaves(orelse)
                    body = body if a or not b else [*body, *rest]
                    orelse = orelse if b or not a else [*orelse, *rest]
                    before = self.taken()
                    new = ast.If(test, self.block(body) or [ast.Pass()], self.block(orelse))
                    out.append(copy_location(new, s))
                    if a or b:
                        return out
                    return [*out, *self.unless(before, ways, rest)]
                case ast.For() | ast.While():
                    before = self.taken()
                    out += self.loop(s)
                    if ways:
                        return [*out, *self.unless(before, ways, rest)]
                case ast.If(test=test, body=body, orelse=orelse):
                    new = ast.If(test, self.block(body), self.block(orelse))
                    out.append(copy_location(new, s))
                case _:
                    out.append(s)
        return out

    def leave(self, s: ast.stmt) -> list[ast.stmt]:
        """In the place of `s`, a way out."""
        return self.set(self.flag(s), True)

    def taken(self) -> int:
        return len(self.returns)

    def flag(self, s: ast.stmt) -> str:
        """The flag that says that `s` was reached."""
        if isinstance(s, ast.Return):
            name = self.cx.fresh(_RETURNED)
            self.returns.append((name, s))
            return name
        kind = "left" if isinstance(s, ast.Break) else "skipped"
        return self.loops[-1].setdefault(kind, "") or self._named(kind)

    def _named(self, kind: str) -> str:
        self.loops[-1][kind] = self.cx.fresh(kind)
        return self.loops[-1][kind]

    def unless(
        self, before: int, ways: frozenset[str], rest: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        """`rest`, run where none of these ways was taken; returns are those noted since."""
        if not rest:
            return []
        flags = [name for name, _ in self.returns[before:]]
        if self.loops:
            flags += [self.loops[-1][k] for k, w in _KINDS if w in ways and k in self.loops[-1]]
        at = rest[0]
        body = self.block(rest)
        self.cx.at = at
        return self.cx.code("if not TEST:\n    BODY", TEST=_either(flags), BODY=body)

    def loop(self, s: ast.For | ast.While) -> list[ast.stmt]:
        """The loop `s`, left in one place, and its ``else``."""
        before = self.taken()
        self.loops.append({})
        body, simple = s.body, not s.orelse
        leaving = [k for k, x in enumerate(body) if exits_of(x) & {"break", "return"}]
        simple = simple and len(leaving) == 1 and is_plain_break(body[leaving[0]])
        if simple and "continue" not in exits_of_block(body):
            (k,) = leaving
            new = [*self.block(body[:k]), body[k], *self.block(body[k + 1 :])]
        else:
            new = self._left_once(body, leaving, before)
        flags = self.loops.pop()
        mine = [*flags.values(), *(name for name, _ in self.returns[before:])]
        self.cx.at = s
        resets = [line for flag in mine for line in self.set(flag, False)]
        out: list[ast.stmt] = self.set(flags["left"], False) if "left" in flags else []
        again = copy_tree(s)
        again.body, again.orelse = [*resets, *new], []
        out.append(again)
        if s.orelse:
            gone = [flags["left"]] if "left" in flags else []
            gone += [name for name, _ in self.returns[before:]]
            self.cx.at = s.orelse[0]
            orelse = self.block(s.orelse)
            test = _either(gone)
            out += self.cx.code("if not TEST: BODY", TEST=test, BODY=orelse) if gone else orelse
        return out

    def _left_once(
        self, body: Sequence[ast.stmt], leaving: Sequence[int], before: int
    ) -> list[ast.stmt]:
        """`body` with all its ways out of the loop in front of one ``break``."""
        if not leaving:
            return self.block(body)
        last = leaving[-1] + 1
        late = "continue" in exits_of_block(body[:last])
        new = self.block(body if late else body[:last])
        flags = [self.loops[-1]["left"]] if "left" in self.loops[-1] else []
        flags += [name for name, _ in self.returns[before:]]
        self.cx.at = body[last - 1]
        new += self.cx.code("if TEST: break", TEST=_either(flags))
        return new if late else [*new, *self.block(body[last:])]


_KINDS = (("left", "break"), ("skipped", "continue"))


def _either(flags: Sequence[str]) -> ast.expr:
    names: list[ast.expr] = [ast.Name(flag, ast.Load()) for flag in dict.fromkeys(flags)]
    return names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), names)
