"""The state of lowering one function: what is known of it, the builder, and the rules by node type.

Lowering is functions over the record `Lowering`, the parameter ``ctx`` of nearly all of them.
`IRBuilder`, its field ``b``, has what depends on the current place in the program. Recursion over
the syntax goes through `Lowering.rules`, tables of functions that `lower_function` fills once, so
that modules import in one direction.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeAlias

from loopir.lazy_dataclass import record

from ...call_plan import Field, ObjectMember
from ...frontend.name_resolution import Scope
from ...host_nodes import HostExpr
from ...types.typed_values import Num
from ...types.value_types import ArgType
from .ir_builder import IRBuilder, Trial
from .list_state import DynamicLists, FixedLists, ListState
from .lowering_budget import LoweringBudget
from .symbol_values import ArrayRef, LoopCarried, Scalar

__all__ = ["ArrayState", "CallRule", "Lowering", "MemberParams", "Rules"]

CallRule: TypeAlias = "Callable[[Lowering, list[Num], ast.Call], Scalar]"
"""Lowers a call of one callee, given its operands as real numbers."""


@record(frozen=True, slots=True)
class Rules:
    """The functions that lower each kind of node.

    ``statements``: by the type of a statement; they take the names that are live after it.
    ``expressions``: by the type of an expression, to a `Value`. ``calls``: by the callee, a Python
    object. ``arrays``: by the type of an expression, to an array; None for one that is no array.
    ``block``: lowers consecutive statements, given the names that are live after them.
    """

    statements: Mapping[type[ast.stmt], Callable[[Lowering, Any, frozenset[str]], None]]
    expressions: Mapping[type[ast.expr], Callable[[Lowering, Any], Any]]
    calls: Mapping[object, CallRule]
    arrays: Mapping[type[ast.expr], Callable[[Lowering, Any], ArrayRef | None]]
    block: Callable[[Lowering, Sequence[ast.stmt], frozenset[str]], None]


@record
class MemberParams:
    """Parameters of the kernel that are members of arguments: fields of record arrays, attributes
    and items of objects. A macro has bound each to a local name.

    ``fields``: fields of record arrays, by the array and the path of field names. ``objects``:
    members of objects, by the local name. ``reads``: the host expression of the member to which
    each local name is bound, such as ``self.a[0]``.
    ``layouts``: the host expressions of the arrays whose strides or flags are parameters, as keys:
    they are guarded to be of class ndarray.
    """

    fields: dict[tuple[str, tuple[str, ...]], Field] = field(default_factory=dict)
    objects: dict[str, ObjectMember] = field(default_factory=dict)
    reads: dict[str, HostExpr] = field(default_factory=dict)
    layouts: dict[HostExpr, None] = field(default_factory=dict)


@record
class ArrayState:
    """Arrays made by the function.

    ``appending``: arrays that a stream compaction fills, each with the name of its counter.
    ``viewed``: truncated arrays of which a view is returned; ``returned_whole``: truncated arrays
    that are returned themselves. No array may be in both: truncation would free the view's memory.
    """

    appending: dict[str, str] = field(default_factory=dict)
    viewed: set[str] = field(default_factory=set)
    returned_whole: set[str] = field(default_factory=set)


@record
class Lowering:
    """Everything that is known while one function is lowered.

    ``rules``: the functions that lower each kind of node.
    ``b``: the builder: statements, parameters, and the values of names at the current place.
    ``tree``: the function in core Python.
    ``types``: the types of the arguments, and of members of them that have a local name.
    ``scope``: resolves names that are bound outside of the function.
    ``arguments``: as ``types``, but without the fields of records that have a local name.
    ``param_names``: the names of the function's parameters.
    ``lists``, ``fixed``, ``dynamic``: the state of the three kinds of lists.
    ``complex_names``: names that were split into two, each with whether it holds Python's complex
    numbers.
    ``budget``: how many statements may still be lowered.
    ``members``, ``arrays``: parameters that are members of arguments; arrays made here.
    ``guarded_objects``: the objects that names, and attributes of them, must still mean at each
    call.
    ``fixes_globals``: whether ints that are globals may become constants.
    ``settled_loops``: by loop and types before it, the types that its carried names settled on
    (`settled_types.py`).
    """

    rules: Rules
    b: IRBuilder
    tree: ast.FunctionDef
    types: dict[str, ArgType]
    scope: Scope
    arguments: dict[str, object]
    param_names: tuple[str, ...]
    lists: ListState
    fixed: FixedLists
    dynamic: DynamicLists
    complex_names: Mapping[str, bool]
    budget: LoweringBudget
    members: MemberParams = field(default_factory=MemberParams)
    arrays: ArrayState = field(default_factory=ArrayState)
    guarded_objects: dict[HostExpr, object] = field(default_factory=dict)
    fixes_globals: bool = True
    settled_loops: dict[Hashable, Mapping[str, LoopCarried]] = field(default_factory=dict)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """Undoes what its body lowers, unless the body sets ``keep`` of the trial.

            with ctx.trial() as trial:
                iteration = _lower_iteration_once(...)    # may emit, bind names, add parameters
                trial.keep = types_are_settled            # False: as if nothing had been lowered

        Put back are the builder (`IRBuilder.trial`) and the lists under construction (`lists`),
        also if the body raises. Not undone: the memo ``settled_loops``; the ``budget``, so that
        trials count; and the guards on names that were resolved (``guarded_objects``), since a
        guard too many costs a comparison a call. `IRBuilder.attempt` undoes a refused body only.
        """
        builders = self.lists.snapshot()
        with self.b.trial() as trial:
            try:
                yield trial
            finally:
                if not trial.keep:
                    self.lists.restore(builders)
