"""Type facts of a function: the state of type inference, and facts by probing NumPy.

`Facts` has the facts about local names, and caches those about expressions. `probe_fact` finds the
fact about an operation by running it on small samples of its operand types (`type_probe`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from loopir.lazy_dataclass import replace

from ...frontend.ast_names import bound_names, mentions_none_of, names_bound_once
from ...frontend.ast_walk import walk_nodes
from ...frontend.core_nodes import copy_location
from ...host_nodes import HostExpr
from ...types.flat_containers import ArrayList, HashTable, LinkedRows
from ...types.result_types import DisplaySample, ExactSample, Sample
from ...types.type_env import Env
from ...types.value_types import (
    ELEMENTS,
    ArgType,
    ArrayType,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
)
from ..access_paths import access_path
from ..alias_analysis import Owner
from ..escape_analysis import EscapeAnalysis
from .type_lattice import INT_TYPES, UNIT_LENGTH, UNKNOWN, Environment, Fact, fact_of_types
from .type_probe import Types, probe_types

__all__ = ["Facts", "is_new_axis", "probe_fact", "samples_of"]


def _owner_of_path(e: ast.expr) -> Owner | None:
    """The array from outside that the access path `e` reads; None where `e` is no path."""
    path = access_path(e)
    return None if path is None else Owner(*path)


_AfterLoop: TypeAlias = tuple[Environment, Environment]
"""The facts at the end of the body of a loop, and at its breaks."""


class _Environment(dict[str, Fact]):
    """`Facts.known`: an environment that notes that it has changed, in ``changed``."""

    changed = True


def _noting(method: Callable[..., Any]) -> Callable[..., Any]:
    """`method` of ``dict``, for an `_Environment`."""
    def noted(self: _Environment, *args: Any, **named: Any) -> Any:
        self.changed = True
        return method(self, *args, **named)

    return noted


for _name in (
    "__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update",
):
    setattr(_Environment, _name, _noting(getattr(dict, _name)))


class Facts:
    """The state of type inference: what is known of the names of a function before the statement
    that is expanded or recorded next. Macros know it as ``cx.facts``; `flow_facts.new_facts` makes
    it, and the functions of `flow_facts` update it statement by statement.

    ``known`` has the fact about each local name. ``resolve``: the object that a free name or dotted
    name refers to, None if unknown. ``fresh``: makes a new name from a hint. ``infer``: the rules
    for expressions (`expression_facts.infer_fact`). ``unscalarizable``: local names that are not
    scalarized where they are bound to a tuple (`tuple_types.unscalarizable_names`).
    ``tuple_lists``: the lists of tuples, with the number of items of each tuple.
    ``written_by_closures``: names of `tree` that functions defined in it bind by ``nonlocal``.
    """

    def __init__(
        self,
        tree: ast.FunctionDef,
        env: Env,
        resolve: Callable[[ast.expr], object | None],
        fresh: Callable[[str], str],
        written_by_closures: Collection[str],
        infer: Callable[[Facts, ast.expr], Fact],
        unscalarizable: set[str],
        tuple_lists: dict[str, int],
    ) -> None:
        self._env = env
        self._infer = infer
        self.resolve = resolve
        self.fresh = fresh
        # (tuple name, number of items) -> the names of the items, for scalarized tuples
        self.tuple_names: dict[tuple[str, int], tuple[str, ...]] = {}
        # names that the function binds, without its parameters
        self.local_names = bound_names(*tree.body)
        self.unscalarizable = unscalarizable
        self.tuple_lists = tuple_lists
        # local names that are scalarized where they are bound to a tuple of known items
        self.scalarizable = self.local_names - unscalarizable
        # lists of numbers that the function makes, and the types of their items
        self.number_lists: dict[str, Types] = {}
        self.number_tables: dict[str, Types] = {}  # the same of lists of rows of one length
        # lists of arrays that the function makes
        self.array_lists: dict[str, ArrayList] = {}
        # lists of lists that are flat lists: the names of the list of items and of that of the ends
        self.ragged_lists: dict[str, tuple[str, str]] = {}
        # those of them whose creation was already rewritten to flat lists
        self.rewritten_ragged_lists: set[str] = set()
        # lists of growing rows: one list of all items, linked by row
        self.linked_rows: dict[str, LinkedRows] = {}
        # hash tables: dicts and sets whose keys are data
        self.tables: dict[str, HashTable] = {}
        # of `tuple_lists`, the dtype of an array made of the list
        self.tuple_types: dict[str, str] = {}
        # made by `flow_facts.analyse_function`, before any macro changes the tree
        self.escapes: EscapeAnalysis | None = None
        # names that are lengths of array arguments, each with the length: ``x.shape[0]``
        self.lengths: dict[HostExpr, HostExpr] = {}
        # slices that are known to select one element
        self.unit_slices: set[ast.expr] = set()
        # parameters, with the axes that have length 1 in this signature
        self.assumed_unit_length_axes: dict[str, tuple[int, ...]] = {}
        self.known = {}
        # names that the compiler made for displays of constants
        self.constant_tuples: dict[str, Fact] = {}
        # cache of `of`, by id; the node keeps the id from being used again
        self._cached_facts: dict[int, tuple[ast.expr, Fact]] = {}
        # the facts about names, and the other premises, under which it is valid
        self._cached_known: dict[str, Fact] = {}
        self._cached_under: tuple[object, ...] = ()
        self._inferring = False  # whether a call of `of` is running
        for a in walk_nodes(tree.args):  # in their order
            if isinstance(a, ast.arg):
                parameter = copy_location(ast.Name(a.arg, ast.Load()), a)
                self.known[a.arg] = self.fact_of_outer_name(parameter)
        parameters = [n for n in self.known if n not in self.local_names]
        types = {n: env.type(ast.Name(n, ast.Load())) for n in parameters}
        # parameters that are objects and never rebound
        self.objects = {n for n, ty in types.items() if isinstance(ty, ObjectType)}
        # names that may be rebound, or bound in a loop: their values differ from point to point
        self.rebound = (
            self.local_names - names_bound_once(tree) - self._never_rebound([*walk_nodes(tree)])
        )
        # after a call of a local function, nothing is known of these names
        self.written_by_closures = written_by_closures
        # caches, by the id of a loop; the first with the facts before it
        self.loop_results: dict[tuple[int, frozenset[tuple[str, Fact]]], _AfterLoop] = {}
        self.unrolled: dict[int, list[ast.stmt] | None] = {}  # None: it stays a loop
        # for each enclosing loop, the innermost last: the facts at its breaks and continues, by
        # the name of the node class
        self.loop_exits: list[dict[str, Environment]] = []
        # for each enclosing try, the innermost last: the facts with which a handler may start
        self.raising: list[Environment] = []

    def type_of(self, e: ast.expr) -> ArgType | None:
        """The type of an argument, a part of one, or a free name; None for others."""
        return None if isinstance(e, ast.Name) and e.id in self.local_names else self._env.type(e)

    def is_object_member(self, e: ast.expr) -> bool:
        """Whether `e` reads a member of an object that is an argument, by attributes or keys."""
        place = access_path(e)
        of_object = place is not None and place[0] in self.objects
        return of_object and self._env.type(e) is not None

    def _never_rebound(self, nodes: Sequence[ast.AST]) -> set[str]:
        """The parameters, arrays or lists, that `nodes` assign at most by ``+=``, in place."""
        in_place = {s.target for s in nodes if isinstance(s, ast.AugAssign)}
        names = (n for n in nodes if isinstance(n, ast.Name) and n not in in_place)
        rebound = {n.id for n in names if not isinstance(n.ctx, ast.Load)}
        return {name for name, fact in self.known.items() if fact.rank} - rebound

    def fact_of_outer_name(self, e: ast.expr) -> Fact:
        """The fact about `e`, a parameter, a member of one or a global, from its type alone."""
        ty = self._env.type(e)
        if isinstance(ty, RecordType):
            return Fact(ty.rank, owner=_owner_of_path(e), record=ty)
        if isinstance(ty, ListType):
            return Fact(1, list_type=ty)
        if ty is None or isinstance(ty, (ObjectType, Opaque)):
            return UNKNOWN
        if isinstance(ty, ArrayType):
            return self._outer_array_fact(e, ty) if ty.rank else UNKNOWN
        return fact_of_types(frozenset({ty}))

    def _outer_array_fact(self, e: ast.expr, ty: ArrayType) -> Fact:
        """The fact about `e`, an array of type `ty` from outside. Axes of length 1 of a named array
        are noted in ``assumed_unit_length_axes``: `expand._unit_length_guards` guards them.
        """
        unit = ty.unit_length_axes
        kinds, shape = frozenset({replace(ty, unit_length_axes=())}), None
        if isinstance(e, ast.Name) and unit:
            self.assumed_unit_length_axes[e.id] = unit
            shape = tuple(UNIT_LENGTH if axis in unit else None for axis in range(ty.rank))
        return Fact(ty.rank, kinds, shape, owner=_owner_of_path(e))

    def of(self, e: ast.expr) -> Fact:
        """The fact about the value of `e` at the current statement: type, rank, lengths, owner.
        Macros ask by `Context.fact`; `infer_fact` has the rule for each kind of expression.

            x * 2    # x: f64 array of rank 2   →   Fact(rank=2, kinds={f64 array}, shape=that of x)

        Macros ask for the same facts repeatedly: those of `e` and its parts are cached, until
        something that they depend on has changed (`_premises`), such as facts about local names.
        """
        if isinstance(e, ast.Name) and (known := self._known.get(e.id)) is not None:
            return known
        if self._inferring:
            return self._cached_fact(e)
        self._drop_outdated_facts()
        self._inferring = True
        try:
            return self._cached_fact(e)
        finally:
            self._inferring = False

    @property
    def known(self) -> dict[str, Fact]:
        """The fact about each local name."""
        return self._known

    @known.setter
    def known(self, environment: dict[str, Fact]) -> None:
        ours = environment if isinstance(environment, _Environment) else _Environment(environment)
        self._known, ours.changed = ours, True

    def _drop_outdated_facts(self) -> None:
        """Empties the cache of `of` if something has changed that its facts depend on."""
        known, premises = self._known, self._premises()
        if not known.changed and self._cached_under == premises:
            return
        if self._cached_known != known or self._cached_under != premises:
            self._cached_facts, self._cached_known = {}, dict(known)
            self._cached_under = premises
        known.changed = False

    def _premises(self) -> tuple[object, ...]:
        """All that facts depend on besides the expression and ``known``. Of a set that only grows,
        the size tells whether it has changed.
        """
        return (
            (*self.number_lists.items(), *self.number_tables.items()),
            len(self.local_names), len(self.rebound), len(self.scalarizable),
            len(self.unit_slices), len(self.constant_tuples), len(self.lengths),
        )

    def _cached_fact(self, e: ast.expr) -> Fact:
        """The fact about `e`, from the cache."""
        entry = self._cached_facts.get(id(e))
        if entry is None:
            entry = self._cached_facts[id(e)] = e, self._infer(self, e)
        return entry[1]

    def outer_fact(self, e: ast.expr) -> Fact:
        """The fact about `e` from the environment; UNKNOWN if it has local names."""
        if not mentions_none_of(e, self.local_names, self._known):
            return UNKNOWN
        return self.fact_of_outer_name(e)

    def is_sole_reference(self, name: str) -> bool:
        """Whether `name` is the only reference to its array or any part of it, where it is bound
        again (`EscapeAnalysis.is_sole_reference`).
        """
        rank = self.known.get(name, UNKNOWN).rank
        if not rank or self.escapes is None:
            return False
        return self.escapes.is_sole_reference(name, rank)

    def is_invariant(self, e: ast.expr) -> bool:
        """Whether `e`, made of lengths and ints, has the same value at every point of the function.
        """
        return mentions_none_of(e, self.rebound)

    def forget(self, names: Iterable[str]) -> None:
        """Makes `names` local names of which nothing is known."""
        self.known.update(dict.fromkeys(names, UNKNOWN))

    @contextmanager
    def tentatively(self) -> Iterator[None]:
        """A context in which facts about local names may be changed, and facts are inferred anew;
        on leaving it they are as before.
        """
        before = dict(self.known)
        cache = self._cached_facts, self._cached_known, self._cached_under, self._inferring
        self._inferring = False
        try:
            yield
        finally:
            self.known = before
            self._cached_facts, self._cached_known, self._cached_under, self._inferring = cache


def samples_of(facts: Facts, e: ast.expr, index: bool = False) -> list[Sample]:
    """Samples of `e`, one for each type that it may have; none if its type is unknown. An
    `index` that is an int gets the sample 0, which every axis has.
    """
    if index and facts.of(e).is_int:
        return [ExactSample(0, int)]
    if is_new_axis(facts, e):
        return [ExactSample(None, type(None))]
    match e:
        case ast.Attribute(attr="dtype", value=array) if (of := facts.of(array).array):
            return [ExactSample(ELEMENTS[of.dtype].numpy, np.dtype)]
        case ast.Constant(value=value) if not isinstance(value, (bytes, complex)):
            return [ExactSample(value, type(value))]
        case ast.Slice(step=step):
            steps = samples_of(facts, step) if step else [ExactSample(None, type(None))]
            return [
                DisplaySample(slice, (*[ExactSample(None, type(None))] * 2, s)) for s in steps
            ]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return [ExactSample(-value, type(value))]
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            make = tuple if isinstance(e, ast.Tuple) else list
            return _display_samples(facts, make, elts, index)
        case ast.Name() | ast.Attribute() if (dtype := _type_object(facts, e)) is not None:
            return [ExactSample(dtype, type(dtype))]
        case ast.Attribute(attr="shape", value=array) if rank := facts.of(array).rank:
            return [DisplaySample(tuple, tuple(INT_TYPES) * rank)]
    return list(facts.of(e).kinds)


def is_new_axis(facts: Facts, e: ast.expr) -> bool:
    """Whether `e` is ``np.newaxis``, which is None."""
    return isinstance(e, ast.Attribute) and e.attr == "newaxis" and facts.resolve(e.value) is np


def _type_object(facts: Facts, e: ast.expr) -> object | None:
    """The class or dtype that `e` names, such as ``np.float32``; None for others."""
    value = facts.resolve(e)
    return value if isinstance(value, (type, np.dtype)) else None


def _display_samples(
    facts: Facts, make: Callable[..., object], elts: Sequence[ast.expr], index: bool
) -> list[Sample]:
    """Samples of a display: all combinations of samples of its items."""
    parts: list[tuple[Sample, ...]] = [()]
    for x in elts:
        parts = [(*p, s) for p in parts for s in samples_of(facts, x, index)]
    return [DisplaySample(make, p) for p in parts]


def probe_fact(
    function: Callable[..., Any], operands: Iterable[Iterable[Sample]], *names: str
) -> Fact | None:
    """The fact about ``function(*operands)``, found by calling it on samples; None where that is
    not possible. The last operands are keyword arguments called `names`.
    """
    types = probe_types(function, operands, *names)
    return fact_of_types(types) if types else None
