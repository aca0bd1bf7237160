"""The body of an inlined callee: arguments bound, local names made fresh, ``return`` eliminated.

`instantiate_body` makes the statements that take the place of a call::

    def f(a, k=2):                     y = f(x[0])
        b = a * k
        a += b
        return a
→
    _a = x[0]                          # f assigns `a`, so it gets a fresh name
    _b = _a * 2                        # f only reads `k`, and 2 is a constant
    _a += _b
    return _a

`eliminate_return` then removes the ``return``; its docstring has an example.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import NamedTuple

import numpy as np

from ...analysis.definite_assignment import first_unassigned_read
from ...diagnostics import InlinedAt
from ...host_nodes import HostExpr, from_ast
from ..ast_names import bound_names, local_names, names_used, rename_names
from ..ast_walk import copy_tree, is_none, replace_node, walk_nodes
from ..core_nodes import copy_location, inlined_at, mark_internal, relocate
from ..defining_modules import is_stand_in
from ..fold_branches import (
    constant_of,
    drop_excluded_branches,
    fold_branches,
    literal_source,
    renamed_fact,
)
from ..language.structure_exits import ExitStructurer, always_leaves, exits_of
from ..macros.macro_context import Context
from ..refusal import refuse
from .callees import Callee, bind_arguments, fillable_parameters, object_type_of
from .inlining_state import Inlining
from .local_imports import ImportPlace, imports_in, loaded_imports

__all__ = [
    "capture_imports", "eliminate_return", "import_place", "instantiate_body", "nonlocal_names",
    "open_call",
]


def instantiate_body(
    state: Inlining, callee: Callee, expr: HostExpr, call: ast.Call,
    bind: Callable[[str, ast.expr], list[ast.stmt]],
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The body of `callee` as statements for the place of `call`, and the statements that bind its
    arguments, which come before the body. The module's docstring has an example; `_inline_callee`
    of the inliner calls it, and removes the ``return`` afterwards.

    Names are replaced in one step: parameters (`_bind_parameters`), free names that would mean
    something else in the caller (`CapturedNames.rename_free_names`), imported names, and other
    local names, which become fresh. Then branches are removed that the constants among the
    arguments, or the tests around the call, exclude. The nodes get the position of the call, and
    the line of the callee as their origin.

    `expr` evaluates to the callee at each call; ``bind(name, value)`` makes the statements that
    bind a name to an argument. Raises Refused where the arguments do not fit, where a local may be
    unbound, and where the budget is spent (`_spend_nodes`).
    """
    tree = callee.tree
    state.cx.reserve(names_used(tree))
    imported, statements = _callee_imports(state, callee, expr)
    assigned = bound_names(*statements) | nonlocal_names(tree)
    # name in the callee -> the name or expression that takes its place
    names: dict[str, str | ast.expr] = dict(state.captures.rename_free_names(callee, expr))
    names |= imported
    state.cx.at = call
    arguments = [*bind_arguments(callee, call, lambda c, p: _default(state, c, expr, p))]
    if functions := dict(_function_arguments(state, arguments)):  # ``if key is None``
        statements = fold_branches([copy_tree(s) for s in statements], functions)
    bound = _bind_parameters(state, arguments, assigned, bool(bound_names(call)), bind)
    names |= bound.names
    names.update({n: state.fresh(n) for n in sorted(local_names(tree) - names.keys())})
    fresh = {n for n in names.values() if isinstance(n, str)}
    state.captures.local |= {n for n in fresh if n not in state.scope.others}
    body = [rename_names(s, names) for s in statements]
    _spend_nodes(state, body, callee, call)
    _move_to_call(state, body, callee, call)
    # what enclosing tests state of an argument holds for its parameter, too
    copies = {v.id: names[p] for p, v in arguments if isinstance(v, ast.Name)}
    facts = [*state.known_facts, *(renamed_fact(fact, copies) for fact in state.known_facts)]
    body = drop_excluded_branches(fold_branches(body, bound.constants), facts)
    body = body or [copy_location(ast.Pass(), call)]
    body = _bind_unassigned_reads(state, callee, body, names, bound.constants, call)
    return body, bound.before


