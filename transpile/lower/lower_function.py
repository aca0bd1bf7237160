"""Lower a whole function from core Python to a call plan: parameters, body, result and guards.

`lower` is the entry, called by the stage ``lower`` of the pipeline. The body is lowered statement
by statement, by the tables in `RULES`, to the statements of one kernel; names are bound to values
in `IRBuilder.env`, and arguments become parameters of the kernel when they are first read. Early
returns become branches that each store their result (`_lower_ending`).

Some facts about a function are known only after a part of it was lowered: that a name holds
complex numbers, or a wider type of the items of a list. Such a fact is raised as an exception
(NeedsComplexSplit, WiderBufferType, ...), is added to `Discoveries`, and lowering starts again
(`lower`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record, replace
from loopir.nodes import Const, If, Stmt

from ..analysis.access_paths import access_path_type
from ..analysis.liveness import names_read
from ..call_plan import ClassGuard, ComplexPart, IdentityGuard, ListItems, Plan
from ..diagnostics import Refused
from ..frontend.ast_walk import walk_nodes, walk_statements
from ..frontend.core_nodes import ComplexNumber, copy_location, is_fold
from ..frontend.name_resolution import NameScope, Scope
from ..frontend.refusal import NoValue, UnknownListLength, refuse
from ..frontend.source import span_of
from ..host_nodes import (
    HostAttribute,
    HostCall,
    HostConst,
    HostExpr,
    HostItem,
    HostName,
    numpy_function,
)
from ..numpy.indexing.structured_arrays import field_path
from ..result_spec import NoneResult, ResultSpec, SelectResult
from ..types.typed_values import FALSE, Num, bool_op
from ..types.value_types import (
    CODE_POINTS,
    ArgType,
    ArrayType,
    Constant,
    ListType,
    ObjectType,
    RecordType,
    ScalarType,
)
from .arrays.alias_states import deciding_condition, first_ambiguous_array
from .arrays.array_expressions import ARRAYS
from .arrays.subscript_bounds import subscript_only_params
from .assemble_plan import assemble_plan
from .complex.complex_split import NeedsComplexSplit, lower_complex_number, split_complex_names
from .lists.append_only_lists import NeedsAppendCounter, one_append_lists
from .lists.coalesce_list_names import final_list_name, rename_list
from .lists.dynamic_lists import (
    NeedsTriedCapacity,
    WiderBufferType,
    finish_dynamic_lists,
    start_dynamic_lists,
)
from .lists.expand_dynamic_lists import (
    expand_dynamic_lists,
    find_dynamic_lists,
    lists_growing_evenly,
)
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
from .state.guards_and_checks import require
from .state.ir_builder import IRBuilder
from .state.list_state import BufferType, DynamicLists, FixedLists, ListState
from .state.lowering_budget import LoweringBudget
from .state.lowering_state import Lowering, Rules
from .state.node_dispatch import lower_block
from .state.outer_names import fresh_array_name
from .state.path_conditions import assuming, used_only_where
from .state.symbol_values import UnionValue

__all__ = [
    "EXPRESSIONS", "RULES", "Discoveries", "has_ordered_folds", "lower", "refuse_ordered_folds",
]

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
    ComplexNumber: lower_complex_number,
}
"""The rule for each type of expression: ``rule(ctx, node)`` emits what the expression needs before
it, and returns its `Value`. `node_dispatch.lower_scalar` and `node_dispatch.lower_value` call it; a
type without a row, such as a lambda, is refused (`node_dispatch.refuse_expression`). An expression
that is expected to be a whole array goes to a rule of `ARRAYS` (`node_dispatch.lower_array`).
"""

RULES = Rules(
    statements=STATEMENTS,
    expressions=EXPRESSIONS,
    calls=CALLS,
    arrays=ARRAYS,
    block=lower_statements,
)
"""All tables of lowering. `_start_lowering` puts them into `Lowering.rules`, by which rules in
other modules lower the parts of their nodes.
"""


def refuse_ordered_folds(tree: ast.FunctionDef) -> None:
    """Raises Refused for the first loop in `tree` (core Python) that stands for a reduction
    whose order NumPy chooses, as ``np.sum`` adds pairwise. The stage `check_fold_order` calls it,
    for ``reassociate=False`` only.

        s = np.sum(x)               # refused: the loop that it became would add in another order
        for v in x: s += v          # compiled: its order is that of the source

    The macro that makes such a loop of floats marks it (`Context.mark_folds`).
    """
    for n in _ordered_folds(tree):
        refuse("LOWER_LIBRARY", "its order is not a loop's, and reassociate=False keeps it", n)


def has_ordered_folds(tree: ast.FunctionDef) -> bool:
    """Whether a loop in `tree` (core Python) stands for a reduction whose order NumPy chooses."""
    return any(True for _ in _ordered_folds(tree))


def _ordered_folds(tree: ast.FunctionDef) -> Iterator[ast.For]:
    """The loops in `tree` that `Context.mark_folds` has marked: not those that the user wrote."""
    return (n for n in walk_statements(tree) if isinstance(n, ast.For) and is_fold(n))


@record(frozen=True, slots=True)
class Discoveries:
    """What earlier attempts to lower a function have found, and the next one needs from the start.

        z = 0                    # at first: z is an int
        for k in range(n):
            z = z * z + c        # c is complex: raises NeedsComplexSplit("z"), caught in `lower`

    So the second attempt has ``complex_names={"z": True}``, and splits ``z`` into two variables at
    once. Each field belongs to one exception that `lower` catches.

    ``complex_names``: names that hold complex numbers, each with whether they are Python's.
    ``flagged_lists``: lists of fixed length that hold numbers of two types, each with the type of
    its items.
    ``counted_lists``: append-only lists that need a counter of their items.
    ``buffer_types``: the item types of dynamic lists.
    ``unbounded_lists``: append-only lists whose length no loop bounds: lowered as dynamic lists.
    ``uncounted_lists``: dynamic lists whose number of items is not known wherever they grow.
    ``tried_capacity``: the length of some array has no known bound. Its capacity is tried, as that
    of a dynamic list is: where it was too small, the call is repeated with more.
    """

    complex_names: Mapping[str, bool] = field(default_factory=dict)
    flagged_lists: Mapping[str, BufferType] = field(default_factory=dict)
    counted_lists: frozenset[str] = frozenset()
    buffer_types: Mapping[str, BufferType] = field(default_factory=dict)
    unbounded_lists: frozenset[str] = frozenset()
    uncounted_lists: frozenset[str] = frozenset()
    tried_capacity: bool = False


def lower(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope, *, recording: bool = False,
    fixes_globals: bool = True,
) -> Plan:
    """The call plan of `tree` (core Python) for one call signature: `types` of its parameters. The
    stage ``lower`` of the pipeline calls it.

    `scope` resolves the names that are bound outside of the function. ``recording``: the kernel
    records which of its operations have raised a floating-point exception. ``fixes_globals``: ints
    that are globals may become constants, of which each call checks that they are the same.

    Lowers the function again and again, each time with one more discovery (`Discoveries`), until it
    succeeds. A second attempt costs a few milliseconds; to find such facts beforehand would take an
    analysis that repeats lowering. It ends: each discovery adds a name or widens a type, and the
    budget bounds the statements lowered. Raises Refused where the function cannot be compiled
    faithfully, and no discovery helps.
    """
    known, budget = Discoveries(), LoweringBudget.of(tree)
    while True:
        names = known.complex_names
        split_tree = split_complex_names(tree, names) if names else tree
        ctx = _start_lowering(split_tree, types, scope, known, budget)
        ctx.fixes_globals = fixes_globals
        try:
            return _lower_to_plan(ctx, recording=recording)
        except WiderBufferType:
            known = replace(known, buffer_types=ctx.dynamic.types)
        except NeedsTriedCapacity as new:
            uncounted = known.uncounted_lists | new.lists
            tried = known.tried_capacity or not new.lists
            known = replace(known, uncounted_lists=uncounted, tried_capacity=tried)
        except NeedsComplexSplit as new:
            known = replace(known, complex_names={**known.complex_names, new.name: new.python})
        except NeedsItemFlags as new:
            known = replace(known, flagged_lists={**known.flagged_lists, new.name: new.item_type})
        except NeedsAppendCounter as new:
            known = replace(known, counted_lists=known.counted_lists | {new.name})
        except UnknownListLength as unknown:
            tree, known = _with_dynamic_list(tree, known, unknown)
        except Refused as refused:
            known = _with_float_guesses(known, ctx.dynamic.types, refused)


def _with_dynamic_list(
    tree: ast.FunctionDef, known: Discoveries, unknown: UnknownListLength
) -> tuple[ast.FunctionDef, Discoveries]:
    """`tree`, and `known` with the list of `unknown`, whose length no loop bounds, as a dynamic
    list. If the list is filled under one name and then assigned to another, it has the second name
    throughout in the tree that is returned (`rename_list`). Raises `unknown` where the list is
    dynamic already, or cannot be, by `find_dynamic_lists`.
    """
    name = final_list_name(tree, unknown.name)
    unbounded = known.unbounded_lists | {name}
    tree = tree if name == unknown.name else rename_list(tree, unknown.name, name)
    split_tree = split_complex_names(tree, known.complex_names)
    is_new = unbounded != known.unbounded_lists
    if not is_new or name not in find_dynamic_lists(split_tree, unbounded):
        raise unknown
    return tree, replace(known, unbounded_lists=unbounded)


def _with_float_guesses(
    known: Discoveries, buffer_types: Mapping[str, BufferType], refused: Refused
) -> Discoveries:
    """`known` with floats as the items of dynamic lists of which ints were only a guess, since they
    are read before anything is put into them; `buffer_types` are the types of the attempt that was
    refused. Raises `refused` where that does not help: it is about no conflict of types
    (LOWER_JOIN), or nothing was guessed.
    """
    int_guess = BufferType(sure=False)
    guessed = [n for n, ty in buffer_types.items() if ty == int_guess]
    if refused.rejection.code != "LOWER_JOIN" or not guessed:
        raise refused
    floats = dict.fromkeys(guessed, BufferType("f64", sure=False))
    return replace(known, buffer_types={**buffer_types, **floats})


def _captured_names(tree: ast.FunctionDef, scope: Scope) -> set[str]:
    """The names in `tree` that are globals or closure variables. They may become parameters of the
    kernel under the same names, so no generated name may be one of them.
    """
    names = {n.id for n in walk_nodes(tree) if isinstance(n, ast.Name)}
    return {n for n in names if scope.find(n)[0] in (NameScope.CLOSURE, NameScope.GLOBAL)}


def _member_names(tree: ast.FunctionDef, types: Mapping[str, ArgType]) -> set[str]:
    """The names in `tree` that are bound to members of arguments: to attributes and items of
    objects and tuples, and to fields of records. They may become parameters of the kernel under the
    same names, as those of `_captured_names`.
    """
    return {name for s in walk_statements(tree) for name in _member_targets(s, types)}


def _member_targets(node: ast.AST, types: Mapping[str, ArgType]) -> Iterator[str]:
    """The name that the statement `node` binds to a member of an argument, if it does."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            array, path = field_path(value) or ("", ())
            is_field = bool(path) and isinstance(types.get(array), RecordType)
            if is_field or access_path_type(value, types) is not None:
                yield name


