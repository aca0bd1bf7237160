"""The inliner: which calls are inlined, and their bodies in Python's order of evaluation."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType

from ... import ops
from ...analysis.object_arguments import access_path_type
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
from ..language.structure_exits import NotStructured, structure_loops
from ..macros.lift_statements import LiftedExpression, lift_statement
from ..macros.macro_context import Context
from ..name_resolution import Scope, is_native
from ..refusal import refuse
from ..source import Source
from .callee_body import CalleeBodies, eliminate_return
from .callees import Callee, Method, callee_of, is_property, method_called
from .fold_branches import constant_of, less_than

__all__ = ["CallInliner", "Inliner"]

_MAX_DEPTH = 24
"""How many calls of one function within each other are inlined."""

_MAX_SAME_CONSTANTS = 3
"""How many of those may be given the same constants."""


class CallInliner(CalleeBodies):
    """Inlines calls. `others` are macros that come first, `options` the caller's."""

    def __init__(
        self, source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType],
        others: Sequence[Macro] = (), options: Options | None = None,
    ) -> None:
        super().__init__(source, env, scope, types)
        self.bodies = [self.tree.body]  # the innermost last
        self.calls: list[tuple[object, object]] = []  # being inlined, the innermost last
        self._read: dict[FunctionType, Callee | str] = {}
        self._others = others
        self._options = options or Options()

    def _rewrite(self, e: ast.expr) -> LiftedExpression | None:
        match e:
            case ast.Call(func=func) if not is_property(func, self._objects):
                return self._call(e)
            case ast.Attribute(ctx=ast.Load()) if is_property(e, self._objects):
                return self._call(copy_location(ast.Call(e, [], []), e))
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int(k))):
                found = self._call(call)
                return None if found is None else self._select_result(found, k, e)
        return None

    def _select_result(
        self, found: LiftedExpression, k: int, e: ast.Subscript
    ) -> LiftedExpression:
        """Result `k` of an inlined call, which is subscripted by `e`; all results are computed."""
        match found.value:
            case ast.Tuple(elts=values) if -len(values) <= k < len(values):
                names = [self._fresh("t") for _ in values]
                pairs = zip(names, values, strict=True)
                lines = [b for n, v in pairs for b in self.cx.code("NAME = E", NAME=n, E=v)]
                return LiftedExpression([*found.before, *lines], ast.Name(names[k], ast.Load()))
        taken = ast.Subscript(found.value, e.slice, ast.Load())
        return LiftedExpression(found.before, copy_location(taken, e))

    def _callee(self, call: ast.Call) -> tuple[Callee, HostExpr] | None:
        """What `call` runs, and the expression for it; None: nothing of Python's."""
        func = call.func
        if isinstance(func, ast.Lambda):
            self._define(name := self._fresh("lambda"), func)
            return self.locals[name], HostName(name)
        if isinstance(func, ast.Name) and func.id in self.locals:
            return self.locals[func.id], HostName(func.id)
        method = method_called(func, self._objects)
        if method is not None:
            return self._method_callee(method, call)
        if array_draw_of(call, self._generator, self._resolve) is not None:
            return None
        if (draw := self._draw(func)) is not None:
            known_as = HostAttribute(HostHelper("draws"), draw.runs.__name__)
            return self._callee_of_function(draw.runs, call), known_as
        value = self._resolve(func)
        known = isinstance(value, FunctionType) and _is_known(value)
        if known or is_native(value) or self._is_claimed(call):
            return None
        if isinstance(value, WrappedFunction) and not self._options.computes_as(value.options):
            said = f"`{ast.unparse(func)}` is fused with options of its own"
            refuse("LOWER_CALL", said, call)
        function = self.homes.plain(func, value)
        if function is None:
            return None
        return self._callee_of_function(function, call), from_ast(func)

    def _method_callee(self, method: Method, call: ast.Call) -> tuple[Callee, HostExpr]:
        """The callee of a method, and the expression for it."""
        callee = self._callee_of_function(method.runs, call)
        if method.own is not None:
            self.homes.refs[method.own] = False
        return callee, method.expr

    def _callee_of_function(self, function: FunctionType, call: ast.Call) -> Callee:
        """The callee for `function`, whose source is read once. Raises Refused if it has none."""
        if function not in self._read:
            self._read[function] = callee_of(function)
        callee = self._read[function]
        if isinstance(callee, str):
            refuse("LOWER_CALL", f"`{ast.unparse(call.func)}` {callee}", call)
        return callee

    def _draw(self, func: ast.expr) -> Draw | None:
        """What `func` draws, a method of a generator."""
        return draw_of(func, self._generator, self._resolve)

    def _generator(self, e: ast.expr) -> ArgType | None:
        """The type of what is given, or known by name."""
        found = self._objects.get(e.id) if isinstance(e, ast.Name) else None
        return found or access_path_type(e, self._objects) or global_type(self._resolve(e))

    def _with_object(self, call: ast.Call) -> ast.Call:
        """A call of a method is given the object first, or the state of a generator."""
        if (draw := self._draw(call.func)) is not None:
            args = [*self.homes.state(draw), *call.args]
            return copy_location(ast.Call(call.func, args, call.keywords), call)
        method = method_called(call.func, self._objects)
        if method is None or method.static or not isinstance(call.func, ast.Attribute):
            return call
        args = [copy_tree(call.func.value), *call.args]
        return copy_location(ast.Call(call.func, args, call.keywords), call)

    def _is_claimed(self, call: ast.Call) -> bool:
        """Whether a macro of the user's expands it."""
        try:
            return any(m(call, self.cx) is not None for m in self._others)
        finally:
            self.cx.take_before()

    def _call(self, call: ast.Call) -> LiftedExpression | None:
        """The call inlined. One that cannot be may stand where no call comes to it."""
        try:
            found = self._callee(call)
            return None if found is None else self._inlined(self._with_object(call), *found)
        except Refused as refused:
            if refused.rejection.code == "LOWER_RECURSION":
                raise
            self.refused.append(refused)
            return None

    def _inlined(self, call: ast.Call, callee: Callee, expr: HostExpr) -> LiftedExpression:
        constants = (constant_of(a, {}) for a in (*call.args, *(k.value for k in call.keywords)))
        made = callee.key, tuple(c.value for c in constants if c is not None)
        same = sum(key == callee.key for key, _ in self.calls)
        if same >= _MAX_DEPTH or self.calls.count(made) >= _MAX_SAME_CONSTANTS:
            refuse("LOWER_RECURSION", f"`{callee.name}` calls itself too often", call)
        if callee.function is not None and not is_draw_function(callee.function):
            self.homes.guard(expr, callee.function)
        body, before = self._body(callee, expr, call)
        self.calls.append(made)
        self.bodies.append(body)
        try:
            body = expand_try(self.block(body), before, self.cx)
            lines, value = eliminate_return(body, self.cx)
        except NotStructured:
            refuse("LOWER_CALL", f"`{callee.name}` is left within a statement of Python's", call)
        finally:
            self.calls.pop()
            self.bodies.pop()
        return LiftedExpression([*before, *lines], value)