def _function_arguments(
    state: Inlining, arguments: Sequence[tuple[str, ast.expr]]
) -> Iterator[tuple[str, object]]:
    """The parameters whose arguments are functions, each with something that is not None: the
    lambda, or the function object, of which it is guarded that the argument names it.
    """
    for parameter, e in arguments:
        if isinstance(e, ast.Lambda):
            yield parameter, e
        elif isinstance(e, ast.Name) and e.id in state.local_functions:
            yield parameter, state.local_functions[e.id]
        elif isinstance(value := state.resolve(e), FunctionType):
            state.captures.guard_function(from_ast(e), value)
            yield parameter, value
        elif isinstance(value, (BuiltinFunctionType, np.ufunc)):
            state.captures.identities[from_ast(e)] = value
            yield parameter, value


class _BoundParameters(NamedTuple):
    """What becomes of the parameters of one inlined call."""

    names: dict[str, str | ast.expr]  # parameter -> the name or expression that takes its place
    before: list[ast.stmt]  # the statements that bind arguments to these names
    constants: dict[str, object]  # name that is not bound yet -> the constant that it starts as


def _bind_parameters(
    state: Inlining, arguments: Sequence[tuple[str, ast.expr]], assigned: Collection[str],
    has_walrus: bool, bind: Callable[[str, ast.expr], list[ast.stmt]],
) -> _BoundParameters:
    """Decides what takes the place of each parameter; ``arguments`` has the parameters with their
    arguments, ``assigned`` the names that the callee binds.

        def f(a, k, n): n += 1; …     called as f(x[0], 2, 3)
        →  _a = x[0] before the body;  2 in place of k;  _n, a constant 3 at the start

    1. The argument itself, where no statement can tell the difference: the callee never assigns the
       parameter, and the argument is a constant or `_is_substitutable`. Not if the call has a
       walrus, which must be evaluated at the call.
    2. A fresh name that is not bound here, where the callee assigns the parameter and the argument
       is a constant: `fold_branches` puts the constant in place of reads, and
       `_bind_unassigned_reads` binds the name if a read of the constant is left.
    3. Else a fresh name that is bound before the body.
    """
    names: dict[str, str | ast.expr] = {}
    before: list[ast.stmt] = []
    constants: dict[str, object] = {}
    for parameter, value in arguments:
        constant = constant_of(value, {})
        substitutable = constant is not None or _is_substitutable(state, value)
        if parameter not in assigned and not has_walrus and substitutable:
            names[parameter] = value if constant is None else literal_source(constant.value)
            continue
        names[parameter] = name = state.fresh(parameter)
        if constant is not None and parameter in assigned:
            constants[name] = constant.value
        else:
            before += bind(name, value)
    return _BoundParameters(names, before, constants)


def _callee_imports(
    state: Inlining, callee: Callee, expr: HostExpr
) -> tuple[dict[str, str | ast.expr], list[ast.stmt]]:
    """As `capture_imports`, for the body of `callee`."""
    place = import_place(state, callee, expr)
    return capture_imports(state, callee.body, place) if place else ({}, callee.body)


def import_place(state: Inlining, callee: Callee, expr: HostExpr) -> ImportPlace | None:
    """The function whose imports `capture_imports` takes, if `callee` has any; None for a lambda,
    which has none. ``expr`` evaluates to the callee at each call.
    """
    if not isinstance(callee.tree, ast.FunctionDef):
        return None
    if callee.function is not None:
        return ImportPlace.of_callee(callee.tree, callee.function, expr)
    return state.local_places.get(callee.tree)


def capture_imports(
    state: Inlining, body: list[ast.stmt], place: ImportPlace
) -> tuple[dict[str, str | ast.expr], list[ast.stmt]]:
    """Takes the imports out of `body` that Python would only look up (`loaded_imports`). Returns
    the captured name for each name that they bind, by which the caller replaces it; and the other
    statements.

        import numpy as np
        y = np.sqrt(x)         →     {"np": "_np"}, and  y = np.sqrt(x)
    """
    names: dict[str, str | ast.expr] = {}
    others: list[ast.stmt] = []
    for s in body:
        found = [loaded_imports(each, place) for each in imports_in(s)]
        for new in (new for several in found for new in several or ()):
            state.captures.identities.update(new.guards)
            names[new.name] = state.captures.capture(new.name, new.expr, new.value)
        if any(several is not None for several in found):
            rest = copy_tree(s)
            for each, several in zip([*imports_in(rest)], found, strict=True):
                if several is not None:
                    rest = replace_node(rest, each, copy_location(ast.Pass(), each))
            s = rest
        if not isinstance(s, ast.Pass):
            others.append(s)
    return names, others or [copy_location(ast.Pass(), body[-1])]


