"""Lower a whole function: parameters, body, result and guards.

Lowering restarts with what it has found out (complex names, mixed lists, capacities to be
tried) until nothing new turns up. Folds whose order a loop does not keep are refused here.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from loopir.lazy_dataclass import record
from loopir.nodes import Const, If, Stmt

from ..analysis.liveness import names_read
from ..call_plan import ClassGuard, ComplexPart, IdentityGuard, ListItems, Plan
from ..diagnostics import Refused
from ..frontend.ast_walk import walk_nodes, walk_statements
from ..frontend.core_nodes import copy_location, is_fold
from ..frontend.name_resolution import Origin, Scope
from ..frontend.refusal import NoValue, UnknownListLength, refuse
from ..frontend.source import span_of
from ..result_spec import NoneResult, ResultSpec, SelectResult
from ..types.typed_values import FALSE, Num, bool_op
from ..types.value_types import (
    ArgType,
    ArrayType,
    Constant,
    ListType,
    ObjectType,
    ScalarType,
)
from .arrays.alias_states import deciding_condition, first_ambiguous_array
from .arrays.array_expressions import ARRAYS
from .arrays.subscript_bounds import subscript_only_params
from .assemble_plan import assemble_plan
from .complex.complex_split import NeedsComplexSplit, split_complex_names
from .lists.append_only_lists import NeedsAppendCounter, one_append_lists
from .lists.coalesce_list_names import final_list_name, rename_list
from .lists.dynamic_lists import NeedsTriedCapacity, NewBufferType, start_dynamic_lists
from .lists.expand_dynamic_lists import expand_dynamic_lists, find_dynamic_lists
from .lists.item_stores import NeedsItemFlags
from .lists.list_builders import start_counter
from .lists.list_results import result_slot
from .lists.list_uses import uncopied_slices
from .lower_names import (
    guard_int_params,
    lower_attribute,
    lower_bare_name,
    lower_name_expression,
    lower_subscript_expression,
)
from .lower_returns import attributes_result, lower_returned, trailing_attribute_stores
from .lower_statements import STATEMENTS, lower_statements
from .scalars.lower_calls import CALLS, lower_call
from .scalars.lower_expressions import (
    lower_binary,
    lower_boolean,
    lower_comparison,
    lower_conditional,
    lower_constant,
    lower_test,
    lower_unary,
)
from .scalars.tagged_unions import narrowed_unions
from .state.dispatch import lower_block
from .state.guards_and_checks import require
from .state.ir_builder import IRBuilder
from .state.list_state import BufferType, DynamicLists, FixedLists, ListState
from .state.lowering_state import Lowering, Rules
from .state.outer_names import fresh_array_name
from .state.path_conditions import under
from .state.symbol_values import UnionValue

__all__ = ["EXPRESSIONS", "RULES", "Discoveries", "lower", "refuse_ordered_folds"]

EXPRESSIONS: dict[type[ast.expr], Callable[[Lowering, Any], Any]] = {
    ast.Constant: lower_constant,
    ast.BinOp: lower_binary,
    ast.UnaryOp: lower_unary,
    ast.Compare: lower_comparison,
    ast.BoolOp: lower_boolean,
    ast.IfExp: lower_conditional,
    ast.Name: lower_name_expression,
    ast.Subscript: lower_subscript_expression,
    ast.Attribute: lower_attribute,
    ast.Call: lower_call,
}
"""By the type of an expression, what lowers it to a `Value`."""

RULES = Rules(
    statements=STATEMENTS,
    expressions=EXPRESSIONS,
    calls=CALLS,
    arrays=ARRAYS,
    block=lower_statements,
)
"""What lowers each kind of node."""


def refuse_ordered_folds(tree: ast.FunctionDef) -> None:
    """Raises Refused for the first loop in `tree` (core Python) that stands for such a fold."""
    for n in walk_statements(tree):
        if isinstance(n, ast.For) and is_fold(n):
            refuse("LOWER_LIBRARY", "its order is not a loop's, and reassociate=False keeps it", n)


def lower(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope, *, recording: bool = False
) -> Plan:
    """The plan of `tree` (core Python) for one call signature.

    ``recording``: the kernel records which of its operations have raised. Raises Refused where the
    function cannot be compiled faithfully.
    """
    return _lower_until_stable(tree, types, scope, Discoveries(), recording)


@record(frozen=True, slots=True)
class Discoveries:
    """What turned out: ``names`` that are complex, and are split in two; lists that are ``mixed``,
    or ``counted``, that hold what ``holds`` says, and that get ``unforeseen`` long; whether the
    room of arrays is ``tried``.
    """

    names: Mapping[str, bool] = field(default_factory=dict)
    mixed: Mapping[str, str | None] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()
    holds: Mapping[str, BufferType] = field(default_factory=dict)
    unforeseen: frozenset[str] = frozenset()
    tried: bool = False


def _lower_until_stable(
    tree: ast.FunctionDef,
    types: Mapping[str, ArgType],
    scope: Scope,
    known: Discoveries,
    recording: bool,
) -> Plan:
    """Where more turns out, all is done again."""
    divided = split_complex_names(tree, known.names)
    try:
        return _lower_to_plan(_start_lowering(divided, types, scope, known), recording=recording)
    except NewBufferType as found:
        known = replace(known, holds={**known.holds, found.name: found.held})
    except NeedsTriedCapacity:
        known = replace(known, tried=True)
    except NeedsComplexSplit as found:
        known = replace(known, names={**known.names, found.name: found.python})
    except NeedsItemFlags as found:
        known = replace(known, mixed={**known.mixed, found.name: found.dtype})
    except NeedsAppendCounter as found:
        known = replace(known, counted=known.counted | {found.name})
    except UnknownListLength as found:
        name = final_list_name(tree, found.name)
        more = known.unforeseen | {name}
        tree = tree if name == found.name else rename_list(tree, found.name, name)
        if more == known.unforeseen or name not in find_dynamic_lists(
            split_complex_names(tree, known.names), more
        ):
            raise
        known = replace(known, unforeseen=more)
    except Refused as refused:
        guessed = {
            name: held for name, held in known.holds.items() if held == BufferType(sure=False)
        }
        if refused.rejection.code != "LOWER_JOIN" or not guessed:
            raise
        floats = dict.fromkeys(guessed, BufferType("f64", sure=False))
        known = replace(known, holds={**known.holds, **floats})
    return _lower_until_stable(tree, types, scope, known, recording)


def _captured_names(tree: ast.FunctionDef, scope: Scope) -> set[str]:
    """The names in `tree` that are bound outside: they may become parameters, which keep theirs."""
    names = {n.id for n in walk_nodes(tree) if isinstance(n, ast.Name)}
    return {n for n in names if scope.find(n)[0] in (Origin.CLOSURE, Origin.GLOBAL)}


def _start_lowering(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope, known: Discoveries
) -> Lowering:
    """The state before the first statement of `tree`, with all that was found out before."""
    widths = find_dynamic_lists(tree, known.unforeseen)
    tree = expand_dynamic_lists(tree, widths)
    names = set(types) | _captured_names(tree, scope)
    return Lowering(
        rules=RULES,
        b=IRBuilder(names=names, subscript_params=subscript_only_params(tree)),
        tree=tree,
        types=dict(types),
        scope=scope,
        arguments=dict(types),
        given=tuple(types),
        lists=ListState(append_once=one_append_lists(tree) - known.counted),
        fixed=FixedLists(view_slices=uncopied_slices(tree), flagged=known.mixed),
        dynamic=DynamicLists(widths, known.holds, tried_capacity=known.tried),
        complex_names=known.names,
    )


def _lower_to_plan(ctx: Lowering, *, recording: bool) -> Plan:
    _start_counters(ctx)
    start_dynamic_lists(ctx)
    if recording:
        ctx.b.warnings.raised_array = fresh_array_name(ctx, "told")
        ctx.b.allocate(ctx.b.warnings.raised_array, "", ArrayType("i64", 1, 0))
    returned = _lower_ending(ctx, ctx.tree.body)
    _bind_params_by_type(ctx)
    guard_int_params(ctx, ctx.tree)
    if ctx.b.warnings.raised_array is not None:
        room = f"_np.zeros({len(ctx.b.warnings.sources) + 1}, _np.int64)"
        ctx.b.allocate(ctx.b.warnings.raised_array, room, ArrayType("i64", 1, 0))
    return replace(
        assemble_plan(ctx.tree, ctx.types, ctx.b, returned),
        refs=tuple(IdentityGuard(k, v) for k, v in ctx.refs.items()),
        given=tuple(
            IdentityGuard(ctx.members.spelled.get(k, k), t.value)
            for k, t in ctx.types.items() if isinstance(t, Constant)
        ),
        objects=tuple(s for n in ctx.given for s in _class_checks(n, ctx.types[n])),
        short=ctx.dynamic.short_flag,
        typed=(*ctx.b.typed, *_complex_name_types(ctx)),
    )


def _complex_name_types(ctx: Lowering) -> Iterator[tuple[str, str]]:
    """What names hold that are split in two."""
    for name, python in ctx.complex_names.items():
        narrow = (f"{name}_re", "f32") in ctx.b.typed
        yield name, "complex" if python else "c64" if narrow else "c128"


def _bind_params_by_type(ctx: Lowering) -> None:
    """Arguments of which the types alone have decided something are to have them again."""
    bindings = ctx.b.bindings.values()
    known = {b.of.name if isinstance(b, ComplexPart) else b.name for b in bindings}
    known |= {b.text for b in bindings if isinstance(b, ListItems)}
    asked = (
        names_read(ctx.tree.body)
        | ctx.members.objects.keys()
        | {f.name for f in ctx.members.fields.values()}
    )
    for name in sorted(asked & ctx.types.keys() - known):
        if isinstance(ctx.types[name], (ArrayType, ScalarType, ListType)):
            ctx.b.env.pop(name, None)
            lower_bare_name(ctx, ast.Name(name, ast.Load()))


def _lower_ending(ctx: Lowering, block: Sequence[ast.stmt]) -> ResultSpec:
    """Lowers `block`, with what it returns."""
    for k, s in enumerate(block):
        match s:
            case ast.If(test=test, body=[*_, ast.Return()] as body, orelse=[]):
                rest = block[k + 1 :]
                lower_block(ctx, block[:k], frozenset(names_read([s, *rest])))
                return _returned_by_branch(ctx, test, body, rest)
            case ast.Return(value=value):
                return _lower_return(ctx, block[:k], value)
    return _lower_return(ctx, block, None)


def _lower_return(ctx: Lowering, block: Sequence[ast.stmt], value: ast.expr | None) -> ResultSpec:
    """Lowers `block`, with `value` that is returned behind it, and attributes that are set
    last.
    """
    attributes = trailing_attribute_stores(block)
    first = len(block) - len(attributes)
    last = block[first:]
    if value is not None:
        last = [*last, copy_location(ast.Return(value), value)]
    lower_block(ctx, block[:first], frozenset(names_read(last)))
    apart = first_ambiguous_array(ctx.b, sorted(names_read(last)))
    if apart is not None:
        return _returned_by_alias(ctx, last, apart)
    return attributes_result(ctx, value, attributes) if attributes else lower_returned(ctx, value)


def _returned_by_alias(ctx: Lowering, last: Sequence[ast.stmt], apart: UnionValue) -> ResultSpec:
    """What comes `last`, for each array that a name in it may be."""
    b, cond = ctx.b, deciding_condition(apart.cases)
    flag, outer = result_slot(ctx, "bool", Num(cond)), dict(b.env)
    sides: list[ResultSpec] = []
    for when in (cond, bool_op("not", cond)):
        b.env.update(outer | narrowed_unions(outer, when))
        with under(b, when):
            try:
                sides.append(_lower_ending(ctx, last))
            except NoValue:
                require(b, FALSE, "GUARD_EMPTY", last[-1])
                sides.append(NoneResult())
    return SelectResult(flag, *sides)


def _returned_by_branch(
    ctx: Lowering, test: ast.expr, body: Sequence[ast.stmt], rest: Sequence[ast.stmt]
) -> ResultSpec:
    """What `body` returns where `test` holds, else what `rest` does."""
    b = ctx.b
    raw = lower_test(ctx, test)
    cond = b.bind(raw, "returns")
    if isinstance(cond, Const):
        return _lower_ending(ctx, body if cond.value else rest)
    flag = result_slot(ctx, "bool", Num(cond))
    sides: list[list[Stmt]] = [[], []]
    outer = dict(b.env)
    b.path.branches += 1
    b.env.update(narrowed_unions(b.env, raw))
    with b.into(sides[0]):
        then = _lower_ending(ctx, body)
    first_read = {k: v for k, v in b.env.items() if k not in outer and b.is_param(k, v)}
    b.env.clear()
    b.env.update(outer | narrowed_unions(outer, bool_op("not", raw)) | first_read)
    b.path.branches -= 1
    if len(rest) == 1:  # may be a list or an array, which no branch makes
        with under(b, bool_op("not", cond)):
            orelse = _lower_ending(ctx, rest)
    else:
        b.path.branches += 1
        with b.into(sides[1]):
            orelse = _lower_ending(ctx, rest)
        b.path.branches -= 1
    if sides[0] or sides[1]:
        b.emit(If(cond, tuple(sides[0]), tuple(sides[1]), span=span_of(test)))
    return SelectResult(flag, then, orelse)


def _start_counters(ctx: Lowering) -> None:
    for node in walk_statements(ctx.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])) if (
                name not in ctx.lists.append_once
            ):
                start_counter(ctx, name)


def _class_checks(text: str, ty: ArgType) -> Iterator[ClassGuard]:
    """What must be of these classes: an argument, and the objects in it."""
    if not isinstance(ty, ObjectType):
        return
    yield ClassGuard(text, ty.kind, len(ty.parts) if ty.is_tuple else None)
    for k, (key, part) in enumerate(ty.parts):
        at = f"[{k}]" if ty.is_tuple else f"[{key[0]!r}]" if isinstance(key, tuple) else f".{key}"
        yield from _class_checks(f"{text}{at}", part)