def _is_known(function: FunctionType) -> bool:
    """Whether it is NumPy's or ours, with a meaning of its own."""
    module = str(function.__module__)
    return module == ops.__name__ or module.split(".")[0] == "numpy"


class Inliner(CallInliner):
    """Inlines the calls of one function, under one call signature."""

    def __init__(
        self, source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType],
        others: Sequence[Macro] = (), options: Options | None = None,
    ) -> None:
        super().__init__(source, env, scope, types, others, options)
        self._types = types

    def found(self) -> tuple[tuple[CapturedExpr, ...], tuple[IdentityGuard, ...]]:
        """Names that are read ahead, and what must hold at each call."""
        return self.homes.found()

    def whole(self) -> ast.FunctionDef:
        """The function with its calls inlined; those in comprehensions come later."""
        self._name_functions()
        self.tree.body = self.block(self.tree.body)
        return self.tree

    def late(self, node: ast.AST, cx: Context) -> ast.expr | None:
        """As a macro: calls that have come to stand where they can be inlined."""
        if not isinstance(node, ast.expr):
            return None
        outer, self.cx = self.cx, cx
        self._loops += cx.depth
        try:
            found = self._rewrite(node)
        finally:
            self._loops -= cx.depth
            self.cx = outer
        if found is None:
            return None
        before = structure_loops(found.before, cx)
        cx.bind(bound_names(*before))
        cx.before(*before)
        return found.value

    def _name_functions(self) -> None:
        """Arguments that are functions get names that can be asked what they are."""
        changed = bound_names(*self.tree.body)
        names: dict[str, str | ast.expr] = {
            name: self.homes.name(name, HostName(name), ty.value)
            for name, ty in self._types.items()
            if isinstance(ty, Function) and name not in changed
        }
        if names:
            self.tree.body = [rename_names(s, names) for s in self.tree.body]

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements` with calls inlined."""
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            self.cx.at = s
            if (defined := self._defined(s, statements, k)) is not None:
                out += defined
            else:
                out += self._statement(s)
        return out

    def _defined(
        self, s: ast.stmt, block: Sequence[ast.stmt], k: int
    ) -> list[ast.stmt] | None:
        """For a function that is defined in `block` and only called there."""
        match s:
            case ast.FunctionDef(name=name, decorator_list=[]):
                tree: ast.FunctionDef | ast.Lambda = s
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as tree):
                pass
            case _:
                return None
        there = {n for t in (*self.bodies[-1], *block) for n in walk_nodes(t)}
        here = {n for t in block[k:] for n in walk_nodes(t)}
        elsewhere = (n for n in there - here if isinstance(n, (ast.Name, ast.FunctionDef)))
        if name in {getattr(n, "id", getattr(n, "name", "")) for n in elsewhere}:
            return None
        given = {a.arg for a in walk_nodes(self.tree.args) if isinstance(a, ast.arg)}
        if name in bound_names(*block[k + 1 :]) | self.written | given:
            return None
        return self._define(name, tree)

    def _statement(self, s: ast.stmt) -> list[ast.stmt]:
        match s:
            case ast.While(test=test, body=body, orelse=[]) if self._has_calls(test):
                ends = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
                for node in walk_nodes(ends):
                    if not hasattr(node, "lineno"):
                        copy_location(node, test)
                new = ast.While(copy_location(ast.Constant(True), test), [ends, *body], [])
                s = copy_location(new, s)
            case ast.Expr(value=ast.IfExp(test=test, body=body, orelse=orelse)):
                then, other = (copy_location(ast.Expr(e), e) for e in (body, orelse))
                s = copy_location(ast.If(test, [then], [other]), s)
            case ast.AugAssign(target=ast.Subscript()):
                return self._augmented(s)
            case ast.AugAssign(target=ast.Attribute() as target, value=value) if (
                self._has_calls(value)
            ):
                return self.block(self._read_first(s, target))
        *before, last = self._lifted(s)
        self._descend(last)
        return [*before, *_needed(last, s)]

    def _lifted(self, s: ast.stmt) -> list[ast.stmt]:
        return lift_statement(s, self.cx, self._rewrite) or [s]

    def _read_first(self, s: ast.AugAssign, target: ast.Attribute) -> list[ast.stmt]:
        """An attribute is read, changed in place and set."""
        text = "NAME = TARGET\nNAME += E\nTARGET = NAME"
        lines = self.cx.code(text, NAME=self._fresh(target.attr), TARGET=target, E=s.value)
        assert isinstance(lines[1], ast.AugAssign)
        lines[1].op = s.op
        return lines

    def _augmented(self, s: ast.AugAssign) -> list[ast.stmt]:
        """The element is read before the value is computed: the call must not write any."""
        assert isinstance(s.target, ast.Subscript)
        if self._has_calls(s.target.slice) and not self._has_calls(s.target.value):
            return self.block(self._placed_first(s, s.target))
        *before, last = self._lifted(s)
        stores = (n for b in before for n in walk_nodes(b) if isinstance(n, ast.Subscript))
        return [s] if any(not isinstance(n.ctx, ast.Load) for n in stores) else [*before, last]

    def _placed_first(self, s: ast.AugAssign, target: ast.Subscript) -> list[ast.stmt]:
        """Subscripts are computed once, before the element is read."""
        indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        lines: list[ast.stmt] = []
        for k, index in enumerate(indices):
            if not isinstance(index, (ast.Slice, ast.Constant)):
                name = self._fresh("i")
                lines += self.cx.code("NAME = E", NAME=name, E=index)
                indices[k] = copy_location(ast.Name(name, ast.Load()), index)
        if not isinstance(target.slice, ast.Tuple):
            target.slice = indices[0]
        return [*lines, s]

    def _descend(self, s: ast.stmt) -> None:
        match s:
            case ast.For() | ast.While():
                self._loops += 1
                s.body = self.block(s.body)
                self._loops -= 1
                s.orelse = self.block(s.orelse)
            case ast.If():
                outer, fact = self.facts, less_than(s.test)
                if fact and not fact.names & (bound_names(*s.body) | self.written):
                    self.facts = [*outer, fact]
                s.body = self.block(s.body)
                self.facts = outer
                s.orelse = self.block(s.orelse)

    def _has_calls(self, e: ast.expr) -> bool:
        inner = [*walk_nodes(e)]
        calls = (n for n in inner if isinstance(n, ast.Call))
        read = (isinstance(n, ast.Attribute) and is_property(n, self._objects) for n in inner)
        return any(read) or any(self._is_inlined(n) for n in calls)

    def _is_inlined(self, call: ast.Call) -> bool:
        try:
            return not is_property(call.func, self._objects) and self._callee(call) is not None
        except Refused:
            return False


def _needed(last: ast.stmt, s: ast.stmt) -> list[ast.stmt]:
    """`last`, unless it is the value of a call that nobody takes."""
    if last is s or not isinstance(last, ast.Expr):
        return [last]
    return [] if isinstance(last.value, (ast.Constant, ast.Name)) else [last]