def _bind_unassigned_reads(
    state: Inlining, callee: Callee, body: list[ast.stmt], names: Mapping[str, str | ast.expr],
    constants: Mapping[str, object], call: ast.Call,
) -> list[ast.stmt]:
    """`body`, preceded by assignments of those ``constants`` (`_BoundParameters`) that it may read
    before it assigns them. ``names``: the new name of each name of the callee.

    Raises Refused if the call is in a loop and another local may be read before it is assigned:
    Python raises UnboundLocalError there, and the inlined local would have its value of the
    iteration before. Outside of loops lowering finds such a read.
    """
    local = {n for p in local_names(callee.tree) if isinstance(n := names[p], str)}
    local -= state.scope.others.keys()  # imported names are captured
    parameters = {a.arg for a in walk_nodes(callee.tree.args) if isinstance(a, ast.arg)}
    bound = {n for p in parameters if isinstance(n := names[p], str)} - constants.keys()
    lines: list[ast.stmt] = []
    while (read := first_unassigned_read(body, bound, local)) is not None:
        if read.id not in constants:
            if not state.loop_depth:
                break
            original = {str(v): k for k, v in names.items()}
            unset = original[read.id]
            message = f"`{unset}` of `{callee.name}` may have no value"
            help = f"assign `{unset}` in `{callee.name}` on every path before it is read"
            refuse("LOWER_CALL", message, call, help=help)
        lines += state.cx.code("NAME = E", NAME=read.id, E=literal_source(constants[read.id]))
        bound.add(read.id)
    return [*lines, *body]


def _default(state: Inlining, callee: Callee, expr: HostExpr, parameter: str) -> ast.expr | None:
    """The expression of the default of `parameter`; None if it has none. `expr` evaluates to
    the callee. A function object has its defaults with it. Those of a function that the caller
    defines have been bound to names of the caller, unless they are constants
    (`inliner._define_local`).
    """
    if callee.function is not None:
        return state.captures.default_value(expr, callee.function, parameter)
    position = fillable_parameters(callee.tree.args).index(parameter)
    return callee.defaults[position]


def _is_substitutable(state: Inlining, e: ast.expr) -> bool:
    """Whether the argument `e` may stand wherever the callee reads its parameter (copy
    propagation): it has the same value there as at the call, and costs nothing to evaluate again.

        f(x, self.grid)   →   both are put into the body;   f(x[0])   →   _a = x[0] is bound before

    - a constant;
    - a name of the caller, as the callee's own names are fresh; but not one that a local function
      of the caller binds by ``nonlocal``, for the callee may call that function;
    - an attribute of an argument, ``self.grid``, whose value is an object, tuple or dict: compiled
      functions set only attributes that are numbers or arrays (`promotable_attributes`);
    - an attribute that a global has, such as ``np.float64``.
    """
    if isinstance(e, ast.Attribute):
        return object_type_of(e, state.fixed_types) is not None or state.resolve(e) is not None
    return isinstance(e, ast.Constant) or (
        isinstance(e, ast.Name) and e.id not in state.written_by_closures
    )


def _spend_nodes(state: Inlining, body: list[ast.stmt], callee: Callee, call: ast.Call) -> None:
    """Counts the AST nodes of `body`, which is about to be inlined, against the budget that all
    inlined bodies of one function share (`CompileBudget`). Raises Refused (BUDGET_EXCEEDED) where
    it is spent: calls that each call two others double the code at each level, and the compile time
    with it.
    """
    nodes = sum(1 for s in body for _ in walk_nodes(s))
    state.nodes_left -= nodes
    state.budget.spend_inlining(nodes)
    if state.nodes_left < 0:
        message = f"with `{callee.name}` the function exceeds its budget of inlined code"
        help = "call it in a loop, where it is inlined once, or write a recursion as a loop"
        refuse("BUDGET_EXCEEDED", message, call, help=help)


