"""Flow-sensitive type inference: facts about local names, statement by statement.

A forward dataflow analysis. The state is a map from names to facts (`Flow.known`); paths that meet
join it (`join_environments`); the head of a loop is a fixpoint::

    s = 0                     # s: int
    for v in x:               # x: array of f64, so v: f64; s: int or f64
        s += v                # s: f64

The driver of the macros (`transpile.expand`) walks with it: it expands a statement under the facts
before it, and `Flow.record` then adds what the statement binds. `Flow` is what macros know as
``cx.facts``; the inference of one expression is in `expression_facts`.
"""
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
"""What is known of an item of an iterable: of a tuple with known items, the facts about these."""

_Environment: TypeAlias = "dict[str, Fact]"


class Flow(Facts):
    """Walks a function statement by statement; the facts about its local names before the next
    statement are in ``known``::

        s = 0            record: s is an int
        for v in x:      enter_loop: v is an element of x; s is an int or what the body makes of it
            s += v       record

    The driver of the macros (`MacroDriver`) makes the steps, since it expands each
    statement under the facts before it: `record` passes a statement, `enter_loop` begins a loop,
    `join_environments` joins branches.

    ``changed``: names that the function's local functions bind: after a call of one, nothing is
    known of them.
    """

    def __init__(
        self, tree: ast.FunctionDef, env: Env, resolve: Callable[[ast.expr], object | None],
        fresh: Callable[[str], str], changed: Collection[str] = (),
    ) -> None:
        super().__init__(tree, env, resolve, fresh)
        self._changed = changed
        # cache: (id of a loop, facts before it) -> facts at the end of its body, and at its breaks
        self._loop_results: dict[
            tuple[int, frozenset[tuple[str, Fact]]], tuple[_Environment, _Environment]
        ] = {}
        # for each enclosing loop, the innermost last: the facts at its breaks and continues, by
        # the name of the node class
        self._exits: list[dict[str, _Environment]] = []
        # for each enclosing try, the innermost last: the facts with which a handler may start
        self._raising: list[_Environment] = []

    def record(self, s: ast.stmt) -> None:
        """Updates the facts to those after `s` and all statements in it."""
        self._loop_results.clear()  # macros may have changed loops since the last call
        self._record(s)

    def _record(self, s: ast.stmt) -> None:
        """As `record`, with the results for loops that were seen before."""
        for k, environment in enumerate(self._raising):
            self._raising[k] = join_environments(environment, self.known)
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
                    left = self.operator_fact(s.op, left, self.of(value))
                self.known[name] = left
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=args)
            ):
                self._method_called(name, method, args)
            case ast.For() | ast.While():
                self._loop(s)
            case ReplayIf(orelse=orelse):
                self.join_branches([orelse])
            case ast.If(body=body, orelse=orelse):
                self.join_branches([body, orelse])
            case ast.Try():
                self._record_try(s)
            case _:
                self._forget(bound_names(s))
                if self._exits:
                    self._record_loop_exits(s)

    def _record_loop_exits(self, s: ast.stmt) -> None:
        """If `s` has a ``break`` or ``continue``, adds the current facts to those at the loop's
        exits.
        """
        exits = self._exits[-1]
        for kind in {type(n) for n in walk_nodes(s)} & {ast.Break, ast.Continue}:
            exits[kind.__name__] = join_environments(exits.get(kind.__name__, {}), self.known)

    def bind_within(self, s: ast.stmt) -> set[str]:
        """Drops the facts about the names that expressions of `s` itself, not of its blocks, bind
        (by a walrus or by calling a local function); returns these names.
        """
        expressions = [e for e in child_nodes(s) if isinstance(e, ast.expr)]
        names = {n.target.id for n in walk_nodes(*expressions) if isinstance(n, ast.NamedExpr)}
        names |= self.changed_by(expressions)
        self._forget(names)
        return names

    def changed_by(self, nodes: Iterable[ast.AST]) -> set[str]:
        """The names of this function that calls in `nodes` may bind: all that its local functions
        bind, if a name without a known meaning is called; else none.
        """
        if not self._changed:
            return set()
        called = [n.func for n in walk_nodes(*nodes) if isinstance(n, ast.Call)]
        local = any(isinstance(f, ast.Name) and self.resolve(f) is None for f in called)
        return {*self._changed} if local else set()

    def _method_called(self, name: str, method: str, args: Sequence[ast.expr]) -> None:
        """Updates the facts for the statement ``name.method(*args)``: a list keeps its fact if only
        scalars are added; ``x.resize`` changes the shape.
        """
        facts = [self.of(a) for a in args]
        adds_scalars = method in ("append", "insert") and all(f.rank == 0 for f in facts)
        if method == "extend":
            adds_scalars = [(f.rank, f.list_depth) for f in facts] == [(1, 0)]
        if method == "resize" and name in self.known:
            self.known[name] = self.known[name]._replace(shape=None)
        elif method in GROWING and not adds_scalars:
            self.known[name] = UNKNOWN

    def item_fact(self, e: ast.ListComp) -> Fact:
        """The fact about every item that a comprehension yields."""
        before = dict(self.known)
        cache = self._cached_facts, self._cached_under, self._inferring
        self._inferring = False  # so that the facts are inferred anew under those about the targets
        for g in e.generators:
            self._bind_each(g.target, g.iter)
        fact = self.of(e.elt)
        self.known, (self._cached_facts, self._cached_under, self._inferring) = before, cache
        return fact

    def comprehension_fact(self, e: ast.ListComp) -> Fact:
        """The fact about the list that a comprehension makes, of numbers or of lists of them."""
        fact = self.item_fact(e)
        if fact.rank == 0:
            return Fact(1)
        is_list = fact.rank == 1 and not fact.types and fact.list_type is None
        return Fact(1, list_depth=fact.list_depth + 1) if is_list else UNKNOWN

    def join_branches(self, blocks: Iterable[Sequence[ast.stmt]]) -> None:
        """Updates the facts to those after one of several alternative blocks: the join of the facts
        after each.
        """
        before, after = self.known, None
        for block in blocks:
            self.known = dict(before)
            for s in block:
                self._record(s)
            after = self.known if after is None else join_environments(after, self.known)
        self.known = dict(before) if after is None else after

    def enter_loop(self, loop: ast.For | ast.AsyncFor | ast.While) -> None:
        """Sets the facts to those at the head of `loop`: what holds before every iteration, the
        first and all others, with the target bound. The driver of the macros calls it, and then
        expands the body.

            s = 0                    # before the loop, s: int
            for v in x:              # at its head,     s: int or float
                s = s + v            # after the body,  s: float

        Results for loops are dropped first: macros may have changed loops since the last call.
        """
        self._loop_results.clear()
        self._enter_loop(loop)

    def _enter_loop(self, loop: ast.For | ast.AsyncFor | ast.While) -> None:
        """As `enter_loop`, with the results for inner loops that were seen before. Finds the least
        fixpoint: the facts at the end of an iteration are joined to those at its head, until they
        add nothing. That ends, since each join only drops facts or adds one of finitely many types.
        """
        while True:
            head = dict(self.known)
            if not isinstance(loop, ast.While):
                self._bind_each(loop.target, loop.iter)
            self.bind_within(loop)
            self._record_iteration(loop)
            after = join_environments(head, self.known)
            if after == head:
                break
            self.known = after
        self.known = head
        if not isinstance(loop, ast.While):
            self._bind_each(loop.target, loop.iter)

    def _record_try(self, s: ast.Try) -> None:
        """Updates the facts to those after `s`: a handler may start with the facts before or after
        any statement of the body.
        """
        at_handlers = self._record_raising(s.body)
        for part in s.orelse:
            self._record(part)
        after = self.known
        for handler in s.handlers:
            self.known = dict(at_handlers)
            self._forget({handler.name} if handler.name else ())
            for part in handler.body:
                self._record(part)
            after = join_environments(after, self.known)
        self.known = after
        for part in s.finalbody:
            self._record(part)

    def _record_raising(self, block: Sequence[ast.stmt]) -> _Environment:
        """Updates the facts to those after `block`; returns those at the exceptions that leave it.
        """
        self._raising.append({})
        for s in block:
            self._record(s)
        return join_environments(self._raising.pop(), self.known)

    def at_exceptions(self, block: Sequence[ast.stmt]) -> _Environment:
        """The facts that hold wherever `block`, which comes next, may be left by an exception."""
        self._loop_results.clear()
        before = dict(self.known)
        environment = self._record_raising(block)
        self.known = before
        return environment

    def _record_iteration(self, loop: ast.For | ast.AsyncFor | ast.While) -> _Environment:
        """Updates the facts to those at the end of an iteration; returns those at its breaks."""
        with self.iteration() as at_breaks:
            for s in loop.body:
                self._record(s)
        return at_breaks

    @contextmanager
    def iteration(self) -> Iterator[_Environment]:
        """Within, the caller walks the body of a loop once. Afterwards the facts are those at the
        end of an iteration, ``continue`` included, and the yielded dict has those at the breaks.
        """
        at_breaks: _Environment = {}
        self._exits.append({})
        try:
            yield at_breaks
        finally:
            exits = self._exits.pop()
        self.known = join_environments(self.known, exits.get("Continue", {}))
        at_breaks |= exits.get("Break", {})

    def _loop(self, loop: ast.For | ast.While) -> None:
        """Updates the facts to those after `loop`. Its result is cached: each enclosing loop asks
        again in every round of its fixpoint.
        """
        before = dict(self.known)
        key = id(loop), frozenset(before.items())
        if key not in self._loop_results:
            self._enter_loop(loop)
            at_breaks = self._record_iteration(loop)
            self._loop_results[key] = join_environments(before, self.known), at_breaks
        at_end, at_breaks = self._loop_results[key]
        self.known = dict(at_end)
        for s in loop.orelse:
            self._record(s)
        self.known = join_environments(self.known, at_breaks)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        """Updates the facts for ``target = value``:

        - a name that gets no scalarized tuple: the fact about `value`; a new array is its own
        - a name or tuple that gets a tuple of known items: the facts about the items
        - ``q, r = divmod(a, b)``: those about ``a // b`` and ``a % b``
        - otherwise nothing is known of the names in `target`
        """
        match target, value:
            case ast.Name(id=name), _ if name not in self.scalarizable or self.items(value) is None:
                fact = self.of(value)
                self.known[name] = fact._replace(owner=fact.owner or name) if fact.rank else fact
            case (ast.Name() | ast.Tuple()), _ if self.items(value) is not None:
                self._set_each(target, self._fact_or_items(value))
            case ast.Tuple(elts=[q, r]), ast.Call(func=func, args=[a, b]) if (
                self.resolve(func) is divmod
            ):
                self._set(q, self.operator_fact(ast.FloorDiv(), self.of(a), self.of(b)))
                self._set(r, self.operator_fact(ast.Mod(), self.of(a), self.of(b)))
            case _:
                self._forget(bound_names(target))

    def _bind_each(self, target: ast.expr, iterable: ast.expr) -> None:
        """Updates the facts for `target`, which is bound to each element of `iterable` in turn."""
        self._set_each(target, self._element(iterable))

    def _fact_or_items(self, e: ast.expr) -> _Element:
        """What is known of `e`; for a tuple of known items, of these."""
        items = self.items(e)
        return self.of(e) if items is None else tuple(map(self._fact_or_items, items))

    def _set_each(self, target: ast.expr, element: _Element) -> None:
        """Updates the facts for the names in `target`, which is bound to, or unpacks, `element`."""
        if isinstance(element, Fact):
            self._set(target, element)
        elif isinstance(target, ast.Name) and target.id in self.scalarizable:
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
        """What is known of every element of the iterable `e`: ``range``, ``enumerate``, ``zip`` and
        ``reversed`` by name, others as ``e[0]``.
        """
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
        """Updates the facts for `target`, which is bound to a value of this fact."""
        if isinstance(target, ast.Name):
            self.known[target.id] = fact
        else:
            self._forget(bound_names(target))

    def _forget(self, names: Iterable[str]) -> None:
        """Makes `names` local names of which nothing is known."""
        self.known.update(dict.fromkeys(names, UNKNOWN))


def join_environments(a: dict[str, Fact], b: dict[str, Fact]) -> dict[str, Fact]:
    """The facts that hold on both of two paths that meet. A name that only one path binds keeps its
    fact: on the other path reading it would raise.
    """
    both = a | b
    for name, fact in a.items():
        if (other := both[name]) is not fact:
            both[name] = join_facts(fact, other)
    return both
