"""Facts for outlining: types before each statement, what is refused, operations on arrays.

`outline_regions` asks for them about each statement of one function, for one call signature.
"""
from __future__ import annotations

import ast
import builtins
import copy
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from types import BuiltinFunctionType

import numpy as np

from loopir.nodes import Span

from ...analysis.call_env import CallEnv
from ...analysis.liveness import names_read
from ...analysis.type_inference.flow_facts import enter_loop, record_facts
from ...analysis.type_inference.type_lattice import UNKNOWN, Fact
from ...frontend.ast_names import bound_names
from ...frontend.ast_walk import all_blocks, child_blocks, child_nodes, walk_nodes
from ...frontend.inline.library_functions import library_function_of
from ...frontend.inline.local_imports import ImportPlace, loaded_imports
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import is_declared_callee
from ...frontend.name_resolution import Scope
from ...frontend.source import is_within, span_of
from ...lower.scalars.lower_calls import has_rule
from ...numpy.function_table import function_row
from ...random_numbers import draw_of
from ...types.effects import Effect, effectful_calls, effects
from ...types.value_types import ArgType, ArrayType, Opaque
from .region_work import FEW_OPERATIONS, most_operations

__all__ = ["RegionFacts"]

_NON_SWALLOWING = (np.errstate, warnings.catch_warnings, builtins.open)
"""Context managers that suppress no exception."""

_EXHAUSTING_CALLS = (
    all, any, dict, frozenset, list, max, min, set, sorted, sum, tuple, np.fromiter, math.fsum,
)
"""Functions after which nobody resumes a generator that was passed to them."""

_READING_CALLS = (
    enumerate, len, list, max, min, reversed, set, sorted, sum, tuple, zip,
)
"""Functions that read what is passed to them."""


