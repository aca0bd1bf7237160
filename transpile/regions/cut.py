"""A function cut into regions: runs of statements that may compile, each a function of its own.

The rest stays Python, as it was, with calls in the place of the regions:

    print(len(x))                       print(len(x))
    for i in range(len(x)):      →      t = _tp_region_2_0(x)
        t = …                           show(t)
    show(t)

A region takes the local names that it reads, and gives those that are read behind it.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from loopir.record import record

from ..below import below
from ..macros.copying import copied
from ..macros.names import COMPREHENSIONS, bound
from .names import (
    Names,
    Ways,
    live_before,
    loaded,
    surely,
    through,
    within_loop,
    within_try,
    within_with,
)

__all__ = ["Asked", "Cut", "Region", "cut"]

T = TypeVar("T", bound=ast.stmt)

_HELPER = "_tp_region"
_WATCHED = {"locals", "vars", "dir", "eval", "exec", "super", "_getframe", "currentframe", "stack"}
"""What tells in which function it is called."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LATER = (*_SCOPES, ast.GeneratorExp)
"""What may read names when others have bound them."""
_STAYING = (
    *_SCOPES, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Await, ast.Import, ast.ImportFrom,
    ast.Global, ast.Nonlocal, ast.Delete, ast.With, ast.AsyncWith, ast.AsyncFor,
)
"""What no region holds."""
_LOOPS = (ast.For, ast.While, *COMPREHENSIONS)


class Asked(Protocol):
    """What is known of the statements of a function."""

    def refused(self, s: ast.stmt) -> bool:
        """Whether it is `s`, or something in it, that does not compile."""

    def arithmetic(self, s: ast.stmt) -> int:
        """How many operations on whole arrays there are in `s`."""

    def passes_on(self, s: ast.With) -> bool:
        """Whether an exception surely leaves the statement."""

    def drains(self, call: ast.Call) -> bool:
        """Whether a generator that is given to `call` has ended with it, or is never asked again.
        """


@record(frozen=True, slots=True)
class Region:
    """A run of statements as a function, ``tree``, that takes and gives local names."""

    helper: str
    tree: ast.FunctionDef
    first: ast.stmt


@record(frozen=True, slots=True)
class Cut:
    """``tree`` calls the regions by the names of their helpers; ``loops`` are those that stay."""

    tree: ast.FunctionDef
    regions: tuple[Region, ...]
    loops: tuple[ast.stmt, ...]


def cut(tree: ast.FunctionDef, asked: Asked) -> Cut | None:
    """`tree` with all that is worth compiling and not refused in regions.

    None where there is no such thing, or where the cut might be noticed.
    """
    if _noticed(tree):
        return None
    cutter = _Cutter(tree, asked)
    parameters = frozenset(a.arg for a in below(tree.args) if isinstance(a, ast.arg))
    body = cutter.block(tree.body, parameters, Ways(), ends=True)
    if not cutter.regions:
        return None
    around = copied(tree)
    around.body = body
    return Cut(around, tuple(cutter.regions), tuple(cutter.loops))


def _noticed(tree: ast.FunctionDef) -> bool:
    """Whether it asks for its own names, or binds another's; or has names that a class mangles."""
    for n in below(tree):
        match n:
            case ast.Nonlocal():
                return True
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name in _WATCHED or (name.startswith("__") and not name.endswith("__")):
                    return True
    return False


