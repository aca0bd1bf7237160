"""Flow-sensitive type inference: facts about local names, statement by statement."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from ..containers.method_table import GROWING
from ..frontend.ast_names import bound_names
from ..frontend.ast_walk import child_nodes, walk_nodes
from ..frontend.core_nodes import ReplayIf
from ..types.type_env import Env
from ..types.value_types import ArrayType
from .expression_facts import Facts
from .type_facts import INT, SCALAR, UNKNOWN, Fact, join_facts

__all__ = ["Flow", "join_environments"]

_Element: TypeAlias = "Fact | tuple[_Element, ...]"
_Known: TypeAlias = "dict[str, Fact]"


class Flow(Facts):
    """Walks a function statement by statement and keeps the facts about its local names.

    ``known`` holds before the next statement. ``_after``: the facts after inner loops, by the facts
    before them. ``_ways``: the facts where enclosing loops are continued and left. ``_raised``: the
    facts before each statement of a ``try``, from which a handler may start.
    """

    def __init__(
        self, tree: ast.FunctionDef, env: Env, resolve: Callable[[ast.expr], object | None],
        fresh: Callable[[str], str], changed: Collection[str] = (),
    ) -> None:
        super().__init__(tree, env, resolve, fresh)
        self._changed = changed
        self._after: dict[tuple[int, frozenset[tuple[str, Fact]]], tuple[_Known, _Known]] = {}
        self._ways: list[dict[str, _Known]] = []
        self._raised: list[_Known] = []

    def record(self, s: ast.stmt) -> None:
        """Update the facts by what `s`, with all statements inside of it, binds."""
        self._after.clear()  # macros may have changed loops meanwhile
        self._record(s)

    def _record(self, s: ast.stmt) -> None:
        for k, raised in enumerate(self._raised):
            self._raised[k] = join_environments(raised, self.known)
        self.bind_within(s)
        match s:
            case ast.Assign(targets=targets, value=value):
                for t in targets:
                    self._bind(t, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.AugAssign(target=ast.Name(id=name) as target, value=value):
                left = self.known.get(name, UNKNOWN)
                if not (left.kinds and all(isinstance(t, ArrayType) for t in left.kinds)):
                    left = self.binary(s.op, left, self.of(value))
                self.known[name] = left
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=args)
            ):
                self._method(name, method, args)
            case ast.For() | ast.While():
                self._loop(s)
            case ReplayIf(orelse=orelse):
                self.branches([orelse])
            case ast.If(body=body, orelse=orelse):
                self.branches([body, orelse])
            case ast.Try():
                self._attempt(s)
            case _:
                self._forget(bound_names(s))
                if self._ways:
                    self._leave(s)

    def _leave(self, s: ast.stmt) -> None:
        """Where `s` may go on with the loop around, or leave it, this is known, too."""
        here = self._ways[-1]
        for way in {type(n) for n in walk_nodes(s)} & {ast.Break, ast.Continue}:
            here[way.__name__] = join_environments(here.get(way.__name__, {}), self.known)

    def bind_within(self, s: ast.stmt) -> set[str]:
        """Forget the names that expressions of `s` itself bind (walrus)."""
        own = [e for e in child_nodes(s) if isinstance(e, ast.expr)]
        names = {n.target.id for n in walk_nodes(*own) if isinstance(n, ast.NamedExpr)}
        names |= self.changed_by(own)
        self._forget(names)
        return names

    def changed_by(self, nodes: Iterable[ast.AST]) -> set[str]:
        """The names that local functions, which `nodes` call, may bind."""
        if not self._changed:
            return set()
        called = [n.func for n in walk_nodes(*nodes) if isinstance(n, ast.Call)]
        local = any(isinstance(f, ast.Name) and self.resolve(f) is None for f in called)
        return {*self._changed} if local else set()

    def _method(self, name: str, method: str, args: Sequence[ast.expr]) -> None:
        """A list stays one of scalars for as long as scalars are put into it."""
        facts = [self.of(a) for a in args]
        scalar = method in ("append", "insert") and all(f.rank == 0 for f in facts)
        scalar = scalar or (method == "extend" and [(f.rank, f.rows) for f in facts] == [(1, 0)])
        if method == "resize" and name in self.known:
            self.known[name] = self.known[name]._replace(shape=None)
        elif method in GROWING and not scalar:
            self.known[name] = UNKNOWN

    def each(self, e: ast.ListComp) -> Fact:
        """The fact about every item that a comprehension yields."""
        before, kept = dict(self.known), (self._found, self._found_given, self._finding)
        self._finding = False
        for g in e.generators:
            self._bind_each(g.target, g.iter)
        fact = self.of(e.elt)
        self.known, (self._found, self._found_given, self._finding) = before, kept
        return fact

    def collected(self, e: ast.ListComp) -> Fact:
        """The fact about the list that a comprehension makes, of numbers or of lists of them."""
        fact = self.each(e)
        if fact.rank == 0:
            return Fact(1)
        rows = fact.rank == 1 and not fact.types and fact.listed is None
        return Fact(1, rows=fact.rows + 1) if rows else UNKNOWN

    def branches(self, blocks: Iterable[Sequence[ast.stmt]]) -> None:
        """Update the facts by one of several blocks: what holds after each of them is joined."""
        before, after = self.known, None
        for block in blocks:
            self.known = dict(before)
            for s in block:
                self._record(s)
            after = self.known if after is None else join_environments(after, self.known)
        self.known = dict(before) if after is None else after

    def enter(self, loop: ast.For | ast.AsyncFor | ast.While) -> None:
        """Set the facts to those at the head of every iteration of `loop`: a fixpoint of the body,
        which ends since each step only drops facts.
        """
        self._after.clear()
        self._enter(loop)

    def _enter(self, loop: ast.For | ast.AsyncFor | ast.While) -> None:
        while True:
            head = dict(self.known)
            if not isinstance(loop, ast.While):
                self._bind_each(loop.target, loop.iter)
            self.bind_within(loop)
            self._turn(loop)
            after = join_environments(head, self.known)
            if after == head:
                break
            self.known = after
        self.known = head
        if not isinstance(loop, ast.While):
            self._bind_each(loop.target, loop.iter)

    def _attempt(self, s: ast.Try) -> None:
        """A handler begins behind any part of the body."""
        self._raised.append({})
        for part in s.body:
            self._record(part)
        raised = join_environments(self._raised.pop(), self.known)
        for part in s.orelse:
            self._record(part)
        after = self.known
        for handler in s.handlers:
            self.known = dict(raised)
            self._forget({handler.name} if handler.name else ())
            for part in handler.body:
                self._record(part)
            after = join_environments(after, self.known)
        self.known = after
        for part in s.finalbody:
            self._record(part)

    def _turn(self, loop: ast.For | ast.AsyncFor | ast.While) -> _Known:
        with self.turn() as left:
            for s in loop.body:
                self._record(s)
        return left

    @contextmanager
    def turn(self) -> Iterator[_Known]:
        """Walk the body of a loop once; afterwards the facts are those at the end of each
        iteration. Returns the facts where the loop is left inside of its body.
        """
        left: _Known = {}
        self._ways.append({})
        try:
            yield left
        finally:
            ways = self._ways.pop()
        self.known = join_environments(self.known, ways.get("Continue", {}))
        left |= ways.get("Break", {})

    def _loop(self, loop: ast.For | ast.While) -> None:
        before = dict(self.known)
        key = id(loop), frozenset(before.items())
        if key not in self._after:  # or loops in loops would be gone through again and again
            self._enter(loop)
            left = self._turn(loop)
            self._after[key] = join_environments(before, self.known), left
        self.known, left = dict(self._after[key][0]), self._after[key][1]
        for s in loop.orelse:
            self._record(s)
        self.known = join_environments(self.known, left)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _ if name not in self.apart or self.items(value) is None:
                fact = self.of(value)
                self.known[name] = fact._replace(owner=fact.owner or name) if fact.rank else fact
            case (ast.Name() | ast.Tuple()), _ if self.items(value) is not None:
                self._set_each(target, self._held(value))
            case ast.Tuple(elts=[q, r]), ast.Call(func=func, args=[a, b]) if (
                self.resolve(func) is divmod
            ):
                self._set(q, self.binary(ast.FloorDiv(), self.of(a), self.of(b)))
                self._set(r, self.binary(ast.Mod(), self.of(a), self.of(b)))
            case _:
                self._forget(bound_names(target))

    def _bind_each(self, target: ast.expr, iterable: ast.expr) -> None:
        """`target` takes each element of `iterable`."""
        self._set_each(target, self._element(iterable))

    def _held(self, e: ast.expr) -> _Element:
        items = self.items(e)
        return self.of(e) if items is None else tuple(map(self._held, items))

    def _set_each(self, target: ast.expr, element: _Element) -> None:
        if isinstance(element, Fact):
            self._set(target, element)
        elif isinstance(target, ast.Name) and target.id in self.apart:
            names = self.item_names(target.id, len(element))
            self.known[target.id] = Fact(None, items=names)
            for name, part in zip(names, element, strict=True):
                self._set_each(ast.Name(name, ast.Store()), part)
        elif isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(element):
            for t, e in zip(target.elts, element, strict=True):
                self._set_each(t, e)
        else:
            self._forget(bound_names(target))

    def _element(self, e: ast.expr) -> _Element:
        match e:
            case ast.Call(func=func) if self.resolve(func) is range:
                return INT
            case ast.Call(func=func, args=[a, *start]) if self.resolve(func) is enumerate:
                count = INT if all(self.of(s).is_int for s in start) else SCALAR
                return (count, self._element(a))
            case ast.Call(func=func, args=args) if self.resolve(func) is zip:
                return tuple(self._element(a) for a in args)
            case ast.Call(func=func, args=[a]) if self.resolve(func) is reversed:
                return self._element(a)
        return self.of(ast.Subscript(e, ast.Constant(0), ast.Load()))

    def _set(self, target: ast.expr, fact: Fact) -> None:
        if isinstance(target, ast.Name):
            self.known[target.id] = fact
        else:
            self._forget(bound_names(target))

    def _forget(self, names: Iterable[str]) -> None:
        self.known.update(dict.fromkeys(names, UNKNOWN))


def join_environments(a: dict[str, Fact], b: dict[str, Fact]) -> dict[str, Fact]:
    """The facts that hold on either of two paths. A name that one path alone binds keeps its fact
    there: on the other it has no value, and reading it raises.
    """
    both = a | b
    for name, fact in a.items():
        if (other := both[name]) is not fact:
            both[name] = join_facts(fact, other)
    return both
