"""Region outlining: runs of statements that may compile become functions of their own.

The rest stays Python, with calls in the place of the regions:

    print(len(x))                       print(len(x))
    for i in range(len(x)):      →      t = _tp_region_2_0(x)
        t = …                           show(t)
    show(t)

A region takes the local names that it reads, and returns those that are live after it. A run of
statements becomes a region if

- it is legal to move its statements to another function (`_RegionOutliner._may_be_in_region`): they
  contain no code that must stay Python (`region_facts.RegionFacts.must_stay_python`), no node of
  `_NEVER_OUTLINED`, no ``break`` of a loop around them, and bind no name that another scope sees;
  and nothing in the function inspects frames (`_is_observable`);
- it is profitable: work enough for a call (`_is_profitable`), as far as that is known before it
  runs (`region_work.most_operations`);
- the names that it takes are certainly bound (those that it returns need not be:
  `unassigned_results`), and no exception handler could see a name that it binds (`_make_region`);
- the dispatcher has not dropped it, since it is refused or slower than Python
  (`Dispatcher._without_slow_regions`).
"""
from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence
from typing import Protocol, TypeVar

from loopir.lazy_dataclass import record

from ...analysis.definite_assignment import (
    NameSet,
    assigned_after,
    assigned_after_block,
    possibly_bound_before,
)
from ...analysis.liveness import (
    LiveOut,
    live_before,
    live_out_of_loop_body,
    live_out_of_try,
    live_out_of_with_body,
    walk_names_read,
)
from ...frontend.ast_names import COMPREHENSIONS, bound_names, local_names
from ...frontend.ast_walk import all_blocks, child_nodes, copy_tree, walk_nodes
from ...frontend.core_nodes import copy_location, mark_unassigned

__all__ = ["StatementFacts", "OutlinedTree", "Region", "leaves_loop", "outline_regions"]

T = TypeVar("T", bound=ast.stmt)

