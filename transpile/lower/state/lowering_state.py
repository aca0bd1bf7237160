"""The state of lowering one function: what is known of it, the builder, and the rules by node type.

Lowering is functions over this record. Recursion over the syntax goes through `Lowering.rules`, a
table of functions that `lower_function` fills once, so that modules import in one direction.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from .symbol_values import ArrayRef, LoopCarried, Scalar, Unbound

__all__ = ["ArrayState", "CallRule", "Lowering", "MemberParams", "Rules"]

CallRule: TypeAlias = "Callable[[Lowering, list[Num], ast.Call], Scalar]"
"""Lowers a call of one callee, given its operands as real numbers."""


@record(frozen=True, slots=True)
class Rules:
    """The functions that lower each kind of node.

    ``statements`` and ``expressions`` are found by the node's type, ``calls`` by the callee, an
    object of Python. ``arrays`` gives, by the node's type, the array that an expression stands for,
    or None. ``block`` lowers consecutive statements, given the names that are live after them.
    """

    statements: Mapping[type[ast.stmt], Callable[[Lowering, Any, frozenset[str]], None]]
    expressions: Mapping[type[ast.expr], Callable[[Lowering, Any], Any]]
    calls: Mapping[object, CallRule]
    arrays: Mapping[type[ast.expr], Callable[[Lowering, Any], ArrayRef | None]]
    block: Callable[[Lowering, Sequence[ast.stmt], frozenset[str]], None]


@record
class MemberParams:
    """Parameters of the kernel that are members of arguments.

    ``fields``: fields of record arrays, by the array and the path of field names. ``objects``:
    members of objects, by the local name. ``reads``: what each such name reads.
    """

    fields: dict[tuple[str, tuple[str, ...]], Field] = field(default_factory=dict)
    objects: dict[str, ObjectMember] = field(default_factory=dict)
    reads: dict[str, HostExpr] = field(default_factory=dict)


@record
class ArrayState:
    """Arrays made by the function.

    ``appending``: arrays that a stream compaction fills, each with the name of its counter. Of
    arrays that are cut to their length, ``viewed`` are those of which a view is returned, and
    ``returned_whole`` those that are returned themselves.
    """

    appending: dict[str, str] = field(default_factory=dict)
    viewed: set[str] = field(default_factory=set)
    returned_whole: set[str] = field(default_factory=set)


@record
class Lowering:
    """Everything that is known while one function is lowered.

    ``rules``: how each kind of node is lowered. ``b``: the builder, which holds the statements and
    what names stand for. ``tree``: the function in core Python. ``types``: the types of its
    arguments, and of members of them that were given a name; ``arguments``: those that are not
    members of records. ``given``: the names of the signature. ``scope`` finds names bound outside;
    ``refs``: the objects so found, which must be the same at each call. ``complex_names``: names
    that were split into two, and whether they hold Python's complex numbers. ``settled_loops``: by
    loop, and whether only values of one type were allowed, the initial values with which it was
    lowered before, and the types that its carried names settled on.
    """

    rules: Rules
    b: IRBuilder
    tree: ast.FunctionDef
    types: dict[str, ArgType]
    scope: Scope
    arguments: dict[str, object]
    given: tuple[str, ...]
    lists: ListState
    fixed: FixedLists
    dynamic: DynamicLists
    complex_names: Mapping[str, bool]
    members: MemberParams = field(default_factory=MemberParams)
    arrays: ArrayState = field(default_factory=ArrayState)
    refs: dict[HostExpr, object] = field(default_factory=dict)
    settled_loops: dict[
        tuple[ast.AST, bool], tuple[dict[str, Num | Unbound], dict[str, LoopCarried]]
    ] = field(default_factory=dict)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """What is built inside is dropped again, unless ``holds`` of the trial is set.

        Restored are the builder and the buffers of lists under construction.
        """
        builders = self.lists.snapshot()
        with self.b.trial() as trial:
            try:
                yield trial
            finally:
                if not trial.holds:
                    self.lists.restore(builders)