def _move_to_call(state: Inlining, body: list[ast.stmt], callee: Callee, call: ast.Call) -> None:
    """Gives the nodes of `body`, which is inlined for `call`, the position of the call, so that a
    report shows the user's line, and an origin that tells the callee's line (`InlinedAt`). Nodes
    that were inlined into the callee before keep their origin.

        y = helper(x)        # line 9; in tools.py, line 7: return x[0] / 2
        →   the node of the division:  line 9, inlined at "helper", tools.py:7

    Loops of a function that stands for a native one are marked as internal (`mark_internal`).
    """
    open_calls = *state.open_calls, open_call(callee, call)
    is_ours = callee.function is not None and is_stand_in(callee.function)
    for node in [n for s in body for n in walk_nodes(s)]:
        line = getattr(node, "lineno", None)
        if line is not None:
            origin = InlinedAt(callee.name, callee.path, line, callee.function, open_calls)
            relocate(node, call, inlined_at(node) or origin)
            if is_ours and isinstance(node, (ast.For, ast.While)):
                mark_internal(node)


def open_call(callee: Callee, call: ast.Call) -> tuple[object, tuple[object, ...]]:
    """The key of `callee`, and the constants among the arguments of `call`: an entry of
    `Inlining.open_calls`.
    """
    constants = (constant_of(a, {}) for a in (*call.args, *(k.value for k in call.keywords)))
    return callee.key, tuple(c.value for c in constants if c is not None)


def nonlocal_names(tree: ast.FunctionDef | ast.Lambda) -> set[str]:
    """The names that `tree`, or a function in it, declares nonlocal."""
    return {name for n in walk_nodes(tree) if isinstance(n, ast.Nonlocal) for name in n.names}


Body = list[ast.stmt]


def eliminate_return(body: Body, cx: Context) -> tuple[Body, ast.expr]:
    """`body` without ``return``, and an expression for its result. Called by
    `inliner._inline_callee`, when the calls in `body` have been inlined.

        if v < 0:
            return 0.0
        return v
    →
        if v < 0:
            _r = 0.0
        else:
            _r = v                # the result is _r

    The first of these that applies, as each needs less code than the next:

    1. No ``return``: `body`, and None.
    2. One ``return``, the last statement: the statements before it, and its value.
    3. No ``return`` in a loop: the result is bound where the ``return`` stands, as above. Not if a
       later statement then had to test a flag (`bind_in_place` gives None).
    4. Each ``return`` sets a flag, which ends the loops around it, and the result is bound after
       the body, by the flags (`bind_at_end`, with an example).

    If every path returns a tuple display of n items, the result is a display of n names; if all
    return None, it is None. Raises NotStructured for a ``return`` in a ``with`` or ``try`` that
    stays.
    """
    none = copy_location(ast.Constant(None), body[-1])
    if not any("return" in exits_of(s) for s in body):  # 1
        return body, none
    if isinstance(body[-1], ast.Return) and not any("return" in exits_of(s) for s in body[:-1]):
        return body[:-1], body[-1].value or none  # 2
    returns = [n for s in body for n in walk_nodes(s) if isinstance(n, ast.Return)]
    always_returns = always_leaves(body)
    names = _result_names([r.value for r in returns], always_returns, cx)
    if not always_returns:
        body = [*body, copy_location(ast.Return(none), body[-1])]
    structurer = _ReturnStructurer(cx, names)
    lines = None if _has_return_in_loop(body) else structurer.bind_in_place(body)  # 3
    lines = lines or structurer.bind_at_end(body)  # 4
    values: list[ast.expr] = [ast.Name(n, ast.Load()) for n in names]
    if not names:
        return lines, none
    is_tuple = any(_is_plain_tuple(r.value) for r in returns) and len(names) > 1
    return lines, ast.Tuple(values, ast.Load()) if is_tuple else values[0]


def _result_names(
    values: Sequence[ast.expr | None], always_returns: bool, cx: Context
) -> list[str]:
    """Fresh names for the result, given the `values` of all returns: none if it is always None, n
    if it is always a tuple display of n items, else one. ``always_returns``: whether every path
    returns; else the result may be None.
    """
    if all(v is None or is_none(v) for v in values):
        return []
    lengths = {len(v.elts) if _is_plain_tuple(v) else 0 for v in values}  # type: ignore[union-attr]  # is one
    count = max(lengths) if always_returns and len(lengths) == 1 else 0
    return [cx.fresh("r") for _ in range(count or 1)]