def _observed_types(ctx: Lowering) -> Collection[tuple[str, str]]:
    """The types of local names, those of characters as the source has them."""
    strings = [name for name, ty in ctx.types.items() if ty == CODE_POINTS]
    if not strings:
        return ctx.b.observed_types
    from ..frontend.specialize.string_characters import characters_of

    characters = characters_of(ctx.tree, strings)
    observed = ctx.b.observed_types
    return dict.fromkeys((n, "str" if n in characters else text) for n, text in observed)


def _start_lowering(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope, known: Discoveries,
    budget: LoweringBudget,
) -> Lowering:
    """The state of lowering before the first statement of `tree`, set up with what is `known`."""
    widths = find_dynamic_lists(tree, known.unbounded_lists)
    tree = expand_dynamic_lists(tree, widths)
    names = set(types) | _captured_names(tree, scope) | _member_names(tree, types)
    return Lowering(
        rules=RULES,
        b=IRBuilder(names=names, subscript_params=subscript_only_params(tree)),
        tree=tree,
        types=dict(types),
        scope=scope,
        arguments=dict(types),
        param_names=tuple(types),
        lists=ListState(append_once=one_append_lists(tree) - known.counted_lists),
        fixed=FixedLists(view_slices=uncopied_slices(tree), flagged=known.flagged_lists),
        dynamic=DynamicLists(
            widths, {**known.buffer_types}, tried_capacity=known.tried_capacity,
            counted=lists_growing_evenly(tree, widths.keys() - known.uncounted_lists),
        ),
        complex_names=known.complex_names,
        budget=budget,
    )


