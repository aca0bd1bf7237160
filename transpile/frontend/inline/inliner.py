"""Inliner: replaces calls of Python functions, methods and properties by the callees' bodies.

The walk goes statement by statement. Within a statement, calls are lifted in Python's order of
evaluation (`lift_statement`), so that every effect keeps its place::

    y = g(x) + f(x, 2)             # def f(a, k): b = a * k; return b + 1
→
    _t = g(x)                      # evaluated before the body of f, as in Python
    _b = x * 2                     # the parameters are replaced by their arguments
    y = _t + (_b + 1)

For each call:

1. `_find_callee` decides which function runs. NumPy's functions, builtins, draws of arrays
   and calls that a user's macro expands are no callees: macros and lowering take those.
2. `instantiate_body` makes a copy of the body with fresh local names.
3. `_inline_block` inlines the calls of that copy.
4. `eliminate_return` turns ``return`` into an assignment of the result.
5. `coalesce_results` gives a list or table that it returns the caller's name.

There is no cost model: each callee whose source can be used is inlined, until the budget
(`callee_body._spend_nodes`) or a limit of recursion ends it.

A call that cannot be inlined stays as it is, and the reason is noted in ``not_inlined``: it is
reported only if lowering then refuses the same place. The pipeline calls `inline_calls`
once before macro expansion, and `inline_uncovered` as a macro during expansion, for the calls in
comprehensions and wherever else a macro has made a call a part of a plain statement.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType

from ... import core_functions, ops
from ...analysis.access_paths import access_path_type
from ...diagnostics import Refused
from ...expand import expand_try
from ...host_nodes import HostAttribute, HostExpr, HostHelper, HostName, from_ast
from ...random_numbers import Draw, array_draw_of, draw_of
from ...types.typeof import global_type
from ...types.value_types import ArgType, Function, WrappedFunction
from ..ast_names import bound_names, generator_yield, rename_names
from ..ast_walk import child_nodes, copy_tree, subscript_items, walk_nodes
from ..core_nodes import copy_location, inlined_at
from ..defining_modules import is_native, is_numpys, is_stand_in, module_of
from ..fold_branches import less_than
from ..language.structure_exits import NotStructured, structure_loops
from ..macros.lift_statements import LiftedExpression, lift_statement
from ..macros.macro_context import Context
from ..refusal import refuse
from .callee_body import (
    capture_imports,
    eliminate_return,
    import_place,
    instantiate_body,
    nonlocal_names,
    open_call,
)
from .callees import (
    Callee,
    NotInlined,
    callee_of,
    fillable_parameters,
    is_property,
    local_callee,
    method_called,
)
from .coalesce_results import coalesce_results
from .inlining_state import Inlining
from .library_functions import LIBRARY_MODULES, library_function_of
from .local_imports import ImportPlace

__all__ = ["inline_calls", "inline_uncovered"]

_MAX_DEPTH = 24
"""Maximum nesting of calls of one function within each other (recursion)."""

_MAX_SAME_CONSTANTS = 3
"""Maximum nesting of calls of one function with the same constant arguments (calls without
constants count as the same): such a recursion does not end at compile time.
"""

_REFUSES_CALLER = ("BUDGET_EXCEEDED", "LOWER_RECURSION")
"""The codes of the limits without which inlining would not end, or not soon. Where one of them
refuses a callee, the caller is refused as a whole.
"""


# -- Entry points


def inline_calls(state: Inlining) -> ast.FunctionDef:
    """The function with its calls inlined. Calls in comprehensions stay: macros turn these
    into loops first, and `inline_uncovered` then inlines the calls.
    """
    _bind_function_arguments(state)
    _bind_imported_names(state)
    state.tree.body = _inline_block(state, state.tree.body)
    return state.tree


def inline_uncovered(state: Inlining, node: ast.AST, cx: Context) -> ast.expr | None:
    """A macro on expressions, for calls that `inline_calls` could not reach, such as those in
    comprehensions: `node`, inlined. The statements that compute the result are given to `cx`, and
    the expression of the result is returned. None for a node that is no call (or property, or item
    of a call's result), or that is not inlined.
    """
    if not isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        return None
    outer, state.cx = state.cx, cx
    outer_calls, origin = state.open_calls, inlined_at(node)
    # The body that the call came from has been inlined, but for its comprehensions.
    state.open_calls = [*origin.open_calls] if origin else outer_calls
    state.loop_depth += cx.depth
    try:
        inlined = _inline_expression(state, node)
    finally:
        state.loop_depth -= cx.depth
        state.cx, state.open_calls = outer, outer_calls
    if inlined is None:
        return None
    before, value = structure_loops(inlined.before, cx), inlined.value
    if cx.members is not None:
        before, value = [cx.members(s) for s in before], cx.members(value)
    cx.bind(bound_names(*before))
    cx.before(*before)
    return value


# -- Statements


def _inline_block(state: Inlining, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """`statements` with their calls inlined. Definitions of local functions that are only
    called later in this block are removed.
    """
    out: list[ast.stmt] = []
    for index, s in enumerate(statements):
        state.cx.at = s
        if (definition := _local_definition(state, s, statements, index)) is not None:
            out += definition
        else:
            out += _inline_statement(state, s)
    return out


def _bind_function_arguments(state: Inlining) -> None:
    """Replaces parameters that are bound to functions by captured names, which resolve to the
    function of this signature. Parameters that the caller rebinds are left alone.
    """
    rebound = bound_names(*state.tree.body) | nonlocal_names(state.tree)
    names: dict[str, str | ast.expr] = {
        name: state.captures.capture_argument(name, ty.value)
        for name, ty in state.types.items()
        if isinstance(ty, Function) and name not in rebound
    }
    if names:
        state.tree.body[:] = [rename_names(s, names) for s in state.tree.body]


def _bind_imported_names(state: Inlining) -> None:
    """Removes imports of loaded modules; captured names replace those that they bind."""
    place = ImportPlace.of_caller(state.tree, state.scope)
    state.import_places.append(place)
    names, body = capture_imports(state, state.tree.body, place)
    state.tree.body[:] = [rename_names(s, names) for s in body] if names else body


def _local_definition(
    state: Inlining, s: ast.stmt, block: Sequence[ast.stmt], index: int
) -> list[ast.stmt] | None:
    """If `s`, statement `index` of `block`, defines a function whose calls can be inlined: the
    statements that evaluate its defaults, which replace the definition.

    None if `s` is no ``def`` without decorators and no ``f = lambda …``, if that is a generator, if
    the name occurs outside the rest of `block`, is bound again, or is a parameter.
    """
    match s:
        case ast.FunctionDef(name=name, decorator_list=[]):
            tree: ast.FunctionDef | ast.Lambda = s
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as tree):
            pass
        case _:
            return None
    if generator_yield(tree) is not None:
        return None
    everywhere = {n for t in (*state.open_bodies[-1], *block) for n in walk_nodes(t)}
    rest_of_block = {n for t in block[index:] for n in walk_nodes(t)}
    elsewhere = (
        n for n in everywhere - rest_of_block if isinstance(n, (ast.Name, ast.FunctionDef))
    )
    if name in {getattr(n, "id", getattr(n, "name", "")) for n in elsewhere}:
        return None
    parameters = {a.arg for a in walk_nodes(state.tree.args) if isinstance(a, ast.arg)}
    if name in bound_names(*block[index + 1 :]) | state.written_by_closures | parameters:
        return None
    return _define_local(state, name, tree)


def _inline_statement(state: Inlining, s: ast.stmt) -> list[ast.stmt]:
    """`s` with the calls in it, and in its blocks, inlined.

    Forms whose parts are not evaluated exactly once, from left to right, are rewritten first:

    - ``while f(x): …`` → ``while True: if not f(x): break; …``
    - ``f(x) if c else g(x)`` as a statement → ``if c: f(x)`` with ``else: g(x)``
    - ``a[i] += f(x)`` and ``o.a += f(x)``: see `_inline_in_augmented` and
      `_split_attribute_update`
    """
    match s:
        case ast.While(test=test, body=body, orelse=[]) if _has_inlined_calls(state, test):
            leave = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
            for node in walk_nodes(leave):
                if not hasattr(node, "lineno"):
                    copy_location(node, test)
            endless = ast.While(copy_location(ast.Constant(True), test), [leave, *body], [])
            s = copy_location(endless, s)
        case ast.Expr(value=ast.IfExp(test=test, body=body, orelse=orelse)):
            then, other = (copy_location(ast.Expr(e), e) for e in (body, orelse))
            s = copy_location(ast.If(test, [then], [other]), s)
        case ast.AugAssign(target=ast.Subscript() as target):
            return _inline_in_augmented(state, s, target)
        case ast.AugAssign(target=ast.Attribute() as target, value=value) if (
            _has_inlined_calls(state, value)
        ):
            return _inline_block(state, _split_attribute_update(state, s, target))
    *before, last = _lift_calls(state, s)
    _descend(state, last)
    match last:
        case ast.Expr(value=ast.Constant() | ast.Name()) if last is not s:
            return before  # nothing uses the result of the call
    return coalesce_results(state, before, last) if before else [last]


def _lift_calls(state: Inlining, s: ast.stmt) -> list[ast.stmt]:
    """The statements of the calls that were lifted out of `s`, then `s` without them;
    the blocks of `s` are not visited.
    """
    if not _has_calls(state, s):
        return [s]
    return lift_statement(s, state.cx, partial(_inline_expression, state)) or [s]


def _has_calls(state: Inlining, s: ast.stmt) -> bool:
    """Whether an expression of `s` itself, not of its blocks, has a call or a property."""
    return any(
        isinstance(n, ast.Call)
        or (isinstance(n, ast.Attribute) and is_property(n, state.fixed_types))
        for n in walk_nodes(*(e for e in child_nodes(s) if isinstance(e, ast.expr)))
    )


def _split_attribute_update(
    state: Inlining, s: ast.AugAssign, target: ast.Attribute
) -> list[ast.stmt]:
    """``o.a += f(x)`` → ``_a = o.a``; ``_a += f(x)``; ``o.a = _a``: Python reads the attribute
    before it calls f.
    """
    text = "NAME = TARGET\nNAME += E\nTARGET = NAME"
    lines = state.cx.code(text, NAME=state.fresh(target.attr), TARGET=target, E=s.value)
    assert isinstance(lines[1], ast.AugAssign)
    lines[1].op = s.op
    return lines


def _inline_in_augmented(
    state: Inlining, s: ast.AugAssign, target: ast.Subscript
) -> list[ast.stmt]:
    """``a[i] += f(x)`` with its calls inlined: the body of f, then ``a[i] += result``.

    Python reads ``a[i]`` before it calls f, and here f comes first. So `s` stays as it is if
    the body stores to any element. Calls in the subscripts are evaluated before both.
    """
    if _has_inlined_calls(state, target.slice) and not _has_inlined_calls(state, target.value):
        return _inline_block(state, _evaluate_subscripts_first(state, s, target))
    *before, last = _lift_calls(state, s)
    subscripts = (n for b in before for n in walk_nodes(b) if isinstance(n, ast.Subscript))
    if any(not isinstance(n.ctx, ast.Load) for n in subscripts):
        return [s]
    return [*before, last]


def _evaluate_subscripts_first(
    state: Inlining, s: ast.AugAssign, target: ast.Subscript
) -> list[ast.stmt]:
    """``a[f(i)] += e`` → ``_i = f(i)``; ``a[_i] += e``. Changes `target`."""
    indices = subscript_items(target)
    lines: list[ast.stmt] = []
    for axis, index in enumerate(indices):
        if not isinstance(index, (ast.Slice, ast.Constant)):
            name = state.fresh("i")
            lines += state.cx.code("NAME = E", NAME=name, E=index)
            indices[axis] = copy_location(ast.Name(name, ast.Load()), index)
    if not isinstance(target.slice, ast.Tuple):
        target.slice = indices[0]
    return [*lines, s]


def _descend(state: Inlining, s: ast.stmt) -> None:
    """Inlines in the blocks of the loop, ``if`` or ``try`` `s`, in place. While the body of an
    ``if`` is visited, ``known_facts`` has the comparison that its test states.
    """
    match s:
        case ast.For() | ast.While():
            state.loop_depth += 1
            s.body = _inline_block(state, s.body)
            state.loop_depth -= 1
            s.orelse = _inline_block(state, s.orelse)
        case ast.If():
            outer, fact = state.known_facts, less_than(s.test)
            if fact and not fact.names & (bound_names(*s.body) | state.written_by_closures):
                state.known_facts = [*outer, fact]
            s.body = _inline_block(state, s.body)
            state.known_facts = outer
            s.orelse = _inline_block(state, s.orelse)
        case ast.Try():
            for handler in s.handlers:
                handler.body = _inline_block(state, handler.body)
            state.cx.handlers_around += bool(s.handlers)
            s.body = _inline_block(state, s.body)
            state.cx.handlers_around -= bool(s.handlers)
            s.orelse = _inline_block(state, s.orelse)
            s.finalbody = _inline_block(state, s.finalbody)


# -- Expressions


def _inline_expression(state: Inlining, e: ast.expr) -> LiftedExpression | None:
    """`e` inlined: a call, a property, or an item of a call's result, ``f(x)[1]``; None if `e`
    is nothing of the kind, or cannot be inlined. `lift_statement` calls it on an expression
    before the expressions in it.
    """
    match e:
        case ast.Call(func=func) if not is_property(func, state.fixed_types):
            return _inline_call(state, e)
        case ast.Attribute(ctx=ast.Load()) if is_property(e, state.fixed_types):
            return _inline_call(state, copy_location(ast.Call(e, [], []), e))
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int(index))):
            result = _inline_call(state, call)
            return None if result is None else _select_result(state, result, index, e)
    return None


def _select_result(
    state: Inlining, result: LiftedExpression, index: int, e: ast.Subscript
) -> LiftedExpression:
    """Item `index` of `result`, an inlined call that `e` subscripts. If the result is a tuple
    display, all items are computed, as in Python, and one is selected without a tuple.
    """
    match result.value:
        case ast.Tuple(elts=values) if -len(values) <= index < len(values):
            names = [state.fresh("t") for _ in values]
            pairs = zip(names, values, strict=True)
            lines = [b for n, v in pairs for b in state.cx.code("NAME = E", NAME=n, E=v)]
            return LiftedExpression(
                [*result.before, *lines], ast.Name(names[index], ast.Load())
            )
    item = ast.Subscript(result.value, e.slice, ast.Load())
    return LiftedExpression(result.before, copy_location(item, e))


def _inline_call(state: Inlining, call: ast.Call) -> LiftedExpression | None:
    """`call` inlined; None if it stays a call, since it has no callee or the callee was refused.

    All refusals of the inliner arrive here: of the choice of the callee (`_find_callee`, and
    `callees.callee_of` for its source), of the arguments and locals (`instantiate_body`), of the
    budget (`_spend_nodes`), of recursion and ``return`` (`_inline_callee`). A refusal is noted in
    ``Inlining.not_inlined`` and not raised, as lowering may never see the call: its branch may be
    removed, or a macro may expand it. `inline_origins.refusal_in_source` reports it if lowering
    does refuse it. Limits (`_REFUSES_CALLER`) are raised: after them inlining would not end soon.
    """
    try:
        target = _find_callee(state, call)
        if target is None:
            return None
        return _inline_callee(state, _with_receiver(state, call), *target)
    except Refused as refused:
        if refused.rejection.code in _REFUSES_CALLER:
            raise
        state.not_inlined.append(refused)
        return None


def _find_callee(state: Inlining, call: ast.Call) -> tuple[Callee, HostExpr] | None:
    """The Python function that `call` runs, and a host expression that evaluates to it: at each
    call of the compiled code, guards test that the expression still gives the same function. None
    if there is nothing to inline, since macros or lowering take the call.

    The first of these that applies:

    1. A lambda that is called where it stands, or a local function: its source is in the caller.
    2. A method of an object that is an argument, or ``__call__`` of one (`method_called`).
    3. A method of a random generator. One that draws a scalar runs the Python function that has the
       generator's algorithm; one that draws an array is left for a macro, which makes a loop of
       scalar draws.
    4. A function of a C module of the standard library that `library_functions` has in Python.
    5. Nothing for functions of NumPy, of `transpile.ops` and of core Python, for builtins, and for
       calls that a user's macro expands: macros or lowering know them.
    6. The function that the name is bound to, in the module or the closure. A function or method
       that ``fuse`` decorates is inlined without its wrapper, so its options must give the same
       results as those of the caller.

    Whether its body can be inlined is found later, by `_inline_callee`. Raises Refused where its
    source cannot be used (`callee_of`), and for a function that ``fuse`` decorates with options
    that give other results.
    """
    func = call.func
    if isinstance(func, ast.Lambda):  # 1
        _define_local(state, name := state.fresh("lambda"), func)
        return state.local_functions[name], HostName(name)
    if isinstance(func, ast.Name) and func.id in state.local_functions:
        return state.local_functions[func.id], HostName(func.id)
    method = method_called(func, state.fixed_types)  # 2
    if method is not None:
        if method.shadow_test is not None:
            state.captures.identities[method.shadow_test] = False
        return _callee_of_value(state, method.function, method.expr, call)
    # 3
    if array_draw_of(call, partial(_generator_type, state), state.resolve) is not None:
        return None
    if (draw := _draw(state, func)) is not None:
        expr = HostAttribute(HostHelper("draws"), draw.runs.__name__)
        return _callee_of_function(state, draw.runs, call), expr
    value = state.resolve(func)  # 4
    if module_of(value) in LIBRARY_MODULES and (function := library_function_of(value)) is not None:
        state.captures.identities[from_ast(func)] = value
        return _callee_of_function(state, function, call), from_ast(func)
    # 5
    is_known_library_function = isinstance(value, FunctionType) and _is_library_function(value)
    if is_known_library_function or is_native(value) or _is_expanded_by_user(state, call):
        return None
    # 6
    return None if value is None else _callee_of_value(state, value, from_ast(func), call)


def _callee_of_value(
    state: Inlining, value: object, expr: HostExpr, call: ast.Call
) -> tuple[Callee, HostExpr] | None:
    """As `_find_callee`, for `value`, which `expr` evaluates to: a Python function, or one that
    ``fuse`` decorates. None for other values.
    """
    if isinstance(value, WrappedFunction) and not state.options.computes_as(value.options):
        message = f"`{ast.unparse(call.func)}` is fused with options of its own"
        help = "give both functions the same `reassociate`, `contract`, `fast` and `portable`"
        refuse("LOWER_CALL", message, call, help=help)
    function = state.captures.python_function(expr, value)
    return None if function is None else (_callee_of_function(state, function, call), expr)


def _callee_of_function(state: Inlining, function: FunctionType, call: ast.Call) -> Callee:
    """The callee for `function`, whose source is read once. Raises Refused if it has none."""
    if function not in state.callees:
        state.callees[function] = callee_of(function)
    callee = state.callees[function]
    if isinstance(callee, NotInlined):
        message = f"`{ast.unparse(call.func)}` {callee.reason}"
        refuse("LOWER_CALL", message, call, help=callee.help)
    return callee


def _draw(state: Inlining, func: ast.expr) -> Draw | None:
    """The draw that a call of `func`, a method of a random generator, makes; None: no draw."""
    return draw_of(func, partial(_generator_type, state), state.resolve)


def _generator_type(state: Inlining, e: ast.expr) -> ArgType | None:
    """The type of `e`: a parameter, what a parameter holds, or a global; None for others."""
    ty = state.fixed_types.get(e.id) if isinstance(e, ast.Name) else None
    return ty or access_path_type(e, state.fixed_types) or global_type(state.resolve(e))


def _with_receiver(state: Inlining, call: ast.Call) -> ast.Call:
    """`call` with the first argument that its callee expects and the source does not write:
    the object of a method, or the state of a random generator.
    """
    if (draw := _draw(state, call.func)) is not None:
        args = [*state.captures.draw_arguments(draw), *call.args]
        return copy_location(ast.Call(call.func, args, call.keywords), call)
    method = method_called(call.func, state.fixed_types)
    if method is None or method.receiver is None:
        return call
    args = [copy_tree(method.receiver), *call.args]
    return copy_location(ast.Call(call.func, args, call.keywords), call)


def _is_expanded_by_user(state: Inlining, call: ast.Call) -> bool:
    """Whether a macro of the user's expands `call`. What it would expand to is discarded."""
    try:
        return any(m(call, state.cx) is not None for m in state.user_macros)
    finally:
        state.cx.take_before()


def _inline_callee(
    state: Inlining, call: ast.Call, callee: Callee, expr: HostExpr
) -> LiftedExpression:
    """The statements that compute `call`, the body of `callee` among them, and the result as an
    expression. `expr` evaluates to the function; `guard_function` guards that it has the same code
    and globals at each call. Where that fails, as after the name was bound to another function, the
    dispatcher compiles another variant (`Dispatcher._variant_for_call`).

    The steps are those of the module's docstring: the body for these arguments
    (`instantiate_body`), the calls in it (`_inline_block`), its ``return`` (`eliminate_return`).

    Recursion is inlined, too, as it may end at compile time: of ``f(x, 3)`` that calls ``f(x, 2)``,
    the branches that the constant excludes are removed. So only in two cases the whole function is
    refused (LOWER_RECURSION), and runs as Python (`runtime.self_calls`):

    - `_MAX_DEPTH` calls of one function are open, one inside the other;
    - `_MAX_SAME_CONSTANTS` of them have the same constant arguments as this call: such a recursion
      does not end at compile time.

    Raises Refused (LOWER_CALL), too, for a ``return`` in a ``with`` or ``try`` that stays, and
    whatever `instantiate_body` raises.
    """
    callee_and_constants = open_call(callee, call)
    depth = sum(key == callee.key for key, _ in state.open_calls)
    same_constants = state.open_calls.count(callee_and_constants)
    if depth >= _MAX_DEPTH or same_constants >= _MAX_SAME_CONSTANTS:
        refuse("LOWER_RECURSION", f"`{callee.name}` calls itself more deeply than is inlined", call)
    if callee.function is not None and not is_stand_in(callee.function):
        state.captures.guard_function(expr, callee.function)
    body, before = instantiate_body(
        state, callee, expr, call, partial(_bind_argument, state)
    )
    state.open_calls.append(callee_and_constants)
    state.open_bodies.append(body)
    state.import_places.append(import_place(state, callee, expr) or state.import_places[-1])
    try:
        body = expand_try(_inline_block(state, body), before, state.cx)
        lines, value = eliminate_return(body, state.cx)
    except NotStructured:
        message = f"`{callee.name}` returns within a statement that stays Python, such as `with`"
        refuse("LOWER_CALL", message, call, help=f"return behind that statement of `{callee.name}`")
    finally:
        state.open_calls.pop()
        state.open_bodies.pop()
        state.import_places.pop()
    return LiftedExpression([*before, *lines], value)


def _bind_argument(state: Inlining, name: str, value: ast.expr) -> list[ast.stmt]:
    """``name = value``, with the calls in `value` inlined."""
    if isinstance(value, ast.Lambda):
        return _define_local(state, name, value)
    return _inline_block(state, state.cx.code("NAME = E", NAME=name, E=value))


def _define_local(state: Inlining, name: str, tree: ast.FunctionDef | ast.Lambda) -> list[ast.stmt]:
    """Makes the caller's function `tree` a callee, under `name`. Returns the statements that
    evaluate its defaults, as Python does where the function is defined.
    """
    before: list[ast.stmt] = []
    a = tree.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    pairs = [*zip(names[len(names) - len(a.defaults) :], a.defaults, strict=True)]
    pairs += [(p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d]
    defaults = {}
    for parameter, value in pairs:
        if not isinstance(value, ast.Constant):
            variable = state.fresh(parameter)
            before += state.cx.code("NAME = E", NAME=variable, E=value)
            value = ast.Name(variable, ast.Load())
        defaults[parameter] = value
    values = tuple(defaults.get(p) for p in fillable_parameters(a))
    state.local_functions[name] = local_callee(tree, state.source.path, values)
    if isinstance(tree, ast.FunctionDef):
        state.local_places[tree] = replace(state.import_places[-1], tree=tree)
    state.written_by_closures |= nonlocal_names(tree)
    return _inline_block(state, before)


def _has_inlined_calls(state: Inlining, e: ast.expr) -> bool:
    """Whether `e` has a call or a property that is inlined."""
    nodes = [*walk_nodes(e)]
    properties = (
        isinstance(n, ast.Attribute) and is_property(n, state.fixed_types) for n in nodes
    )
    return any(properties) or any(
        _is_inlined(state, n) for n in nodes if isinstance(n, ast.Call)
    )


def _is_inlined(state: Inlining, call: ast.Call) -> bool:
    """Whether `call` has a callee that may be inlined. Its body may still be refused."""
    try:
        if is_property(call.func, state.fixed_types):
            return False  # the property is inlined, and its value is what is called
        return _find_callee(state, call) is not None
    except Refused:
        return False


def _is_library_function(function: FunctionType) -> bool:
    """Whether macros or lowering know `function`: of NumPy, `transpile.ops` or core Python."""
    return is_numpys(function) or module_of(function) in (ops.__name__, core_functions.__name__)
