"""Inliner: replaces calls of Python functions, methods and properties by the callees' bodies.

The walk goes statement by statement. Within a statement, calls are lifted in Python's order of
evaluation (`lift_statement`), so that every effect keeps its place::

    y = g(x) + f(x, 2)             # def f(a, k): b = a * k; return b + 1
→
    _t = g(x)                      # evaluated before the body of f, as in Python
    _b = x * 2                     # the parameters are replaced by their arguments
    y = _t + (_b + 1)

For each call:

1. `Inliner._find_callee` decides which function runs. NumPy's functions, builtins, draws of arrays
   and calls that a user's macro expands are no callees: macros and lowering take those.
2. `CalleeBodies._instantiate_body` makes a copy of the body with fresh local names.
3. `Inliner.block` inlines the calls of that copy.
4. `eliminate_return` turns ``return`` into an assignment of the result.

A call that cannot be inlined stays as it is, and the reason is noted in ``not_inlined``: it is
reported only if lowering then refuses the same place. The pipeline calls `Inliner.inline_calls`
once before macro expansion, and `Inliner.inline_uncovered` as a macro during expansion, for the
calls in comprehensions and wherever else a macro has made a call a part of a plain statement.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType

from ... import core_functions, ops
from ...analysis.access_paths import access_path_type
from ...call_plan import CapturedExpr, IdentityGuard
from ...diagnostics import Refused
from ...expand import Macro, expand_try
from ...host_nodes import HostAttribute, HostExpr, HostHelper, HostName, from_ast
from ...options import Options
from ...random_numbers import Draw, array_draw_of, draw_of, is_draw_function
from ...types.type_env import Env
from ...types.typeof import global_type
from ...types.value_types import ArgType, Function, WrappedFunction
from ..ast_names import bound_names, rename_names
from ..ast_walk import copy_tree, walk_nodes
from ..core_nodes import copy_location
from ..fold_branches import constant_of, less_than
from ..language.structure_exits import NotStructured, structure_loops
from ..macros.lift_statements import LiftedExpression, lift_statement
from ..macros.macro_context import Context
from ..name_resolution import Scope, is_native
from ..refusal import refuse
from ..source import Source
from .callee_body import CalleeBodies, eliminate_return
from .callees import Callee, Method, callee_of, is_property, method_called
from .local_imports import ImportPlace

__all__ = ["Inliner"]

_MAX_DEPTH = 24
"""Maximum nesting of calls of one function within each other (recursion)."""

_MAX_SAME_CONSTANTS = 3
"""Maximum nesting of calls of one function with the same constant arguments: such a recursion does
not end at compile time.
"""

_REFUSES_CALLER = ("BUDGET_EXCEEDED", "LOWER_RECURSION")
"""The codes of the limits without which inlining would not end, or not soon: a callee that one of
them refuses refuses the whole function.
"""


class Inliner(CalleeBodies):
    """Inlines the calls of one function, under one call signature.

    ``user_macros``: a call that one of them expands is not inlined. ``options``: those that the
    caller was fused with; a callee that was fused with other options is refused.
    """

    def __init__(
        self, source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType],
        user_macros: Sequence[Macro] = (), options: Options | None = None,
    ) -> None:
        super().__init__(source, env, scope, types, self.block)
        # why some calls were not inlined: `inline_origins.refusal_in_source` looks them up
        self.not_inlined: list[Refused] = []
        # the caller's body and the callee bodies being inlined, the innermost last
        self._open_bodies = [self.tree.body]
        # (callee key, constant arguments) of each call being inlined, the innermost last
        self._open_calls: list[tuple[object, tuple[object, ...]]] = []
        # the callee, or the reason why there is none, of each function whose source was read
        self._callees: dict[FunctionType, Callee | str] = {}
        self._user_macros = user_macros
        self._options = options or Options()
        self._types = types

    # -- Entry points

    def inline_calls(self) -> ast.FunctionDef:
        """The function with its calls inlined. Calls in comprehensions stay: macros turn these
        into loops first, and `inline_uncovered` then inlines the calls.
        """
        self._bind_function_arguments()
        self._bind_imported_names()
        self.tree.body = self.block(self.tree.body)
        return self.tree

    def inline_uncovered(self, node: ast.AST, cx: Context) -> ast.expr | None:
        """A macro on expressions: `node`, a call that stands where it can be inlined, as the value
        of its result; the statements that compute it are given to `cx`. None for other nodes.
        """
        if not isinstance(node, ast.expr):
            return None
        outer, self.cx = self.cx, cx
        self._loop_depth += cx.depth
        try:
            inlined = self._inline_expression(node)
        finally:
            self._loop_depth -= cx.depth
            self.cx = outer
        if inlined is None:
            return None
        before = structure_loops(inlined.before, cx)
        cx.bind(bound_names(*before))
        cx.before(*before)
        return inlined.value

    def plan_additions(self) -> tuple[tuple[CapturedExpr, ...], tuple[IdentityGuard, ...]]:
        """What the inlined code adds to the call plan: the names that are read before the kernel
        runs, and the objects that must be the same at each call.
        """
        return self.captures.plan_additions()

    # -- Statements

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements` with their calls inlined. Definitions of local functions that are only
        called later in this block are removed.
        """
        out: list[ast.stmt] = []
        for index, s in enumerate(statements):
            self.cx.at = s
            if (definition := self._local_definition(s, statements, index)) is not None:
                out += definition
            else:
                out += self._inline_statement(s)
        return out

    def _bind_function_arguments(self) -> None:
        """Replaces parameters that are bound to functions by captured names, which resolve to the
        function of this signature. Parameters that the caller rebinds are left alone.
        """
        rebound = bound_names(*self.tree.body)
        names: dict[str, str | ast.expr] = {
            name: self.captures.capture(name, HostName(name), ty.value)
            for name, ty in self._types.items()
            if isinstance(ty, Function) and name not in rebound
        }
        if names:
            self.tree.body[:] = [rename_names(s, names) for s in self.tree.body]

    def _bind_imported_names(self) -> None:
        """Removes imports of loaded modules; captured names replace those that they bind."""
        place = ImportPlace.of_caller(self.tree, self.scope)
        names, body = self._capture_imports(self.tree.body, place)
        self.tree.body[:] = [rename_names(s, names) for s in body] if names else body

    def _local_definition(
        self, s: ast.stmt, block: Sequence[ast.stmt], index: int
    ) -> list[ast.stmt] | None:
        """If `s`, statement `index` of `block`, defines a function whose calls can be inlined: the
        statements that evaluate its defaults, which replace the definition.

        None if `s` is no ``def`` without decorators and no ``f = lambda …``, if the name occurs
        outside the rest of `block`, or if it is bound again.
        """
        match s:
            case ast.FunctionDef(name=name, decorator_list=[]):
                tree: ast.FunctionDef | ast.Lambda = s
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as tree):
                pass
            case _:
                return None
        everywhere = {n for t in (*self._open_bodies[-1], *block) for n in walk_nodes(t)}
        rest_of_block = {n for t in block[index:] for n in walk_nodes(t)}
        elsewhere = (
            n for n in everywhere - rest_of_block if isinstance(n, (ast.Name, ast.FunctionDef))
        )
        if name in {getattr(n, "id", getattr(n, "name", "")) for n in elsewhere}:
            return None
        parameters = {a.arg for a in walk_nodes(self.tree.args) if isinstance(a, ast.arg)}
        if name in bound_names(*block[index + 1 :]) | self.written_by_closures | parameters:
            return None
        return self._define_local(name, tree)

    def _inline_statement(self, s: ast.stmt) -> list[ast.stmt]:
        """`s` with the calls in it, and in its blocks, inlined.

        Forms whose parts are not evaluated exactly once, from left to right, are rewritten first:

        - ``while f(x): …`` → ``while True: if not f(x): break; …``
        - ``f(x) if c else g(x)`` as a statement → ``if c: f(x)`` with ``else: g(x)``
        - ``a[i] += f(x)`` and ``o.a += f(x)``: see `_inline_in_augmented` and
          `_split_attribute_update`
        """
        match s:
            case ast.While(test=test, body=body, orelse=[]) if self._has_inlined_calls(test):
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
                return self._inline_in_augmented(s, target)
            case ast.AugAssign(target=ast.Attribute() as target, value=value) if (
                self._has_inlined_calls(value)
            ):
                return self.block(self._split_attribute_update(s, target))
        *before, last = self._lift_calls(s)
        self._descend(last)
        return [*before, *_without_unused_result(last, s)]

    def _lift_calls(self, s: ast.stmt) -> list[ast.stmt]:
        """The statements of the calls that were lifted out of `s`, then `s` without them;
        the blocks of `s` are not visited.
        """
        return lift_statement(s, self.cx, self._inline_expression) or [s]

    def _split_attribute_update(
        self, s: ast.AugAssign, target: ast.Attribute
    ) -> list[ast.stmt]:
        """``o.a += f(x)`` → ``_a = o.a``; ``_a += f(x)``; ``o.a = _a``: Python reads the attribute
        before it calls f.
        """
        text = "NAME = TARGET\nNAME += E\nTARGET = NAME"
        lines = self.cx.code(text, NAME=self._fresh(target.attr), TARGET=target, E=s.value)
        assert isinstance(lines[1], ast.AugAssign)
        lines[1].op = s.op
        return lines

    def _inline_in_augmented(self, s: ast.AugAssign, target: ast.Subscript) -> list[ast.stmt]:
        """``a[i] += f(x)`` with its calls inlined: the body of f, then ``a[i] += result``.

        Python reads ``a[i]`` before it calls f, and here f comes first. So `s` stays as it is if
        the body stores to any element. Calls in the subscripts are evaluated before both.
        """
        if self._has_inlined_calls(target.slice) and not self._has_inlined_calls(target.value):
            return self.block(self._evaluate_subscripts_first(s, target))
        *before, last = self._lift_calls(s)
        subscripts = (n for b in before for n in walk_nodes(b) if isinstance(n, ast.Subscript))
        if any(not isinstance(n.ctx, ast.Load) for n in subscripts):
            return [s]
        return [*before, last]

    def _evaluate_subscripts_first(
        self, s: ast.AugAssign, target: ast.Subscript
    ) -> list[ast.stmt]:
        """``a[f(i)] += e`` → ``_i = f(i)``; ``a[_i] += e``. Changes `target`."""
        indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        lines: list[ast.stmt] = []
        for axis, index in enumerate(indices):
            if not isinstance(index, (ast.Slice, ast.Constant)):
                name = self._fresh("i")
                lines += self.cx.code("NAME = E", NAME=name, E=index)
                indices[axis] = copy_location(ast.Name(name, ast.Load()), index)
        if not isinstance(target.slice, ast.Tuple):
            target.slice = indices[0]
        return [*lines, s]

    def _descend(self, s: ast.stmt) -> None:
        """Inlines in the blocks of the loop, ``if`` or ``try`` `s`, in place. While the body of an
        ``if`` is visited, what its test states holds.
        """
        match s:
            case ast.For() | ast.While():
                self._loop_depth += 1
                s.body = self.block(s.body)
                self._loop_depth -= 1
                s.orelse = self.block(s.orelse)
            case ast.If():
                outer, fact = self.known_facts, less_than(s.test)
                if fact and not fact.names & (bound_names(*s.body) | self.written_by_closures):
                    self.known_facts = [*outer, fact]
                s.body = self.block(s.body)
                self.known_facts = outer
                s.orelse = self.block(s.orelse)
            case ast.Try():
                for handler in s.handlers:
                    handler.body = self.block(handler.body)
                self.cx.handlers_around += bool(s.handlers)
                s.body = self.block(s.body)
                self.cx.handlers_around -= bool(s.handlers)
                s.orelse, s.finalbody = self.block(s.orelse), self.block(s.finalbody)

    # -- Expressions

    def _inline_expression(self, e: ast.expr) -> LiftedExpression | None:
        """`e` inlined: a call, a property, or an item of a call's result, ``f(x)[1]``; None if `e`
        is nothing of the kind, or cannot be inlined. `lift_statement` calls it on an expression
        before the expressions in it.
        """
        match e:
            case ast.Call(func=func) if not is_property(func, self._fixed_types):
                return self._inline_call(e)
            case ast.Attribute(ctx=ast.Load()) if is_property(e, self._fixed_types):
                return self._inline_call(copy_location(ast.Call(e, [], []), e))
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int(index))):
                result = self._inline_call(call)
                return None if result is None else self._select_result(result, index, e)
        return None

    def _select_result(
        self, result: LiftedExpression, index: int, e: ast.Subscript
    ) -> LiftedExpression:
        """Item `index` of `result`, an inlined call that `e` subscripts. If the result is a tuple
        display, all items are computed, as in Python, and one is selected without a tuple.
        """
        match result.value:
            case ast.Tuple(elts=values) if -len(values) <= index < len(values):
                names = [self._fresh("t") for _ in values]
                pairs = zip(names, values, strict=True)
                lines = [b for n, v in pairs for b in self.cx.code("NAME = E", NAME=n, E=v)]
                return LiftedExpression(
                    [*result.before, *lines], ast.Name(names[index], ast.Load())
                )
        item = ast.Subscript(result.value, e.slice, ast.Load())
        return LiftedExpression(result.before, copy_location(item, e))

    def _inline_call(self, call: ast.Call) -> LiftedExpression | None:
        """`call` inlined, or None if it has no callee or its callee is refused. The refusal is
        noted in ``not_inlined`` and not raised, since the call may stand where no execution reaches
        it; one of `_REFUSES_CALLER` is raised.

        Refusals come from the choice of the callee (`_find_callee`, and `callees.callee_of` for its
        source), from its arguments and locals (`_instantiate_body`), from the budget
        (`_spend_nodes`), and from recursion and ``return`` (`_inline_callee`).
        """
        try:
            target = self._find_callee(call)
            if target is None:
                return None
            return self._inline_callee(self._with_receiver(call), *target)
        except Refused as refused:
            if refused.rejection.code in _REFUSES_CALLER:
                raise
            self.not_inlined.append(refused)
            return None

    def _find_callee(self, call: ast.Call) -> tuple[Callee, HostExpr] | None:
        """The Python function that `call` runs, and the expression that evaluates to it at
        each call of the caller. None if there is none, and lowering takes the call.

        In this order:

        1. a lambda that is called where it stands; a local function of the caller
        2. a method of an object that is an argument
        3. a method of a random generator: a draw of an array has none, as macros make a loop of
           scalar draws; a scalar draw runs the Python function that has the generator's algorithm
        4. None for functions of NumPy, of `ops` and of core Python, for builtins, and for what a
           user's macro expands
        5. the function that the name is bound to outside, also within ``fuse``

        Raises Refused if the function's source cannot be used, or if it was fused with options
        that change results.
        """
        func = call.func
        if isinstance(func, ast.Lambda):
            self._define_local(name := self._fresh("lambda"), func)
            return self.local_functions[name], HostName(name)
        if isinstance(func, ast.Name) and func.id in self.local_functions:
            return self.local_functions[func.id], HostName(func.id)
        method = method_called(func, self._fixed_types)
        if method is not None:
            return self._method_callee(method, call)
        if array_draw_of(call, self._generator_type, self._resolve) is not None:
            return None
        if (draw := self._draw(func)) is not None:
            expr = HostAttribute(HostHelper("draws"), draw.runs.__name__)
            return self._callee_of_function(draw.runs, call), expr
        value = self._resolve(func)
        is_known_library_function = isinstance(value, FunctionType) and _is_library_function(value)
        if is_known_library_function or is_native(value) or self._is_expanded_by_user(call):
            return None
        if isinstance(value, WrappedFunction) and not self._options.computes_as(value.options):
            message = f"`{ast.unparse(func)}` is fused with options of its own"
            refuse("LOWER_CALL", message, call)
        function = self.captures.python_function(func, value)
        if function is None:
            return None
        return self._callee_of_function(function, call), from_ast(func)

    def _method_callee(self, method: Method, call: ast.Call) -> tuple[Callee, HostExpr]:
        """As `_find_callee`, for a method. Guards that no instance attribute hides it."""
        callee = self._callee_of_function(method.function, call)
        if method.shadow_test is not None:
            self.captures.identities[method.shadow_test] = False
        return callee, method.expr

    def _callee_of_function(self, function: FunctionType, call: ast.Call) -> Callee:
        """The callee for `function`, whose source is read once. Raises Refused if it has none."""
        if function not in self._callees:
            self._callees[function] = callee_of(function)
        callee = self._callees[function]
        if isinstance(callee, str):
            refuse("LOWER_CALL", f"`{ast.unparse(call.func)}` {callee}", call)
        return callee

    def _draw(self, func: ast.expr) -> Draw | None:
        """The draw that a call of `func`, a method of a random generator, makes; None: no draw."""
        return draw_of(func, self._generator_type, self._resolve)

    def _generator_type(self, e: ast.expr) -> ArgType | None:
        """The type of `e`: a parameter, what a parameter holds, or a global; None for others."""
        ty = self._fixed_types.get(e.id) if isinstance(e, ast.Name) else None
        return ty or access_path_type(e, self._fixed_types) or global_type(self._resolve(e))

    def _with_receiver(self, call: ast.Call) -> ast.Call:
        """`call` with the first argument that its callee expects and the source does not write:
        the object of a method, or the state of a random generator.
        """
        if (draw := self._draw(call.func)) is not None:
            args = [*self.captures.draw_arguments(draw), *call.args]
            return copy_location(ast.Call(call.func, args, call.keywords), call)
        method = method_called(call.func, self._fixed_types)
        if method is None or method.static or not isinstance(call.func, ast.Attribute):
            return call
        args = [copy_tree(call.func.value), *call.args]
        return copy_location(ast.Call(call.func, args, call.keywords), call)

    def _is_expanded_by_user(self, call: ast.Call) -> bool:
        """Whether a macro of the user's expands `call`. What it would expand to is discarded."""
        try:
            return any(m(call, self.cx) is not None for m in self._user_macros)
        finally:
            self.cx.take_before()

    def _inline_callee(self, call: ast.Call, callee: Callee, expr: HostExpr) -> LiftedExpression:
        """The body of `callee`, and the value of its result. `expr` evaluates to the callee; that
        it still does is guarded. Raises Refused where the recursion is too deep, or where a
        ``return`` stands in a statement that cannot be structured.
        """
        constants = (constant_of(a, {}) for a in (*call.args, *(k.value for k in call.keywords)))
        entry = callee.key, tuple(c.value for c in constants if c is not None)
        depth = sum(key == callee.key for key, _ in self._open_calls)
        if depth >= _MAX_DEPTH or self._open_calls.count(entry) >= _MAX_SAME_CONSTANTS:
            refuse("LOWER_RECURSION", f"`{callee.name}` calls itself too often", call)
        if callee.function is not None and not is_draw_function(callee.function):
            self.captures.guard_function(expr, callee.function)
        body, before = self._instantiate_body(callee, expr, call)
        self._open_calls.append(entry)
        self._open_bodies.append(body)
        try:
            body = expand_try(self.block(body), before, self.cx)
            lines, value = eliminate_return(body, self.cx)
        except NotStructured:
            refuse("LOWER_CALL", f"`{callee.name}` is left within a statement of Python's", call)
        finally:
            self._open_calls.pop()
            self._open_bodies.pop()
        return LiftedExpression([*before, *lines], value)

    def _has_inlined_calls(self, e: ast.expr) -> bool:
        """Whether `e` has a call or a property that is inlined."""
        nodes = [*walk_nodes(e)]
        properties = (
            isinstance(n, ast.Attribute) and is_property(n, self._fixed_types) for n in nodes
        )
        return any(properties) or any(
            self._is_inlined(n) for n in nodes if isinstance(n, ast.Call)
        )

    def _is_inlined(self, call: ast.Call) -> bool:
        """Whether `call` has a callee that may be inlined. Its body may still be refused."""
        try:
            if is_property(call.func, self._fixed_types):
                return False  # the property is inlined, and its value is what is called
            return self._find_callee(call) is not None
        except Refused:
            return False


def _is_library_function(function: FunctionType) -> bool:
    """Whether `function` is NumPy's, of `transpile.ops` or of core Python: macros or lowering have
    rows for it.
    """
    module = str(function.__module__)
    ours = ops.__name__, core_functions.__name__
    return module in ours or module.split(".")[0] == "numpy"


def _without_unused_result(last: ast.stmt, s: ast.stmt) -> list[ast.stmt]:
    """`last`, what lifting left of `s`; nothing if it only evaluates the result of an inlined call
    that nothing uses.
    """
    if last is s or not isinstance(last, ast.Expr):
        return [last]
    return [] if isinstance(last.value, (ast.Constant, ast.Name)) else [last]