def _lower_to_plan(ctx: Lowering, *, recording: bool) -> Plan:
    """Lowers the whole function and assembles its plan. Raises Refused or a discovery.

    A recording kernel has one more array, an int64 for each operation that may raise and one for
    their count. The number of operations is known at the end only, so the array is allocated twice,
    the second time with its size.
    """
    _start_counters(ctx)
    start_dynamic_lists(ctx)
    if recording:
        ctx.b.warnings.raised_array = fresh_array_name(ctx, "raised_order")
        _allocate_raised_order(ctx, 0)
    returned = _lower_ending(ctx, ctx.tree.body)
    finish_dynamic_lists(ctx)
    _bind_params_by_type(ctx)
    guard_int_params(ctx, ctx.tree)
    _allocate_raised_order(ctx, len(ctx.b.warnings.sources) + 1)
    return replace(
        assemble_plan(ctx.tree, ctx.types, ctx.b, returned),
        identity_guards=tuple(IdentityGuard(k, v) for k, v in ctx.guarded_objects.items()),
        constant_arguments=tuple(
            IdentityGuard(ctx.members.reads.get(k, HostName(k)), t.value)
            for k, t in ctx.types.items() if isinstance(t, Constant)
        ),
        class_guards=(
            *(g for n in ctx.param_names for g in _class_checks(HostName(n), ctx.types[n])),
            *(ClassGuard(array, np.ndarray) for array in ctx.members.layouts),
        ),
        overflow_slot=ctx.dynamic.overflow_slot,
        local_types=(*_observed_types(ctx), *_complex_name_types(ctx)),
    )


