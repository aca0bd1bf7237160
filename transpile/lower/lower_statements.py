"""Lower the statements of core Python: assignment, unpacking, expression statements, `raise`.

`lower_statements` lowers a block; `STATEMENTS` has the rule for each type of statement. A rule
emits Loop IR to the builder, or binds names in `IRBuilder.env`, or both::

    k = n - 1        →                       env["k"] = the linear form n - 1; nothing is emitted
    y = x[k] * 2.0   →   y = x[n - 1] * 2.0  env["y"] = the variable y, a NumPy float64
    out[k] = y       →   out[n - 1] = y      env is unchanged

What an assignment to a name does depends on the value: see `_lower_name_assignment`.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from loopir.algebra.index_builder import logical_not
from loopir.nodes import Const, Var

from ..analysis.liveness import always_raises, live_in_core
from ..codes.lowering_codes import HELP_FOR_CALLEES, HELP_FOR_LISTS
from ..containers.method_table import METHODS
from ..diagnostics import Refused, counted
from ..frontend.ast_names import bound_names
from ..frontend.ast_walk import walk_nodes
from ..frontend.core_nodes import ComplexParts, ReplayIf, copy_location, obstacle, source_text
from ..frontend.name_resolution import NameScope
from ..frontend.refusal import refuse, refuse_unknown_length
from ..frontend.source import span_of
from ..numpy.function_table import ARRAY_OF_ITEMS
from ..types.typed_values import FALSE, ComplexPair, bool_op
from ..types.value_types import ObjectType, Opaque
from .arrays.alias_states import (
    ambiguous_read,
    deciding_condition,
    end_of_ambiguous,
    first_ambiguous_array,
)
from .arrays.array_allocation import lower_allocation, lower_resize
from .arrays.element_access import lower_store
from .arrays.numpy_allocators import is_allocator
from .arrays.record_arrays import as_record_array, bind_object_member, bind_record_field
from .arrays.stream_compaction import (
    can_compact,
    lower_compaction,
    lower_compaction_append,
    match_append,
    match_compaction,
)
from .complex.complex_arithmetic import apply_operator
from .complex.complex_split import NeedsComplexSplit, split_complex_value
from .lists.append_only_lists import lower_append
from .lists.dynamic_lists import lower_list_count
from .lists.fixed_size_lists import bind_repeated_list, bind_small_list
from .lists.list_builders import appended_names, note_lengths
from .lists.list_results import finish_list, start_list
from .loops.lower_loops import lower_loop
from .lower_if import lower_branches, lower_if
from .lower_names import lower_bare_name, lower_delete
from .lower_returns import reshaped_at_end
from .scalars.callable_ops import refuse_library_call
from .scalars.lower_expressions import BY_CONSTANTS, lower_test
from .scalars.refused_calls import refuse_missing_method
from .scalars.tagged_unions import bind_scalar, lower_number, narrowed_unions, operate_on_pair
from .state.guards_and_checks import require
from .state.lowering_state import Lowering
from .state.node_dispatch import (
    lower_array,
    lower_block,
    lower_scalar,
    lower_value,
    refuse_array_of_number,
    refuse_number,
)
from .state.outer_names import resolve_object
from .state.symbol_values import ListRef, Scalar, Unbound, UnionValue, Value, type_texts
from .state.value_ranges import bind_num

__all__ = ["STATEMENTS", "lower_statements"]

_KEYWORDS: dict[type[ast.stmt], str] = {
    ast.AnnAssign: "name: type",
    ast.AsyncFor: "async for",
    ast.AsyncFunctionDef: "async def",
    ast.AsyncWith: "async with",
    ast.ClassDef: "class",
    ast.Delete: "del",
    ast.FunctionDef: "def",
    ast.ImportFrom: "import",
}
"""The keyword or form of statements whose class is not named like it, for messages."""


def lower_statements(ctx: Lowering, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
    """Lowers the statements of `block`; `live`: all names that are read later, which are those
    that are live after it and perhaps more.

    A statement goes to its rule in `STATEMENTS`, unless it begins one of these forms, which consist
    of several statements. They are tried in this order:

    1. statements that must be lowered once for each of several arrays, since they read a name that
       may be any of them, or allocate an array whose free storage depends on the path
       (`ambiguous_read`);
    2. a stream compaction, four statements, see `stream_compaction.py`;
    3. an append to an array that a stream compaction fills, two statements.
    """
    k, live_before = 0, live_in_core(block, live)
    while k < len(block):
        ctx.b.current_span = span_of(block[k])
        compaction = match_compaction(block[k:])
        appended = match_append(block[k : k + 2], ctx.arrays.appending)
        ambiguous = ambiguous_read(ctx, block[k])
        if ambiguous is not None:
            end = end_of_ambiguous(ctx, block, k)
            _lower_for_each_array(ctx, ambiguous, block[k:end], live_before[end])
            k = end
        elif compaction is not None and can_compact(ctx, compaction):
            lower_compaction(ctx, compaction, live_before[k + 3])
            k += 4
        elif appended is not None:
            lower_compaction_append(ctx, block[k], appended)
            k += 2
        else:
            _lower_statement(ctx, block[k], live_before[k + 1])
            _note_types(ctx, block[k])
            k += 1


def _note_types(ctx: Lowering, stmt: ast.stmt) -> None:
    """Records the types of the names that `stmt` binds, not those in nested blocks; for reports."""
    targets: list[ast.expr] = []
    match stmt:
        case ast.Assign(targets=targets):
            pass
        case ast.AugAssign(target=target) | ast.For(target=target):
            targets = [target]
    for name in sorted(bound_names(*targets)):
        for text in type_texts(ctx.b.env.get(name)):
            ctx.b.observed_types[name, text] = None


def _lower_statement(ctx: Lowering, stmt: ast.stmt, live: frozenset[str]) -> None:
    """Lowers one statement by the rule for its type. Raises Refused where there is no rule, where
    the rule refuses, or where the budget of the function is spent. If a macro has noted a reason
    with an assignment (`Origin.obstacle`), that reason replaces the one of the rule.
    """
    ctx.budget.spend(stmt)
    rule = ctx.rules.statements.get(type(stmt))
    if rule is None:
        _refuse_dicts(ctx, stmt)
        _refuse_statement(stmt)
    try:
        rule(ctx, stmt, live)
    except Refused as refused:
        noted = obstacle(stmt) if isinstance(stmt, ast.Assign | ast.AugAssign) else None
        if noted is None or type(refused) is not Refused:  # the subclasses ask for another lowering
            raise
        raise Refused(noted, refused.inlined_at) from None


def _refuse_dicts(ctx: Lowering, stmt: ast.stmt) -> None:
    """Raises Refused if `stmt` reads an argument that is a dict, which would be refused, too, in
    what the user writes in place of `stmt`::

        try: n += d[k]              →   if k in d: n += d[k]
        except KeyError: pass
    """
    for name in (n for n in walk_nodes(stmt) if isinstance(n, ast.Name)):
        ty = ctx.arguments.get(name.id)
        if str(ty) == "dict" and isinstance(ty, ObjectType | Opaque):
            lower_scalar(ctx, name)


def _refuse_statement(stmt: ast.stmt) -> NoReturn:
    """Refuses `stmt` as a kind of statement that is not compiled."""
    kind = _KEYWORDS.get(type(stmt)) or type(stmt).__name__.lower()
    article = "an" if kind[0] in "aeiou" else "a"
    message = f"{article} `{kind}` statement is not compiled here"
    if isinstance(stmt, ast.Assign | ast.AugAssign | ast.Expr):  # which have no keyword
        message = f"`{source_text(stmt)}` is not compiled here"
    help = _STATEMENT_HELP.get(kind)
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Attribute):
        message = f"`{source_text(stmt.target)}` is an attribute that changes in a loop"
        help = "compute with a variable, and set the attribute once, after the loop"
    if isinstance(stmt, ast.FunctionDef) and stmt.decorator_list:
        message = f"the decorator of `{stmt.name}` is not compiled"
        help = "remove the decorator, or define the function outside and call what it computes"
    if isinstance(stmt, ast.Try) and stmt.handlers and stmt.finalbody:
        message = "a `try` with both `except` and `finally` is not compiled here"
        help = "write what `finally` does after the `try`, if all exceptions are caught"
    refuse("LOWER_UNSUPPORTED", message, stmt, help=help)


_PRINT_HELP = "print behind the loop, and collect in a list or an array what is to be printed"

_PRINT_OUTSIDE_HELP = "print what the function returns, where it is called"

_STATEMENT_HELP = {
    "import": "import it at the top of the file; install it if Python does not find it",
    "global": "return the value instead of binding a global name",
    "nonlocal": "return the value instead of binding a name of the outer function",
    "with": "put what it contains into a function of its own, and decorate that",
    "try": "test the condition with an `if` instead of catching the exception",
    "def": "define the function outside, or write its statements where it is called",
    "del": "make a new list without the item, for instance by a comprehension",
    "match": "write the cases whose patterns are classes, sequences or mappings as `if`, `elif`",
    "class": "define the class outside of the function",
}
"""The help for statements that are not compiled, by their keyword."""


def _lower_pass(ctx: Lowering, stmt: ast.Pass, live: frozenset[str]) -> None:
    """``pass``: emits nothing."""


def _lower_expression_statement(ctx: Lowering, stmt: ast.Expr, live: frozenset[str]) -> None:
    """An expression statement: a docstring, ``l.append(x)``, a name by itself, or a call."""
    match stmt.value:
        case ast.Constant():
            pass
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item]):
            lower_append(ctx, name, item, stmt)
        case ast.Name() | ast.Attribute() as name_or_member:
            lower_bare_name(ctx, name_or_member)
        case value:
            _lower_call_statement(ctx, value, stmt)


def _lower_assignment(ctx: Lowering, stmt: ast.Assign, live: frozenset[str]) -> None:
    """``x = value``, ``a[i] = value`` or ``x, y = value``."""
    match stmt:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            refuse_array_of_number(ctx, stmt)
            if not lower_list_count(ctx, name, value, stmt):
                _lower_name_assignment(ctx, name, value, stmt)
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            lower_store(ctx, target, _lower_stored_value(ctx, value), stmt)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            _lower_unpacking(ctx, targets, value, stmt)
        case _:
            _refuse_statement(stmt)


def _lower_augmented_assignment(
    ctx: Lowering, stmt: ast.AugAssign, live: frozenset[str]
) -> None:
    """``x += value`` or ``a[i] += value``, of scalars. Raises Refused for a whole array."""
    operate = partial(apply_operator, ctx, type(stmt.op), node=stmt)
    match stmt.target:
        case ast.Name(id=name) as target:
            read = copy_location(ast.Name(name, ast.Load()), target)
            if lower_array(ctx, read) is not None:
                _refuse_array_update(ctx, stmt)
            refuse_array_of_number(ctx, stmt)
            if isinstance(stmt.op, BY_CONSTANTS):  # of which `lower_binary` may know the constant
                operation = copy_location(ast.BinOp(read, stmt.op, stmt.value), stmt)
                _bind_name(ctx, name, lower_scalar(ctx, operation))
                return
            left, right = lower_scalar(ctx, read), lower_scalar(ctx, stmt.value)
            _bind_name(ctx, name, operate_on_pair(ctx, operate, stmt, left, right))
        case ast.Subscript() as target:
            read_at = copy_location(
                ast.Subscript(target.value, target.slice, ast.Load()), target
            )
            if lower_array(ctx, read_at) is not None:
                _refuse_array_update(ctx, stmt)
            left, right = lower_scalar(ctx, read_at), lower_scalar(ctx, stmt.value)
            lower_store(ctx, target, operate_on_pair(ctx, operate, stmt, left, right), stmt)
        case _:
            _refuse_statement(stmt)


def _refuse_array_update(ctx: Lowering, stmt: ast.AugAssign) -> NoReturn:
    """Refuses `stmt`, which updates a whole array, and of which no macro has made loops: because of
    its right side, if that cannot be compiled.
    """
    if lower_array(ctx, stmt.value) is None:
        lower_scalar(ctx, stmt.value)
    message = f"`{source_text(stmt)}` changes a whole array"
    help = "update its elements in a loop"
    refuse("LOWER_UNSUPPORTED", message, stmt, help=help)


def _lower_if_statement(ctx: Lowering, stmt: ast.If, live: frozenset[str]) -> None:
    """An ``if``. Where one of its branches raises, only the other one is lowered, after a check."""
    if (other_branch := _require_no_raise(ctx, stmt)) is not None:
        lower_block(ctx, other_branch, live)
    else:
        lower_if(ctx, stmt, live)


def _lower_raise(ctx: Lowering, stmt: ast.Raise | ast.Assert, live: frozenset[str]) -> None:
    """``raise`` and ``assert False``: the call is replayed where they are reached."""
    if _require_no_raise(ctx, stmt) is None:
        _refuse_statement(stmt)


def _lower_delete_statement(ctx: Lowering, stmt: ast.Delete, live: frozenset[str]) -> None:
    """``del a, b`` of names. Raises Refused for other targets."""
    if not all(isinstance(t, ast.Name) for t in stmt.targets):
        _refuse_statement(stmt)
    for target in stmt.targets:
        lower_delete(ctx, target)


def _lower_loop_statement(
    ctx: Lowering, stmt: ast.For | ast.While, live: frozenset[str]
) -> None:
    """A loop. While it is lowered, the lists that it appends to are *open*: their items cannot be
    read (`ListState.open`). After it the intervals of their lengths are recorded.
    """
    appended_lists = appended_names([stmt])
    ctx.lists.open |= appended_lists
    lower_loop(ctx, stmt, live)
    ctx.lists.open -= appended_lists
    note_lengths(ctx, appended_lists)


def _require_no_raise(ctx: Lowering, stmt: ast.stmt) -> Sequence[ast.stmt] | None:
    """If `stmt` raises, or is an ``if`` of which one branch always raises: requires that it does
    not, and returns the statements that are left to lower. None, and nothing is emitted, for every
    other statement.

        if k < 0:                        (k a parameter: a guard, tested before the kernel starts)
            raise ValueError(k)   →      guard ~(k < 0), "GUARD_RAISES"
        y = x[k]                         left to lower: the empty ``else``; then ``y = x[k]``

    A kernel cannot raise, and nothing of the ``raise`` is compiled, so that its exception may be of
    any class. Where the guard or check fails, Python replays the call, and raises the
    exception with its own message and traceback. That holds for a ``raise`` of an inlined helper,
    too: no ``try`` lies between it and the caller, since the macro `try_except.try_statement` has
    replaced each ``try`` that is compiled.
    """
    match stmt:
        case ast.If(test=test, body=body, orelse=orelse) if always_raises(body):
            no_raise, remaining = bool_op("not", lower_test(ctx, test)), orelse
        case ast.If(test=test, body=body, orelse=orelse) if always_raises(orelse):
            no_raise, remaining = lower_test(ctx, test), body
        case ast.Raise() | ast.Assert(test=ast.Constant(value=False)):
            no_raise, remaining = FALSE, []
        case _:
            return None
    require(ctx.b, no_raise, "GUARD_RAISES", stmt)
    ctx.b.env.update(narrowed_unions(ctx.b.env, no_raise))
    return remaining


def _refuse_outer_collection(ctx: Lowering, func: ast.expr, stmt: ast.stmt) -> None:
    """Refuses ``owner.append(v)`` and other methods of a list, dict or set that is a global or in
    an attribute.
    """
    if not isinstance(func, ast.Attribute) or func.attr not in METHODS:
        return
    root = func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    outer = (NameScope.CLOSURE, NameScope.GLOBAL)
    if isinstance(root, ast.Name) and (
        root.id in ctx.arguments or ctx.scope.find(root.id)[0] in outer
    ):
        owner = source_text(func.value)
        message = f"`{owner}.{func.attr}` is a method of something that is not made here"
        help = f"collect in a list, dict or set made here, and add that to `{owner}` after the loop"
        refuse("LOWER_CALL", message, stmt, help=help)


def _lower_call_statement(ctx: Lowering, value: ast.expr, stmt: ast.stmt) -> None:
    """``a.resize(n, refcheck=False)``. Raises Refused for every other call, and for an expression
    that is no call.
    """
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="resize"), args=[lengths],
            keywords=[ast.keyword(arg="refcheck", value=ast.Constant(value=False))],
        ):
            lower_resize(ctx, name, lengths, stmt)
            return
        case ast.Call(func=func):
            refuse_library_call(ctx, value, resolve_object(ctx, func))
            if isinstance(func, ast.Attribute):
                refuse_missing_method(ctx, func)
    if isinstance(value, ast.Call):
        _refuse_outer_collection(ctx, value.func, stmt)
        refuse_number(ctx, value.func, "LOWER_CALL", "cannot be called", help=HELP_FOR_CALLEES)
        name = source_text(value.func)
        message = f"`{name}` is not a function that can be compiled"
        for_print = _PRINT_HELP if ctx.b.path.frames else _PRINT_OUTSIDE_HELP
        refuse("LOWER_CALL", message, stmt, help=for_print if name == "print" else None)
    first_line = source_text(value).partition("\n")[0]
    refuse("LOWER_UNSUPPORTED", f"`{first_line}` is not compiled as a statement", stmt)


def _lower_replay_guard(ctx: Lowering, stmt: ReplayIf, live: frozenset[str]) -> None:
    """A replay guard: the call is replayed where its test holds; else its ``orelse`` is lowered.

    The operands of an ``or`` are required one by one, so that those that can be evaluated at kernel
    entry become guards.
    """
    match stmt.test:
        case ast.BoolOp(op=ast.Or(), values=alternatives):
            pass
        case test:
            alternatives = [test]
    for alternative in alternatives:
        require(ctx.b, logical_not(lower_test(ctx, alternative)), "GUARD_SHAPE", stmt)
    lower_block(ctx, stmt.orelse, live)


def _lower_name_assignment(ctx: Lowering, name: str, value: ast.expr, stmt: ast.stmt) -> None:
    """``name = value``. The first case that applies decides how the name is bound:

    - to a kernel parameter: ``r["x"]``, ``p.part``, fields and members of arguments;
    - to a list under construction: ``[]``, or the name of one;
    - to a new array, or a finished list: ``np.zeros(n)``, ``x.reshape(m)``, ``np.array(v)``, and so
      on (`_bind_array_call`);
    - to an array: a list of fixed length, ``[a, b]`` or ``[0] * n``;
    - to the same union: a name that may be one of several arrays;
    - to a reference, without a copy: an array, a view, a record;
    - else to a scalar.
    """
    b = ctx.b
    if bind_record_field(ctx, name, value) or bind_object_member(ctx, name, value):
        return
    if isinstance(value, ast.List) and not value.elts:
        _start_empty_list(ctx, name, stmt)
        return
    if isinstance(value, ast.Name) and isinstance(b.env.get(value.id), ListRef):
        b.env[name] = b.env[value.id]
        return
    if isinstance(value, ast.Call) and _bind_array_call(ctx, name, value):
        return
    if bind_small_list(ctx, name, value) or bind_repeated_list(ctx, name, value):
        return
    if isinstance(value, ast.Name):
        ambiguous = first_ambiguous_array(b, [value.id])
        if ambiguous is not None:
            b.env[name] = ambiguous
            return
    array = as_record_array(ctx, value) or lower_array(ctx, value)
    if array is not None:
        b.env[name] = array
        return
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.List):  # ``[0] * n``
        message = f"not all that is done with the list `{name}` is compiled"
        refuse("LOWER_UNSUPPORTED", message, value, help=HELP_FOR_LISTS)
    _bind_name(ctx, name, lower_scalar(ctx, value))


def _start_empty_list(ctx: Lowering, name: str, stmt: ast.stmt) -> None:
    """``name = []``. Raises UnknownListLength in a loop or branch, and for a second list of this
    name: such lists are lowered as dynamic lists.
    """
    b = ctx.b
    if b.path.frames or b.path.branches:
        refuse_unknown_length(name, "a list is made inside a loop or branch", stmt)
    if name in ctx.lists.builders:
        refuse_unknown_length(name, f"another list is made under the name `{name}`", stmt)
    b.env[name] = ListRef(name)
    buffer = b.name(f"{name.lstrip('_') or 'list'}_items")
    ctx.lists.builders[name] = start_list(ctx, name, buffer)


def _bind_array_call(ctx: Lowering, name: str, call: ast.Call) -> bool:
    """Binds `name` to the array or list that `call` makes, and returns True, if it is an
    allocation, a reshape of an array made here, or ``np.array``, ``list`` or ``tuple`` of an
    append-only list. Else returns False.
    """
    b = ctx.b
    function = resolve_object(ctx, call.func)
    if is_allocator(function):
        lower_allocation(ctx, name, call)
        return True
    if (reshaped := reshaped_at_end(ctx, call)) is not None:
        b.env[name] = reshaped
        return True
    match call.args:
        case [ast.Name(id=source)] if isinstance(
            ref := b.env.get(source), ListRef
        ) and function in (*ARRAY_OF_ITEMS, list, tuple):
            finished = finish_list(ctx, ref.name, call)
            b.env.update({n: Unbound() for n, v in b.env.items() if v == ref})
            b.env[name] = finished
            return True
    return False


def _bind_name(ctx: Lowering, name: str, n: Scalar) -> None:
    """Binds `name` to the scalar `n`. Constants, variables and Python ints with a known linear form
    are bound as they are; any other value is assigned to a variable, so that it is computed once.

    Raises NeedsComplexSplit for a complex number.
    """
    b = ctx.b
    if isinstance(n, ComplexPair):
        raise NeedsComplexSplit(name, python=n.strong is None)
    if isinstance(n, UnionValue):
        b.env[name] = bind_scalar(ctx, n, name)
        return
    is_cheap = isinstance(n.ir, (Const, Var)) or (n.python_int and n.linear is not None)
    b.env[name] = n if is_cheap else bind_num(b, n, name)


def _lower_stored_value(ctx: Lowering, value: ast.expr) -> Scalar:
    """The scalar that is stored in an element. Raises Refused for a whole array."""
    if lower_array(ctx, value) is not None:
        refuse("LOWER_UNSUPPORTED", f"`{source_text(value)}` is a whole array", value)
    return lower_scalar(ctx, value)


def _refuse_unpacking(
    ctx: Lowering, targets: Sequence[ast.expr], value: ast.expr, count: int
) -> NoReturn:
    """Refuses the unpacking of a `value` that has `count` items; 0: their number is not known
    when the function is compiled.
    """
    starred = next((t for t in targets if isinstance(t, ast.Starred)), None)
    if starred is not None:
        message = f"`{source_text(starred)}` takes a number of items that is not known"
        help = "write a slice in its place, as in `first, rest = x[0], x[1:]`"
        refuse("LOWER_UNSUPPORTED", message, starred, help=help)
    message = f"the number of items of `{source_text(value)}` is not known"
    help = "write one assignment for each item"
    if not count:
        refuse_number(ctx, value, "LOWER_UNSUPPORTED", "has no items to unpack", help=help)
    if count:
        items = counted(count, "item")
        message = f"`{source_text(value)}` has {items}, not the {len(targets)} to unpack"
        help = "unpack into as many names as there are items"
    if count == len(targets):
        message = f"`{source_text(value)}` is unpacked into something else than names"
        help = "write one assignment for each item"
    refuse("LOWER_UNSUPPORTED", message, value, help=help)


def _lower_unpacking(
    ctx: Lowering, targets: list[ast.expr], value: ast.expr, stmt: ast.stmt
) -> None:
    """``x, y = value`` for names: a tuple display, a pair that `complex_split` has made of a
    complex number, or a call or attribute with a tuple of a known length. All values are computed
    before the names are bound.
    """
    values: Sequence[Value]
    if isinstance(value, ast.Tuple):
        values = [bind_scalar(ctx, lower_scalar(ctx, v), "t") for v in value.elts]
    elif isinstance(value, ComplexParts):
        name = ast.unparse(targets[0])
        number = bind_scalar(ctx, lower_number(ctx, value.value), name)
        values = split_complex_value(ctx, number, name, stmt, python=value.python)
    else:
        lowered = lower_value(ctx, value)
        values = lowered if isinstance(lowered, tuple) else ()
    if len(values) != len(targets) or not all(isinstance(t, ast.Name) for t in targets):
        _refuse_unpacking(ctx, targets, value, len(values))
    for target, v in zip(targets, values, strict=True):
        assert isinstance(target, ast.Name)
        ctx.b.env[target.id] = v


def _lower_for_each_array(
    ctx: Lowering, ambiguous: UnionValue, block: Sequence[ast.stmt], live: frozenset[str]
) -> None:
    """Lowers `block`, which reads `ambiguous`, one of several arrays, as an ``if`` with `block` in
    both branches: where a condition on which the array depends holds, and where it does not.

    In each branch fewer arrays are possible; if there are still several, `block` is split again.
    """
    ctx.b.array_version_depth += 1
    lower_branches(ctx, deciding_condition(ambiguous.cases), block, block, block[0], live)
    ctx.b.array_version_depth -= 1


STATEMENTS: dict[type[ast.stmt], Callable[[Lowering, Any, frozenset[str]], None]] = {
    ast.Pass: _lower_pass,
    ast.Expr: _lower_expression_statement,
    ast.Assign: _lower_assignment,
    ast.AugAssign: _lower_augmented_assignment,
    ast.If: _lower_if_statement,
    ReplayIf: _lower_replay_guard,
    ast.Raise: _lower_raise,
    ast.Assert: _lower_raise,
    ast.Delete: _lower_delete_statement,
    ast.For: _lower_loop_statement,
    ast.While: _lower_loop_statement,
}
"""The rule for each type of statement: ``rule(ctx, stmt, live)``, where ``live`` are the names that
are read after `stmt`. `_lower_statement` calls it, through `Rules.statements`.

A statement of a type without a row, such as ``with`` or ``class``, is refused (LOWER_UNSUPPORTED).
The macros of ``transpile/expand.py`` have run before: ``for`` loops here are over ranges, and what
is left of ``try``, ``match`` or ``with`` is what no macro could express in core Python.
"""
