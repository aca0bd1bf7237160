"""Flow-sensitive type inference: facts about local names, statement by statement.

A forward dataflow analysis. The state is a map from names to facts (`Facts.known`); paths that meet
join it (`join_environments`); the head of a loop is a fixpoint::

    s = 0            record_facts: s is an int
    for v in x:      enter_loop: v is an element of x; s is an int or what the body makes of it
        s += v       record_facts: s is a float

The driver of the macros (`MacroDriver`) makes the steps, since it expands each statement under the
facts before it: `record_facts` passes a statement, `enter_loop` begins a loop, `join_environments`
joins branches. The inference of one expression is in `expression_facts`.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from ...containers.method_table import GROWING
from ...frontend.ast_names import bound_names
from ...frontend.ast_walk import child_nodes, walk_nodes
from ...frontend.core_nodes import ReplayIf
from ...frontend.fold_branches import unrolled_loop
from ...types.type_env import Env
from ...types.value_types import ArrayType
from ..alias_analysis import Owner
from ..escape_analysis import EscapeAnalysis
from .binding_facts import bind_each, fact_or_items, set_each, set_fact
from .expression_facts import infer_fact, operator_fact
from .shape_rules import find_length_names
from .tuple_types import items_of_tuple, popped_width, tuple_lists, unscalarizable_names
from .type_facts import Facts
from .type_lattice import SCALAR, UNKNOWN, Environment, Fact, join_facts

__all__ = [
    "analyse_function", "bind_within", "enter_loop", "facts_at_exceptions", "join_environments",
    "loop_iteration", "names_changed_by", "new_facts", "record_facts",
]


def new_facts(
    tree: ast.FunctionDef, env: Env, resolve: Callable[[ast.expr], object | None],
    fresh: Callable[[str], str], written_by_closures: Collection[str] = (),
) -> Facts:
    """The facts at the start of the function `tree`: those about its parameters.

    `resolve` gives the object that a free name or dotted name refers to, `fresh` a new name from a
    hint. `written_by_closures`: names of `tree` that functions defined in it bind by ``nonlocal``.
    """
    nodes = [*walk_nodes(tree)]
    return Facts(
        tree, env, resolve, fresh, written_by_closures, infer_fact,
        unscalarizable_names(tree, nodes), tuple_lists(tree, nodes),
    )


def analyse_function(facts: Facts, tree: ast.FunctionDef) -> None:
    """Analyses the whole function, before any macro changes `tree`: which arrays escape
    (`Facts.escapes`), and which names are lengths of arrays (`Facts.lengths`).
    """
    arrays = {n for n, f in facts.known.items() if f.array}
    sliced = any(f.rank is None and n not in facts.objects for n, f in facts.known.items())
    facts.escapes = EscapeAnalysis(tree, facts.resolve, arrays, sliced)
    find_length_names(facts, tree)


def record_facts(facts: Facts, s: ast.stmt) -> None:
    """Updates the facts to those after `s` and all statements in it."""
    _forget_loops(facts)  # macros may have changed loops since the last call
    _record(facts, s)


def _forget_loops(facts: Facts) -> None:
    facts.loop_results.clear()
    facts.unrolled.clear()


def _record(facts: Facts, s: ast.stmt) -> None:
    """As `record_facts`, but uses the cached results for loops (`Facts.loop_results`)."""
    for k, environment in enumerate(facts.raising):
        facts.raising[k] = join_environments(environment, facts.known)
    bind_within(facts, s)
    match s:
        case ast.Assign(targets=targets, value=value):
            for t in targets:
                _bind(facts, t, value)
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            left = facts.known.get(name, UNKNOWN)
            if not (left.kinds and all(isinstance(t, ArrayType) for t in left.kinds)):
                left = operator_fact(facts, s.op, left, facts.of(value))
            facts.known[name] = left
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=args)
        ):
            _method_called(facts, name, method, args)
        case ast.For() if (copies := _unrolled(facts, s)) is not None:
            for copy in copies:
                _record(facts, copy)
        case ast.For() | ast.While():
            _record_loop(facts, s)
        case ReplayIf(orelse=orelse):
            _join_branches(facts, [orelse])
        case ast.If(body=body, orelse=orelse):
            _join_branches(facts, [body, orelse])
        case ast.Try():
            _record_try(facts, s)
        case _:
            facts.forget(bound_names(s))
            if facts.loop_exits:
                _record_loop_exits(facts, s)


def _record_loop_exits(facts: Facts, s: ast.stmt) -> None:
    """If `s` has a ``break`` or ``continue``, adds the current facts to those at the loop's
    exits.
    """
    exits = facts.loop_exits[-1]
    for kind in {type(n) for n in walk_nodes(s)} & {ast.Break, ast.Continue}:
        exits[kind.__name__] = join_environments(exits.get(kind.__name__, {}), facts.known)


def bind_within(facts: Facts, s: ast.stmt) -> set[str]:
    """Drops the facts about the names that expressions of `s` itself, not of its blocks, bind
    (by a walrus or by calling a local function); returns these names.
    """
    expressions = [e for e in child_nodes(s) if isinstance(e, ast.expr)]
    names = {n.target.id for n in walk_nodes(*expressions) if isinstance(n, ast.NamedExpr)}
    names |= names_changed_by(facts, expressions)
    facts.forget(names)
    return names


def names_changed_by(facts: Facts, nodes: Iterable[ast.AST]) -> set[str]:
    """The names of the function that calls in `nodes` may bind: `Facts.written_by_closures`, if a
    name without a known meaning is called, which may be a local function; else none.
    """
    if not facts.written_by_closures:
        return set()
    called = [n.func for n in walk_nodes(*nodes) if isinstance(n, ast.Call)]
    local = any(isinstance(f, ast.Name) and facts.resolve(f) is None for f in called)
    return {*facts.written_by_closures} if local else set()


def _method_called(facts: Facts, name: str, method: str, args: Sequence[ast.expr]) -> None:
    """Updates the facts for the statement ``name.method(*args)``: a list keeps its fact if only
    scalars are added; ``x.resize`` changes the shape.
    """
    operands = [facts.of(a) for a in args]
    adds_scalars = method in ("append", "insert") and all(f.rank == 0 for f in operands)
    if method == "extend":
        adds_scalars = [(f.rank, f.list_depth) for f in operands] == [(1, 0)]
    if method == "resize" and name in facts.known:
        facts.known[name] = facts.known[name]._replace(shape=None)
    elif method in GROWING and not adds_scalars:
        facts.known[name] = UNKNOWN


def _join_branches(facts: Facts, blocks: Iterable[Sequence[ast.stmt]]) -> None:
    """Updates the facts to those after one of several alternative blocks: the join of the facts
    after each.
    """
    before, after = facts.known, None
    for block in blocks:
        facts.known = dict(before)
        for s in block:
            _record(facts, s)
        after = facts.known if after is None else join_environments(after, facts.known)
    facts.known = dict(before) if after is None else after


def enter_loop(facts: Facts, loop: ast.For | ast.AsyncFor | ast.While) -> None:
    """Sets the facts to those at the head of `loop`: what holds before every iteration, the
    first and all others, with the target bound. The driver of the macros calls it, and then
    expands the body.

        s = 0                    # before the loop, s: int
        for v in x:              # at its head,     s: int or float
            s = s + v            # after the body,  s: float

    Results for loops are dropped first: macros may have changed loops since the last call.
    """
    _forget_loops(facts)
    _enter_loop(facts, loop)


def _enter_loop(facts: Facts, loop: ast.For | ast.AsyncFor | ast.While) -> None:
    """As `enter_loop`, but uses the cached results for inner loops. Finds the least
    fixpoint: the facts at the end of an iteration are joined to those at its head, until they
    add nothing. That ends, since each join only drops facts or adds one of finitely many types.
    """
    while True:
        head = dict(facts.known)
        if not isinstance(loop, ast.While):
            bind_each(facts, loop.target, loop.iter)
        bind_within(facts, loop)
        _record_iteration(facts, loop)
        after = join_environments(head, facts.known)
        if after == head:
            break
        facts.known = after
    facts.known = head
    if not isinstance(loop, ast.While):
        bind_each(facts, loop.target, loop.iter)


def _record_try(facts: Facts, s: ast.Try) -> None:
    """Updates the facts to those after `s`: a handler may start with the facts before or after
    any statement of the body.
    """
    at_handlers = _record_raising(facts, s.body)
    for part in s.orelse:
        _record(facts, part)
    after = facts.known
    for handler in s.handlers:
        facts.known = dict(at_handlers)
        facts.forget({handler.name} if handler.name else ())
        for part in handler.body:
            _record(facts, part)
        after = join_environments(after, facts.known)
    facts.known = after
    for part in s.finalbody:
        _record(facts, part)


def _record_raising(facts: Facts, block: Sequence[ast.stmt]) -> Environment:
    """Updates the facts to those after `block`; returns those that hold wherever an exception may
    leave it.
    """
    facts.raising.append({})
    for s in block:
        _record(facts, s)
    return join_environments(facts.raising.pop(), facts.known)


def facts_at_exceptions(facts: Facts, block: Sequence[ast.stmt]) -> Environment:
    """The facts that hold wherever `block`, which comes next, may be left by an exception."""
    _forget_loops(facts)
    before = dict(facts.known)
    environment = _record_raising(facts, block)
    facts.known = before
    return environment


def _record_iteration(facts: Facts, loop: ast.For | ast.AsyncFor | ast.While) -> Environment:
    """Updates the facts to those at the end of an iteration; returns those at its breaks."""
    with loop_iteration(facts) as at_breaks:
        for s in loop.body:
            _record(facts, s)
    return at_breaks


@contextmanager
def loop_iteration(facts: Facts) -> Iterator[Environment]:
    """A context in which the caller walks the body of a loop once. Afterwards the facts are those
    at the end of an iteration, ``continue`` included, and the yielded dict has those at the breaks.
    """
    at_breaks: Environment = {}
    facts.loop_exits.append({})
    try:
        yield at_breaks
    finally:
        exits = facts.loop_exits.pop()
    facts.known = join_environments(facts.known, exits.get("Continue", {}))
    at_breaks |= exits.get("Break", {})


def _record_loop(facts: Facts, loop: ast.For | ast.While) -> None:
    """Updates the facts to those after `loop`. Its result is cached: each enclosing loop asks
    again in every round of its fixpoint.
    """
    before = dict(facts.known)
    key = id(loop), frozenset(before.items())
    if key not in facts.loop_results:
        _enter_loop(facts, loop)
        at_breaks = _record_iteration(facts, loop)
        facts.loop_results[key] = join_environments(before, facts.known), at_breaks
    at_end, at_breaks = facts.loop_results[key]
    facts.known = dict(at_end)
    for s in loop.orelse:
        _record(facts, s)
    facts.known = join_environments(facts.known, at_breaks)


def _unrolled(facts: Facts, loop: ast.For) -> list[ast.stmt] | None:
    """What `unroll_constant_loop` will make of `loop`, if that is a loop over constants, whose body
    is known to run; else None::

        total = 0
        for k in (-1, 1):
            total = total + np.roll(x, k)      # after the loop an array, and no int

    It is cached like the results of loops.
    """
    if id(loop) not in facts.unrolled:
        facts.unrolled[id(loop)] = unrolled_loop(loop, unknown=facts.written_by_closures)
    return facts.unrolled[id(loop)]


def _bind(facts: Facts, target: ast.expr, value: ast.expr) -> None:
    """Updates the facts for ``target = value``:

    - a name that gets no scalarized tuple: the fact about `value`; the name owns a new array
    - a name or tuple that gets a tuple of known items: the facts about the items
    - a tuple that is taken from a list of tuples: numbers
    - ``q, r = divmod(a, b)``: those about ``a // b`` and ``a % b``
    - a tuple that unpacks an array or list: the fact about its first item, for each name
    - otherwise nothing is known of the names in `target`
    """
    match target, value:
        case ast.Name(id=name), _ if (
            name not in facts.scalarizable or items_of_tuple(facts, value) is None
        ):
            fact = facts.of(value)
            owned = fact if fact.has_named_owner else fact._replace(owner=Owner(name))
            facts.known[name] = owned if fact.rank else fact
        case (ast.Name() | ast.Tuple()), _ if items_of_tuple(facts, value) is not None:
            set_each(facts, target, fact_or_items(facts, value))
        case ast.Tuple(elts=elts), _ if popped_width(facts, value) == len(elts):
            for item in elts:
                set_fact(facts, item, SCALAR)
        case ast.Tuple(elts=[q, r]), ast.Call(func=func, args=[a, b]) if (
            facts.resolve(func) is divmod
        ):
            set_fact(facts, q, operator_fact(facts, ast.FloorDiv(), facts.of(a), facts.of(b)))
            set_fact(facts, r, operator_fact(facts, ast.Mod(), facts.of(a), facts.of(b)))
        case _:
            set_fact(facts, target, facts.of(value))


def join_environments(a: dict[str, Fact], b: dict[str, Fact]) -> dict[str, Fact]:
    """The facts that hold on both of two paths that meet. A name that only one path binds keeps its
    fact: on the other path reading it would raise.
    """
    both = a | b
    for name, fact in a.items():
        if (other := both[name]) is not fact:
            both[name] = join_facts(fact, other)
    return both