def _allocate_raised_order(ctx: Lowering, length: int) -> None:
    """Allocates the array in which a recording kernel notes the order of warnings."""
    if ctx.b.warnings.raised_array is not None:
        made_by = HostCall(numpy_function("zeros"), (HostConst(length), HostConst("int64")))
        ctx.b.allocate(ctx.b.warnings.raised_array, made_by, ArrayType("i64", 1, 0))


def _complex_name_types(ctx: Lowering) -> Iterator[tuple[str, str]]:
    """Each complex name, which is split in the tree, with the text of its type, for reports."""
    for name, python in ctx.complex_names.items():
        narrow = (f"{name}_re", "f32") in ctx.b.observed_types
        yield name, "complex" if python else "c64" if narrow else "c128"


def _bind_params_by_type(ctx: Lowering) -> None:
    """Makes parameters of the arguments that the function names, but that no lowered code has read,
    as in a branch that is never taken. Their types have decided something at compile time; as
    parameters they are checked to have the same types at each call.
    """
    bindings = ctx.b.bindings.values()
    bound = {b.of.name if isinstance(b, ComplexPart) else b.name for b in bindings}
    bound |= {b.of for b in bindings if isinstance(b, ListItems)}
    used = (
        names_read(ctx.tree.body)
        | ctx.members.objects.keys()
        | {f.name for f in ctx.members.fields.values()}
    )
    for name in sorted(used & ctx.types.keys() - bound):
        if isinstance(ctx.types[name], (ArrayType, ScalarType, ListType)):
            ctx.b.env.pop(name, None)
            lower_bare_name(ctx, ast.Name(name, ast.Load()))


def _lower_ending(ctx: Lowering, block: Sequence[ast.stmt]) -> ResultSpec:
    """Lowers `block`, after which the function ends, and returns the specification of its result.

        if returned:            slot_0 = returned; slot_2 = s; if returned: slot_1 = 0.0
            return 0.0     →    SelectResult(slot_0, slot_1, slot_2): the wrapper takes slot_1 where
        return s                slot_0 is true, else slot_2

    A kernel cannot return in the middle. `structure_exits` has moved early returns, also those in
    loops, to the end, each as an ``if`` on a flag. Such an ``if`` becomes a branch, and all that
    follows it the other side (`_lower_returning_branches`). The first ``if`` in `block` whose body
    ends in a ``return``, or the first ``return``, decides; without one the result is None.
    """
    for k, s in enumerate(block):
        match s:
            case ast.If(test=test, body=[*_, ast.Return()] as body, orelse=[]):
                rest = block[k + 1 :]
                lower_block(ctx, block[:k], frozenset(names_read([s, *rest])))
                return _lower_returning_branches(ctx, test, body, rest)
            case ast.Return(value=value):
                return _lower_return(ctx, block[:k], value)
    return _lower_return(ctx, block, None)


