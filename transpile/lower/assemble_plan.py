"""Assemble the plan of a lowered function: its kernel, guards, results and the arrays it writes.

The guards include the overlap checks (no-alias guards) for each pair of array parameters of
which one is written.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from loopir.dtypes import MAX_PARAMS
from loopir.ir_traversal import bottom_up, walk
from loopir.nodes import Append, Check, Const, Disjoint, Expr, Kernel, Load, Param, Stmt, Store
from loopir.op_table import STATUS
from loopir.passes.checks.hoist_checks import assume_checks_hold

from ..call_plan import NO_COPY_LIMIT, Argument, Captured, Field, ListItems, ObjectMember, Plan
from ..frontend.refusal import refuse
from ..result_spec import ComplexResult, ResultSpec, SelectResult
from ..types.value_types import ArgType
from .state.float_exceptions import known_sources
from .state.ir_builder import IRBuilder

__all__ = ["alias_guards", "assemble_plan"]


def alias_guards(
    params: Sequence[Param], fresh: set[str], body: Sequence[Stmt], reshaped: Mapping[str, str]
) -> Iterator[Disjoint]:
    """Which arrays must not overlap: each written one and each other, unless the function made one
    of them.

    One array under two names is fine where, within each loop nest, both are only accessed at the
    same elements; but not where one has been read beforehand, to be given another shape.
    """
    early = {*reshaped, *reshaped.values()}
    arrays = [p.name for p in params if p.rank is not None]
    written = {n.array for s in body for n in walk(s) if isinstance(n, (Store, Append))}
    for k, a in enumerate(arrays):
        for c in arrays[k + 1 :]:
            if {a, c} & fresh or not {a, c} & written:
                continue
            same = not {a, c} & early and _same_elements(a, c, body)
            yield Disjoint(a, c, or_same=same)


def _same_elements(a: str, c: str, body: Sequence[Stmt]) -> bool:
    for nest in body:
        maps = {
            (n.array, n.index)
            for n in walk(nest)
            if isinstance(n, (Load, Store)) and n.array in (a, c)
        }
        if any(isinstance(n, Append) and n.array in (a, c) for n in walk(nest)):
            return False
        indices = {index for _, index in maps}
        if {array for array, _ in maps} == {a, c} and any(
            i != j and not _differ_in_constant_axis(i, j) for i in indices for j in indices
        ):
            return False
    return True


def _differ_in_constant_axis(i: Sequence[Expr], j: Sequence[Expr]) -> bool:
    """Whether an axis tells two subscripts apart, as that of the parts of complex numbers does."""
    axes = zip(i, j, strict=False)
    return any(isinstance(p, Const) and isinstance(q, Const) and p != q for p, q in axes)


def assemble_plan(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], b: IRBuilder, returned: ResultSpec
) -> Plan:
    """What `b` holds of `tree`, whose names have these `types`, as a plan."""
    written = {n.array for s in b.block for n in walk(s) if isinstance(n, (Store, Append))}
    read = {n.array for s in b.block for n in walk(s) if isinstance(n, Load)}
    for view, of in b.buffers.reshaped.items():
        if {view, of} & written:
            said = f"`{of}` is written, and read in another shape"
            refuse("LOWER_UNSUPPORTED", said, tree)
    own = frozenset(b.buffers.fresh - _returned_names(returned) - {b.warnings.raised_array or ""})
    params = tuple(
        replace(p, written=p.name in written, owned=p.owned and p.name in own & written)
        if p.rank is not None else p
        for p in b.params.values()
    )
    taken = {n for n, binding in b.bindings.items() if isinstance(binding, ListItems)}
    slots = {p.name for p in params if p.rank == 0 and p.written and p.name not in types}
    ours = b.buffers.fresh | taken | slots
    given = (Argument, Captured, Field, ObjectMember)
    theirs = {n for n, binding in b.bindings.items() if isinstance(binding, given)}
    writes = tuple(sorted(written & theirs))
    rewrites = bool(written & read & theirs)
    sources, wordless = known_sources(b, rewrites=rewrites)
    guards = (*b.guards, *alias_guards(params, ours, b.block, b.buffers.reshaped))
    checked = any(isinstance(n, Check) and n.code == "replay" for s in b.block for n in walk(s))
    checked = checked or bool(b.strict)
    stops = checked and bool(writes) and not (rewrites or b.buffers.needs_snapshot)
    strict = tuple(c for c in STATUS if c in b.strict)
    body = tuple(b.block)
    if stops and b.hoisted_loops:
        body = tuple(
            bottom_up(s, lambda n: assume_checks_hold(n) if n in b.hoisted_loops else n)
            for s in body
        )
    if len(params) > MAX_PARAMS:
        said = f"{len(params)} arrays and numbers are needed at once, {MAX_PARAMS} are the most"
        refuse("LOWER_UNSUPPORTED", said, tree, help="compute with fewer of them at a time")
    kernel = Kernel(tree.name, params, body, guards, strict, stops)
    plan = Plan(
        kernel=kernel,
        bindings=tuple(b.bindings[p.name] for p in params),
        returned=returned,
        writes=writes,
        rewrites=rewrites,
        temporaries=own,
        sources=sources,
        copied_up_to=NO_COPY_LIMIT if wordless else 0,
        raised_order=b.warnings.raised_array,
    )
    copies = plan.wordless or (checked and not stops)
    return replace(plan, snapshot=bool(writes) and copies)


def _returned_names(returned: ResultSpec) -> set[str]:
    if isinstance(returned, SelectResult):
        return {returned.flag} | _returned_names(returned.then) | _returned_names(returned.orelse)
    if isinstance(returned, ComplexResult):
        return _returned_names(returned.re) | _returned_names(returned.im)
    items = getattr(returned, "items", None)
    if items is not None:
        return {name for item in items for name in _returned_names(item)}
    return {getattr(returned, "name", None) or "", getattr(returned, "flags", None) or ""} - {""}