def _is_plain_tuple(v: ast.expr | None) -> bool:
    """Whether `v` is a tuple display without ``*``."""
    return isinstance(v, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in v.elts)


def _has_return_in_loop(body: Sequence[ast.stmt]) -> bool:
    loops = (n for s in body for n in walk_nodes(s) if isinstance(n, (ast.For, ast.While)))
    return any("return" in exits_of(s) for loop in loops for s in loop.body)


class _ReturnStructurer(ExitStructurer):
    """Replaces each ``return`` by assignments to the result's ``names``, see `eliminate_return`.

    ``returned_flag``: while `bind_in_place` runs, the one flag of all returns; else None, and each
    ``return`` gets a flag from `ExitStructurer`.
    """

    def __init__(self, cx: Context, names: list[str]) -> None:
        super().__init__(cx)
        self.names = names
        self.returned_flag: str | None = None

    def bind_in_place(self, body: Body) -> Body | None:
        """`body` with an assignment of the result in place of each ``return``. None if a later
        statement would have to test a flag, since it must run only where the function has not
        returned.
        """
        self.returned_flag = flag = self.cx.fresh("returned")
        lines = self.block(body)
        self.returned_flag, self.returns = None, []
        names = (n for s in lines for n in walk_nodes(s) if isinstance(n, ast.Name))
        if any(n.id == flag and isinstance(n.ctx, ast.Load) for n in names):
            return None
        return _without_assignments(flag, lines)

    def bind_at_end(self, body: Body) -> Body:
        """`body` with a flag for each ``return``, which ends the loops around that
        (`ExitStructurer`), and then an ``if`` chain over the flags, which binds the result::

            for i in range(n):           _returned = False
                if x[i] == v:            for i in range(n):
                    return 2 * i     →       if x[i] == v: _returned = True
            return -1                        if _returned: break
                                         if _returned: _r = 2 * i
                                         else: _r = -1
        """
        *lines, last = self.function(body)
        assert isinstance(last, ast.Return)
        chain = self._bind_result(last)
        if not chain:
            return [s for s in lines if not _is_flagged_return(s)]
        while lines and _is_flagged_return(flagged := lines[-1]):
            assert isinstance(flagged, ast.If)
            assert isinstance(flagged.body[0], ast.Return)
            result = self._bind_result(flagged.body[0])
            chain = [copy_location(ast.If(flagged.test, result, chain), flagged)]
            lines.pop()
        return [*lines, *chain]

    def flag(self, s: ast.stmt) -> str:
        if self.returned_flag is None or not isinstance(s, ast.Return):
            return super().flag(s)
        self.returns.append((self.returned_flag, s))
        return self.returned_flag

    def leave(self, s: ast.stmt) -> Body:
        in_place = isinstance(s, ast.Return) and self.returned_flag is not None
        return [*(self._bind_result(s) if in_place else []), *super().leave(s)]  # type: ignore[arg-type]  # is one

    def _bind_result(self, s: ast.Return) -> Body:
        """Assignments of the value of `s` to the result's names."""
        self.cx.at = s
        values = [s.value or ast.Constant(None)]
        if len(self.names) > 1:
            assert isinstance(s.value, ast.Tuple)
            values = s.value.elts
        pairs = zip(self.names, values, strict=False)  # no names: the value is None
        return [line for n, v in pairs for line in self.cx.code("NAME = E", NAME=n, E=v)]


def _is_flagged_return(s: ast.stmt) -> bool:
    """Whether `s` is ``if flag: return …``, as `ExitStructurer.function` puts at the end."""
    return isinstance(s, ast.If) and isinstance(s.body[0], ast.Return)


def _without_assignments(name: str, block: Body) -> Body:
    """`block` without the assignments of `name`, which nothing reads."""
    out: Body = []
    for s in block:
        match s:
            case ast.Assign(targets=[ast.Name(id=bound)]) if bound == name:
                continue
            case ast.If():
                s.body = _without_assignments(name, s.body) or [copy_location(ast.Pass(), s)]
                s.orelse = _without_assignments(name, s.orelse)
        out.append(s)
    return out