_REGION_PREFIX = "_tp_region"
_FRAME_INSPECTORS = {
    "locals",
    "vars",
    "dir",
    "eval",
    "exec",
    "super",
    "_getframe",
    "currentframe",
    "stack",
}
"""Functions that observe the frame that calls them."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFERRED_SCOPES = (*_SCOPES, ast.GeneratorExp)
"""Scopes that may read a name after it was rebound."""
_NEVER_OUTLINED = (
    *_SCOPES, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Await, ast.Import, ast.ImportFrom,
    ast.Global, ast.Nonlocal, ast.Delete, ast.With, ast.AsyncWith, ast.AsyncFor,
)
"""Nodes that are never outlined."""
_UNANALYSED = (getattr(ast, "TryStar", None),)
"""Statements whose flow liveness does not follow: ``except*``."""
_LOOPS = (ast.For, ast.While, *COMPREHENSIONS)


class StatementFacts(Protocol):
    """Facts about the statements of a function (`region_facts.RegionFacts`)."""

    def must_stay_python(self, s: ast.stmt) -> bool:
        """Whether `s` contains the code that does not compile, does input or output, or draws
        random numbers in a way that is not supported.
        """

    def array_operations(self, s: ast.stmt) -> int:
        """The number of operations on whole arrays in `s`."""

    def is_too_short(self, run: Sequence[ast.stmt]) -> bool:
        """Whether `run` can never do enough to outweigh a call of compiled code."""

    def propagates_exceptions(self, s: ast.With) -> bool:
        """Whether an exception in the body always propagates out of the statement."""

    def exhausts_generator(self, call: ast.Call) -> bool:
        """Whether a generator passed to `call` is exhausted by it, or never resumed."""


@record(frozen=True, slots=True)
class Region:
    """A run of statements as a function."""

    helper: str  # the name by which it is called
    tree: ast.FunctionDef  # live-in names are parameters, live-out names results
    run: tuple[ast.stmt, ...]  # the statements, in the original function
    is_in_loop: bool  # whether a loop that stays Python calls it again and again


@record(frozen=True, slots=True)
class OutlinedTree:
    """A function whose regions have been outlined."""

    tree: ast.FunctionDef  # calls the regions by the names of their helpers
    regions: tuple[Region, ...]
    loops: tuple[ast.stmt, ...]  # that remain Python, apart from `too_short`
    too_short: tuple[ast.stmt, ...] = ()  # loops left, as they do too little for a compiled call


def outline_regions(
    tree: ast.FunctionDef, facts: StatementFacts, dropped: Container[str] = ()
) -> OutlinedTree | None:
    """`tree`, a refused function, with calls in the place of its regions: runs of statements that
    are legal and profitable to compile on their own. The module's docstring has an example, and the
    conditions in order. None if there is no region, or if the program could see the difference
    (`_is_observable`).

    ``facts``: what is known of each statement (`region_facts.RegionFacts`); ``dropped``: helpers
    of regions that stay Python, as it was measured to be faster. `outline_function` calls this.
    """
    if _is_observable(tree) or any(type(n) in _UNANALYSED for n in walk_nodes(tree)):
        return None
    outliner = _RegionOutliner(tree, facts, dropped)
    parameters = frozenset(a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg))
    body = outliner.block(tree.body, parameters, LiveOut(), ends_function=True)
    if not outliner.regions:
        return None
    calling_tree = copy_tree(tree)
    calling_tree.body = body
    return OutlinedTree(
        calling_tree, tuple(outliner.regions), tuple(outliner.loops), tuple(outliner.too_short)
    )


def _is_observable(tree: ast.FunctionDef) -> bool:
    """Whether the program could see that statements have moved to another function: it inspects
    frames (``locals()``, say, lacks the names that a region keeps), or binds nonlocal names, which
    a region would have to declare. A class-private name, such as ``self.__x``, means another name
    in a function outside of the class.
    """
    for n in walk_nodes(tree):
        match n:
            case ast.Nonlocal():
                return True
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name in _FRAME_INSPECTORS or (name.startswith("__") and not name.endswith("__")):
                    return True
    return False


class _RegionOutliner:
    """The outlining of one function; ``regions``, ``loops`` and ``too_short`` are the result.

    ``_visible_elsewhere``: names that other scopes may see: no region may bind them. ``_local``:
    local names. ``_body``: the statements of the function. ``_loop_depth``: how many Python loops
    are around the current block. ``_dropped``: helpers of regions that stay Python.

    In the methods, `bound` are the names that are certainly bound before the code; `exits` the
    names that are live after it, for each way in which it may end (its end, a ``break``, a
    ``continue``, an exception); ``ends_function``: nothing of the function runs after it.
    """

    def __init__(
        self, tree: ast.FunctionDef, facts: StatementFacts, dropped: Container[str]
    ) -> None:
        self._name, self._body, self._facts, self._dropped = tree.name, tree.body, facts, dropped
        nodes = [*walk_nodes(*tree.body)]
        drained_generators = {
            argument
            for call in nodes if isinstance(call, ast.Call) and facts.exhausts_generator(call)
            for argument in call.args
        }
        inner_scopes = [
            n for n in nodes if isinstance(n, _DEFERRED_SCOPES) and n not in drained_generators
        ]
        declared = (n.names for n in walk_nodes(tree) if isinstance(n, ast.Global))
        self._visible_elsewhere = frozenset(walk_names_read(*inner_scopes)).union(*declared)
        self._local = frozenset(local_names(tree))  # a region reads a global name itself
        self._loop_depth = 0
        self.regions: list[Region] = []
        self.loops: list[ast.stmt] = []
        self.too_short: list[ast.stmt] = []

    def block(
        self, block: Sequence[ast.stmt], bound: NameSet, exits: LiveOut, *,
        ends_function: bool = False,
    ) -> list[ast.stmt]:
        """`block` with regions replaced by calls.

        The statements that may be in a region form runs, which are outlined (`_outline_run`). The
        others end a run; they stay, with regions in their nested blocks. After a statement that
        always leaves the block nothing is outlined.
        """
        live = live_before(block, exits)
        out: list[ast.stmt] = []
        start = 0
        for k, s in enumerate(block):
            if self._may_be_in_region(s):
                continue
            bound_before = assigned_after_block(block[:k], bound)
            if bound_before is None:  # control never gets here
                return [*out, *block[start:]]
            bound_at_run = assigned_after_block(block[:start], bound) or bound
            out += self._outline_run(block[start:k], bound_at_run, live[k], exits)
            is_last = ends_function and k + 1 == len(block)
            exits_of_s = _with_next(live[k + 1], exits)
            out.append(self._with_inner_regions(s, bound_before, exits_of_s, ends_function=is_last))
            start = k + 1
        bound_at_end = assigned_after_block(block[:start], bound)
        run = block[start:]
        if bound_at_end is None or not run:
            return [*out, *run]
        always_leaves = assigned_after_block(run, bound_at_end) is None
        last = ends_function or always_leaves
        return out + self._outline_run(run, bound_at_end, exits.next, exits, last=last)

    def _may_be_in_region(self, s: ast.stmt) -> bool:
        """Whether it is legal to move `s` into a region, that is, into another function:

        - nothing in it must stay Python: the code that was refused, input and output such as
          ``print``, draws that are not supported (`RegionFacts.must_stay_python`);
        - it has no node that means something else in another function, or cannot compile
          (`_NEVER_OUTLINED`: ``yield``, ``del``, ``global``);
        - it binds no name that another scope sees: a region returns values, it shares no variables;
        - it has no ``break`` or ``continue`` of a loop around it.
        """
        return not (
            self._facts.must_stay_python(s)
            or any(isinstance(n, _NEVER_OUTLINED) for n in walk_nodes(s))
            or bound_names(s) & self._visible_elsewhere
            or leaves_loop([s])
        )

    def _with_inner_regions(
        self, s: ast.stmt, bound: NameSet, exits: LiveOut, *, ends_function: bool
    ) -> ast.stmt:
        """`s`, which remains Python, with the regions in its nested blocks replaced by calls. It is
        added to ``loops`` if it is a loop, or has a comprehension outside of its blocks.
        """
        has_comprehension = any(
            isinstance(n, COMPREHENSIONS) for n in walk_nodes(*_non_block_children(s))
        )
        if has_comprehension or isinstance(s, (ast.For, ast.AsyncFor, ast.While)):
            self.loops.append(s)
        copy = copy_tree(s)
        match s, copy:
            case ast.If(), ast.If():
                copy.body = self.block(s.body, bound, exits, ends_function=ends_function)
                copy.orelse = self.block(s.orelse, bound, exits, ends_function=ends_function)
            case ast.For() | ast.While(), ast.For() | ast.While():
                target = bound_names(s.target) if isinstance(s, ast.For) else set()
                self._loop_depth += 1
                copy.body = self.block(s.body, bound | target, live_out_of_loop_body(s, exits))
                self._loop_depth -= 1
                copy.orelse = self.block(s.orelse, bound, exits, ends_function=ends_function)
            case ast.With(), ast.With():
                # Where it may suppress an exception, the code after it runs after any statement.
                propagates = self._facts.propagates_exceptions(s)
                exits_inside = exits if propagates else live_out_of_with_body(exits)
                copy.body = self.block(s.body, bound | bound_names(*s.items), exits_inside)
            case ast.Try(), ast.Try():
                body, rest = live_out_of_try(s, exits)
                copy.body = self.block(s.body, bound, body)
                for handler, old in zip(copy.handlers, s.handlers, strict=True):
                    named = frozenset([old.name] if old.name else ())
                    handler.body = self.block(old.body, bound | named, rest)
        return copy

    # -- regions

    def _outline_run(
        self,
        run: Sequence[ast.stmt],
        bound: NameSet,
        live: NameSet,
        exits: LiveOut,
        *,
        last: bool = False,
    ) -> list[ast.stmt]:
        """`run` as a region, that is, as one statement that calls it, where that is possible and
        profitable; else `run` itself; its loops are added to ``too_short`` if it is not profitable
        (`_is_profitable`), and to ``loops`` if it is not possible (`_make_region`). `live`: the
        names that are live after it.

        A statement that may return stays Python, with a region before it and one after it, unless
        nothing runs after it in the function (``last``): then the region returns the function's
        result.
        """
        k = next((k for k, s in enumerate(run) if _may_return(s)), None)
        if k is not None and not last:
            live_after = live_before(run, _with_next(live, exits))
            bound_before = assigned_after_block(run[:k], bound)
            assert bound_before is not None  # nothing before it leaves
            bound_after = assigned_after(run[k], bound_before)
            return [
                *self._outline_run(run[:k], bound, live_after[k], exits),
                self._with_inner_regions(
                    run[k], bound_before, _with_next(live_after[k + 1], exits), ends_function=False
                ),
                *(
                    self._outline_run(run[k + 1 :], bound_after, live, exits)
                    if bound_after is not None
                    else ()
                ),
            ]
        if self._is_profitable(run):
            live = frozenset() if last else live
            call = self._make_region(run, bound, live, exits.at_handler, last=last)
            if call is not None:
                return [call]
            self.loops += (s for s in run if any(isinstance(n, _LOOPS) for n in walk_nodes(s)))
        return [*run]

    def _is_profitable(self, run: Sequence[ast.stmt]) -> bool:
        """Whether the statements `run` may save more time than a call of compiled code costs (150
        to 200 ns): they have

        - a loop, unless it is known to do too little (`region_work.most_operations`);
        - or two operations on whole arrays, which can be fused. Not inside a Python loop: there the
          call is made again and again, and the arrays may be small.

        If not, their loops are added to ``too_short``, and the report says so. What is not known
        here is measured at run time (`Dispatcher._without_slow_regions`).
        """
        looping = [s for s in run if any(isinstance(n, _LOOPS) for n in walk_nodes(s))]
        if looping and not self._facts.is_too_short(looping):
            return True
        if not self._loop_depth and sum(map(self._facts.array_operations, run)) > 1:
            return True
        self.too_short += (n for s in looping for n in walk_nodes(s) if isinstance(n, ast.For))
        return False

    def _make_region(
        self, run: Sequence[ast.stmt], bound: NameSet, live: NameSet, caught: NameSet, *, last: bool
    ) -> ast.stmt | None:
        """Makes a region, a function of its own, of the consecutive statements `run`, and adds it
        to ``regions``. Returns the statement that calls it, in their place::

            for v in x: s += v         →     s = _tp_region_3_4(s, x)         # line 3, column 4
            print(s)                         print(s)

        Its parameters are the local names that `run` may read before it assigns them, without
        those that surely have no value then: Python raises in the region, too. Its results are the
        names that `run` assigns and that are read after it (``live``); those that it may not have
        bound are marked (`unassigned_results`). ``last``: `run` ends the function, and so the call
        is returned. `_outline_run` calls this. None, so that `run` stays Python, where

        - a parameter may be unbound: to pass it would raise NameError where Python does not.
          ``bound``: the names that certainly have a value before `run`;
        - a handler of exceptions around it reads a name that `run` assigns (``caught``: the names
          that handlers read): if `run` raises, the region has not returned the new value;
        - an earlier outlining had this region, and it was dropped (`OutlinedFunction.dropped`).
        """
        assigned, bound_after = bound_names(*run), assigned_after_block(run, bound)
        live_out = frozenset(assigned & live)
        unassigned = live_out - (live_out if bound_after is None else bound_after)
        live_in = live_before(run, LiveOut(live_out - unassigned))[0] & self._local
        if not live_in <= bound:
            possibly_bound = possibly_bound_before(run[0], self._body)
            assert possibly_bound is not None
            live_in -= assigned - bound - possibly_bound
        if assigned & caught or not live_in <= bound:
            return None
        helper = f"{_REGION_PREFIX}_{run[0].lineno}_{run[0].col_offset}"
        if helper in self._dropped:
            return None
        return_statements: list[ast.stmt] = []
        if live_out:
            results = ast.Return(_name_or_tuple(sorted(live_out), ast.Load()))
            return_statements.append(_positioned_at(results, run[-1:]))
            _move_to_bindings(results, run, unassigned)
            mark_unassigned(results, unassigned)
        tree = ast.parse(f"def {self._name}({', '.join(sorted(live_in))}): pass").body[0]
        assert isinstance(tree, ast.FunctionDef)
        tree.body = [*map(copy_tree, run), *return_statements]
        is_in_loop = self._loop_depth > 0
        self.regions.append(Region(helper, _positioned_at(tree, run), (*run,), is_in_loop))
        call = ast.Call(ast.Name(helper, ast.Load()), [_load_name(n) for n in sorted(live_in)], [])
        if last:
            return _positioned_at(ast.Return(call), run)
        if live_out:
            target = _name_or_tuple(sorted(live_out), ast.Store())
            assign = _positioned_at(ast.Assign([target], call), run)
            mark_unassigned(assign, unassigned)
            return assign
        return _positioned_at(ast.Expr(call), run)


def _with_next(live: NameSet, exits: LiveOut) -> LiveOut:
    """`exits` with the live names `live` after the statement."""
    return LiveOut(live, exits.at_break, exits.at_continue, exits.at_handler)


def _load_name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _name_or_tuple(names: Sequence[str], ctx: ast.expr_context) -> ast.expr:
    """The name, or a tuple of several names."""
    if len(names) == 1:
        return ast.Name(names[0], ctx)
    return ast.Tuple([ast.Name(n, ctx) for n in names], ctx)


def _positioned_at(node: T, run: Sequence[ast.stmt]) -> T:
    """`node` with new nodes in it positioned at `run`, whose last statement may have been moved
    there from a line above (`sink_lists`).
    """
    old = {id(n) for s in getattr(node, "body", ()) for n in walk_nodes(s) if hasattr(n, "lineno")}
    for n in walk_nodes(node):
        if isinstance(n, (ast.stmt, ast.expr, ast.arg)) and (id(n) not in old):
            copy_location(n, run[0])
    ends = ((s.end_lineno or s.lineno, s.end_col_offset or 0) for s in run)
    node.end_lineno, node.end_col_offset = max(ends)
    return node


def _move_to_bindings(results: ast.Return, run: Sequence[ast.stmt], names: NameSet) -> None:
    """Positions those of the names that `results` returns that are in `names` where `run` binds
    them last: that is the place that a report shows if one has no value.
    """
    occurrences = (n for n in walk_nodes(*run) if isinstance(n, ast.Name))
    bindings = {n.id: n for n in occurrences if isinstance(n.ctx, ast.Store)}
    for n in walk_nodes(results):
        if isinstance(n, ast.Name) and n.id in names and n.id in bindings:
            copy_location(n, bindings[n.id])


def _may_return(s: ast.stmt) -> bool:
    """Whether `s` has a ``return``."""
    return any(isinstance(n, ast.Return) for n in walk_nodes(s))


def leaves_loop(block: Sequence[ast.stmt]) -> bool:
    """Whether `block` has a ``break`` or ``continue`` of an enclosing loop."""
    for s in block:
        match s:
            case ast.Break() | ast.Continue():
                return True
            case ast.For(orelse=inside) | ast.While(orelse=inside):
                pass
            case _:
                inside = [n for block in all_blocks(s) for n in block]
        if leaves_loop(inside):
            return True
    return False


def _non_block_children(s: ast.stmt) -> Iterator[ast.AST]:
    """The children of `s` that are not statements of its blocks."""
    for child in child_nodes(s):
        if not isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield child