class RegionFacts:
    """Facts about the statements of `tree`, the refused function, for arguments of these `types`.
    ``blamed``: the place of the code for which it was refused.

    ``_constant_types``: types of parameters that are never rebound; ``_before``: the facts before
    each statement.
    """

    def __init__(
        self, tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope, blamed: Span
    ) -> None:
        tree, scope = _without_imports(tree, scope)
        self._env = CallEnv(types, scope)
        self._cx = Context(tree, self._env, {})
        self._types, self._scope, self._blamed = types, scope, blamed
        changed = bound_names(*tree.body)
        self._constant_types = {name: ty for name, ty in types.items() if name not in changed}
        self._unusable = {n for n, ty in self._constant_types.items() if type(ty) is Opaque}
        self._stays_python: dict[ast.stmt, bool] = {}
        self._before: dict[ast.stmt, Mapping[str, Fact]] = {}
        self._record_facts(tree.body)
        self._blamed_call = self._call_at(blamed)

    def resolve(self, e: ast.expr) -> object:
        """The object that a name or a chain of attributes is bound to; None if unknown."""
        return self._cx.resolve(e)

    def must_stay_python(self, s: ast.stmt) -> bool:
        """Whether the statement `s` cannot be part of a region, so that Python runs it between the
        regions. `outline_regions` asks for each statement. It cannot if it

        - contains the code for which the function was refused (``blamed``), or a call that would be
          refused for the same reason (`_repeats_blamed_call`);
        - does input or output (`types.effects`), as ``print(s)``;
        - draws random numbers in a way that is not supported;
        - reads an argument of a type that compiled code cannot use, such as a str (`_reads_any`).
        """
        if s not in self._stays_python:
            span = span_of(s)
            self._stays_python[s] = (
                (span is not None and is_within(self._blamed, span))
                or any(self._repeats_blamed_call(n, s) for n in walk_nodes(s))
                or Effect.IO in effects(s, self._scope, self._types)
                or self._draws_unknown(s)
                or self._reads_any(self._unusable, s)
            )
        return self._stays_python[s]

    def _call_at(self, blamed: Span) -> tuple[ast.Call, ast.stmt] | None:
        """The call at the place ``blamed``, and the statement of a block that it is in."""
        for s in self._before:
            calls = (n for n in walk_nodes(s) if isinstance(n, ast.Call) and span_of(n) == blamed)
            if not [*all_blocks(s)] and (call := next(calls, None)) is not None:
                return call, s
        return None

    def _repeats_blamed_call(self, n: ast.AST, s: ast.stmt) -> bool:
        """Whether `n`, in the statement `s`, is a call of the function whose call was refused, and
        would be refused, too: no call of that function is compiled, or it has arguments of the same
        types, as in the second line of ::

            a = to_floats(x)         # refused for what is in `to_floats`
            b = to_floats(y)
        """
        if self._blamed_call is None or not isinstance(n, ast.Call):
            return False
        call, statement = self._blamed_call
        function = self._cx.resolve_unguarded(n.func)
        if function is None or function is not self._cx.resolve_unguarded(call.func):
            return False
        if isinstance(function, BuiltinFunctionType) and not _may_be_compiled(function):
            return True
        arguments = self._argument_facts(n, s)
        return arguments is not None and arguments == self._argument_facts(call, statement)

    def _argument_facts(self, call: ast.Call, s: ast.stmt) -> list[tuple[str | None, Fact]] | None:
        """What is known of the arguments of `call`, in `s`; None if nothing is known of one."""
        outer, self._cx.facts.known = self._cx.facts.known, dict(self._before.get(s, {}))
        arguments = [*((None, a) for a in call.args), *((k.arg, k.value) for k in call.keywords)]
        found = [(name, self._cx.fact(e)) for name, e in arguments]
        self._cx.facts.known = outer
        return None if any(fact == UNKNOWN for _, fact in found) else found

    def _reads_any(self, names: Set[str], *nodes: ast.AST) -> bool:
        """Whether `nodes` go through the value of one of `names`, take an item of it, or compute or
        compare with it. Not where that depends on a condition about the same name, as in
        ``if isinstance(text, str):``, since that may be known.
        """
        return bool(names) and any(self._reads_one(names, n) for n in nodes)

    def _reads_one(self, names: Set[str], node: ast.AST) -> bool:
        """As `_reads_any`, of one node."""
        others = child_nodes(node)
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.BoolOp(values=[test, *_]):
                others.remove(test)
                unknown = names - names_read([test])
                return self._reads_any(names, test) or self._reads_any(unknown, *others)
            case ast.For(iter=e) | ast.comprehension(iter=e) | ast.Subscript(value=e):
                read = [e]
            case ast.BinOp(left=left, right=right):
                read = [left, right]
            case ast.Compare(left=left, ops=ops, comparators=compared):
                read = [] if isinstance(ops[0], (ast.Is, ast.IsNot)) else [left, *compared]
            case ast.Call(func=func, args=args) if self._is_any(func, _READING_CALLS):
                read = args
            case _:
                read = []
        is_read = any(isinstance(e, ast.Name) and e.id in names for e in read)
        return is_read or self._reads_any(names, *others)

    def _draws_unknown(self, s: ast.stmt) -> bool:
        """Whether `s` draws random numbers in a way that is not supported."""
        cx = self._cx
        calls = effectful_calls(s, self._scope, self._types)
        drawn = [call.func for effect, call in calls if effect is Effect.RNG]
        return any(draw_of(f, self._env.type, cx.resolve) is None for f in drawn)

    def array_operations(self, s: ast.stmt) -> int:
        """The number of operations on whole arrays in `s`."""
        outer, self._cx.facts.known = self._cx.facts.known, dict(self._before.get(s, {}))
        count = sum(self._is_array_operation(n) for n in walk_nodes(s))
        self._cx.facts.known = outer
        return count

    def is_too_short(self, run: Sequence[ast.stmt]) -> bool:
        """Whether `run` can never do enough to outweigh a call of compiled code."""
        return most_operations(run, self._before, self._cx) <= FEW_OPERATIONS

    def propagates_exceptions(self, s: ast.With) -> bool:
        """Whether an exception in the body always propagates out of the statement."""
        calls = [i.context_expr for i in s.items]
        return all(
            isinstance(c, ast.Call) and self._cx.resolve(c.func) in _NON_SWALLOWING for c in calls
        )

    def exhausts_generator(self, call: ast.Call) -> bool:
        """Whether a generator passed to `call` is exhausted by it, or never resumed."""
        return self._is_any(call.func, _EXHAUSTING_CALLS)

    def _is_any(self, func: ast.expr, functions: Iterable[object]) -> bool:
        """Whether `func` is the name of one of `functions`."""
        function = self._cx.resolve(func)
        return any(function is f for f in functions)

    def types(self, names: Sequence[str], s: ast.stmt) -> dict[str, ArgType] | None:
        """The types of `names` before `s`; None if one is unknown."""
        facts = self._before.get(s, {})
        available = {
            n: facts[n].record or _single_type(facts[n]) for n in names if n in facts
        } | self._constant_types
        result = {n: ty for n in names if (ty := available.get(n)) is not None}
        return result if result.keys() == {*names} else None

    def is_known_array(self, name: str, s: ast.stmt) -> bool:
        """Whether `name` is an array before `s`, as far as is known."""
        fact = self._before.get(s, {}).get(name)
        ty = self._constant_types.get(name)
        return bool(fact is not None and fact.array) or isinstance(ty, ArrayType)

    def _is_array_operation(self, n: ast.AST) -> bool:
        """Whether `n` is an operation on a whole array."""
        match n:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare():
                return bool(self._cx.fact(n).rank)
            case ast.Call(args=args):
                return any(self._cx.fact(e).rank for e in (n, *args))
        return False

    def _record_facts(self, block: Iterable[ast.stmt]) -> None:
        """Record the facts before each statement of `block`; a nested block is visited with the
        facts at its start.
        """
        facts = self._cx.facts
        for s in block:
            before = dict(facts.known)
            self._before[s] = before
            if isinstance(s, (ast.For, ast.While)):
                enter_loop(facts, s)
            for inner in (s, *getattr(s, "handlers", ())):
                for nested in child_blocks(inner):
                    self._record_facts(nested)
            facts.known = before
            record_facts(facts, s)


def _may_be_compiled(function: object) -> bool:
    """Whether calls of a function that is written in C may be compiled, with some arguments."""
    is_known = function_row(function) is not None or library_function_of(function) is not None
    return is_known or has_rule(function) or is_declared_callee(function)


def _without_imports(tree: ast.FunctionDef, scope: Scope) -> tuple[ast.FunctionDef, Scope]:
    """`tree` without the imports of loaded modules, and `scope` with the names that they bind."""
    place = ImportPlace.of_caller(tree, scope)
    found = {s: names for s in tree.body if (names := loaded_imports(s, place)) is not None}
    if not found:
        return tree, scope
    rest = copy.copy(tree)
    rest.body = [s for s in tree.body if s not in found]
    others = {new.name: new.value for names in found.values() for new in names}
    return rest, replace(scope, others={**scope.others, **others})


def _single_type(fact: Fact) -> ArgType | None:
    """The type, if the fact has exactly one."""
    return next(iter(fact.types)) if len(fact.types) == 1 else None