def _lower_return(ctx: Lowering, block: Sequence[ast.stmt], value: ast.expr | None) -> ResultSpec:
    """Lowers `block` and a ``return value`` after it (None: no value). Assignments to attributes of
    objects at the end of the block belong to the result: the caller performs them.
    """
    attributes = trailing_attribute_stores(block)
    first = len(block) - len(attributes)
    ending = block[first:]
    if value is not None:
        ending = [*ending, copy_location(ast.Return(value), value)]
    lower_block(ctx, block[:first], frozenset(names_read(ending)))
    ambiguous = first_ambiguous_array(ctx.b, sorted(names_read(ending)))
    if ambiguous is not None:
        return _lower_ending_for_each_array(ctx, ending, ambiguous)
    return attributes_result(ctx, value, attributes) if attributes else lower_returned(ctx, value)


def _lower_ending_for_each_array(
    ctx: Lowering, ending: Sequence[ast.stmt], ambiguous: UnionValue
) -> ResultSpec:
    """Lowers the statements `ending`, which read `ambiguous`, one of several arrays: once where a
    condition on which the array depends holds, and once where it does not. A bool slot tells the
    wrapper which of the two results counts.

    Where a name has no value on one of the sides, a call that takes it is replayed.
    """
    b, cond = ctx.b, deciding_condition(ambiguous.cases)
    flag, outer = result_slot(ctx, "bool", Num(cond)), dict(b.env)
    sides: list[ResultSpec] = []
    for side_cond in (cond, bool_op("not", cond)):
        b.env.update(outer | narrowed_unions(outer, side_cond))
        with used_only_where(b, side_cond):
            try:
                sides.append(_lower_ending(ctx, ending))
            except NoValue:
                require(b, FALSE, "GUARD_EMPTY", ending[-1])
                sides.append(NoneResult())
    return SelectResult(flag, *sides)


def _lower_returning_branches(
    ctx: Lowering, test: ast.expr, body: Sequence[ast.stmt], rest: Sequence[ast.stmt]
) -> ResultSpec:
    """Lowers ``if test: body`` and the `rest` of the function; the body ends in a ``return``.

    A bool slot of the result tells the caller which side has returned. Where the test is a
    constant, only one side is lowered. If `rest` is a single statement, its code is emitted before
    the `If`, not in its ``else``, and runs in each call; its value is only used where the test
    fails (`used_only_where`).
    """
    b = ctx.b
    raw = lower_test(ctx, test)
    cond = b.bind(raw, "returns")
    if isinstance(cond, Const):
        return _lower_ending(ctx, body if cond.value else rest)
    flag = result_slot(ctx, "bool", Num(cond))
    then_block: list[Stmt] = []
    else_block: list[Stmt] = []
    outer = dict(b.env)
    b.path.branches += 1
    b.env.update(narrowed_unions(b.env, raw))
    with b.into(then_block), assuming(b, raw):
        then = _lower_ending(ctx, body)
    new_params = {k: v for k, v in b.env.items() if k not in outer and b.is_param(k, v)}
    b.env.clear()
    b.env.update(outer | narrowed_unions(outer, bool_op("not", raw)) | new_params)
    b.path.branches -= 1
    if len(rest) == 1:
        # A list or an array that `rest` returns cannot be made inside a branch.
        with used_only_where(b, bool_op("not", cond)):
            orelse = _lower_ending(ctx, rest)
    else:
        b.path.branches += 1
        with b.into(else_block), assuming(b, bool_op("not", raw)):
            orelse = _lower_ending(ctx, rest)
        b.path.branches -= 1
    if then_block or else_block:
        b.emit(If(cond, tuple(then_block), tuple(else_block), span=span_of(test)))
    return SelectResult(flag, then, orelse)


def _start_counters(ctx: Lowering) -> None:
    """Sets to 0 the counter of each list that starts empty and is not appended to exactly once in
    each iteration of one loop.
    """
    for node in walk_statements(ctx.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])) if (
                name not in ctx.lists.append_once
            ):
                start_counter(ctx, name)


def _class_checks(e: HostExpr, ty: ArgType) -> Iterator[ClassGuard]:
    """The guards on the classes of the objects in an argument: of the argument itself, which `e`
    reads, and of its parts. There are none for an argument that is neither an object nor a tuple.
    """
    if not isinstance(ty, ObjectType):
        return
    yield ClassGuard(e, ty.kind, len(ty.parts) if ty.is_tuple else None)
    for k, (key, part) in enumerate(ty.parts):
        if ty.is_tuple or isinstance(key, tuple):
            item: HostExpr = HostItem(e, HostConst(key[0] if isinstance(key, tuple) else k))
        else:
            item = HostAttribute(e, str(key))
        yield from _class_checks(item, part)