class _Cutter:
    def __init__(self, tree: ast.FunctionDef, asked: Asked) -> None:
        self._name, self._asked = tree.name, asked
        nodes = [*below(*tree.body)]
        drained = {a for n in nodes if isinstance(n, ast.Call) and asked.drains(n) for a in n.args}
        inner = [n for n in nodes if isinstance(n, _LATER) and n not in drained]
        declared = (n.names for n in below(tree) if isinstance(n, ast.Global))
        self._kept = frozenset(loaded(*inner)).union(*declared)  # others see what they are bound to
        arguments = (a.arg for a in below(tree.args) if isinstance(a, ast.arg))
        self._local = frozenset(arguments) | bound(*tree.body)
        self._within = 0
        self.regions: list[Region] = []
        self.loops: list[ast.stmt] = []

    def block(
        self, block: Sequence[ast.stmt], have: Names, ways: Ways, *, ends: bool = False
    ) -> list[ast.stmt]:
        """`block` with its regions cut out, where `have` is bound before it.

        ``ends``: the function ends where it does.
        """
        live = live_before(block, ways)
        out: list[ast.stmt] = []
        start = 0
        for k, s in enumerate(block):
            if self._fits(s):
                continue
            here = through(block[:k], have)
            if here is None:
                return [*out, *block[start:]]
            out += self._run(block[start:k], through(block[:start], have) or have, live[k], ways)
            inside = _onto(live[k + 1], ways)
            out.append(self._inside(s, here, inside, ends=ends and k + 1 == len(block)))
            start = k + 1
        before = through(block[:start], have)
        run = block[start:]
        if before is None or not run:
            return [*out, *run]
        last = ends or through(run, before) is None
        return out + self._run(run, before, ways.on, ways, last=last)

    def _fits(self, s: ast.stmt) -> bool:
        """Whether `s` may stand in a region."""
        return not (
            self._asked.refused(s)
            or any(isinstance(n, _STAYING) for n in below(s))
            or bound(s) & self._kept
            or _leaves_loop([s])
        )

    def _inside(self, s: ast.stmt, have: Names, ways: Ways, *, ends: bool) -> ast.stmt:
        """`s`, which stays Python, with the regions in its blocks cut out."""
        comprehension = any(isinstance(n, COMPREHENSIONS) for n in below(*_heads(s)))
        if comprehension or isinstance(s, (ast.For, ast.AsyncFor, ast.While)):
            self.loops.append(s)
        new = copied(s)
        match s, new:
            case ast.If(), ast.If():
                new.body = self.block(s.body, have, ways, ends=ends)
                new.orelse = self.block(s.orelse, have, ways, ends=ends)
            case ast.For() | ast.While(), ast.For() | ast.While():
                target = bound(s.target) if isinstance(s, ast.For) else set()
                self._within += 1
                new.body = self.block(s.body, have | target, within_loop(s, ways))
                self._within -= 1
                new.orelse = self.block(s.orelse, have, ways, ends=ends)
            case ast.With(), ast.With():
                inside = ways if self._asked.passes_on(s) else within_with(ways)
                new.body = self.block(s.body, have | bound(*s.items), inside)
            case ast.Try(), ast.Try():
                body, rest = within_try(s, ways)
                new.body = self.block(s.body, have, body)
                for handler, old in zip(new.handlers, s.handlers, strict=True):
                    named = frozenset([old.name] if old.name else ())
                    handler.body = self.block(old.body, have | named, rest)
        return new

    # -- regions

    def _run(
        self, run: Sequence[ast.stmt], have: Names, live: Names, ways: Ways, *, last: bool = False
    ) -> list[ast.stmt]:
        """`run` as a call of a region, as far as that is worth it and possible.

        ``last``: nothing runs behind it in the function.
        """
        k = next((k for k, s in enumerate(run) if _returns(s)), None)
        if k is not None and not last:
            behind = live_before(run, _onto(live, ways))
            here = through(run[:k], have)
            assert here is not None  # nothing before it leaves
            then = surely(run[k], here)
            return [
                *self._run(run[:k], have, behind[k], ways),
                self._inside(run[k], here, _onto(behind[k + 1], ways), ends=False),
                *(self._run(run[k + 1 :], then, live, ways) if then is not None else ()),
            ]
        if self._is_work(run):
            call = self._region(run, have, frozenset() if last else live, ways.caught, last=last)
            if call is not None:
                return [call]
            self.loops += (s for s in run if any(isinstance(n, _LOOPS) for n in below(s)))
        return [*run]

    def _is_work(self, run: Sequence[ast.stmt]) -> bool:
        """Whether it is worth a call: there is a loop in it, or arithmetic of arrays."""
        if any(isinstance(n, _LOOPS) for s in run for n in below(s)):
            return True
        return not self._within and sum(map(self._asked.arithmetic, run)) > 1

    def _region(
        self, run: Sequence[ast.stmt], have: Names, live: Names, caught: Names, *, last: bool
    ) -> ast.stmt | None:
        """The call of a new region; None where a name may be unbound, or a handler sees it."""
        assigned, after = bound(*run), through(run, have)
        gives = frozenset(assigned & live)
        takes = live_before(run, Ways(gives))[0] & self._local
        if assigned & caught or not takes <= have or not gives <= (after or gives):
            return None
        helper = f"{_HELPER}_{run[0].lineno}_{run[0].col_offset}"
        result = [_at(ast.Return(_names(sorted(gives), ast.Load())), run[-1:])] if gives else []
        tree = ast.parse(f"def {self._name}({', '.join(sorted(takes))}): pass").body[0]
        assert isinstance(tree, ast.FunctionDef)
        tree.body = [*map(copied, run), *result]
        self.regions.append(Region(helper, _at(tree, run), run[0]))
        call = ast.Call(ast.Name(helper, ast.Load()), [_name(n) for n in sorted(takes)], [])
        if last:
            return _at(ast.Return(call), run)
        if gives:
            return _at(ast.Assign([_names(sorted(gives), ast.Store())], call), run)
        return _at(ast.Expr(call), run)


def _onto(live: Names, ways: Ways) -> Ways:
    return Ways(live, ways.out, ways.again, ways.caught)


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _names(names: Sequence[str], ctx: ast.expr_context) -> ast.expr:
    if len(names) == 1:
        return ast.Name(names[0], ctx)
    return ast.Tuple([ast.Name(n, ctx) for n in names], ctx)


def _at(node: T, run: Sequence[ast.stmt]) -> T:
    """`node`, which stands where `run` did, with what is new in it."""
    old = {id(n) for s in getattr(node, "body", ()) for n in ast.walk(s) if hasattr(n, "lineno")}
    for n in ast.walk(node):
        if isinstance(n, (ast.stmt, ast.expr, ast.arg)) and (id(n) not in old):
            ast.copy_location(n, run[0])
    node.end_lineno, node.end_col_offset = run[-1].end_lineno, run[-1].end_col_offset
    return node


def _returns(s: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return) for n in below(s))


def _leaves_loop(block: Sequence[ast.stmt]) -> bool:
    """Whether a ``break`` or ``continue`` in it is of a loop around."""
    for s in block:
        match s:
            case ast.Break() | ast.Continue():
                return True
            case ast.For(orelse=inside) | ast.While(orelse=inside):
                pass
            case ast.If(body=body, orelse=orelse):
                inside = [*body, *orelse]
            case _:
                continue
        if _leaves_loop(inside):
            return True
    return False


def _heads(s: ast.stmt) -> Iterator[ast.AST]:
    """What of `s` is not a block of statements."""
    for child in ast.iter_child_nodes(s):
        if not isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield child
