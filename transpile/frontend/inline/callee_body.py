"""The body of a callee: arguments bound, locals renamed, ``return`` eliminated."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ...analysis.liveness import first_unassigned_read
from ...diagnostics import InlinedAt, Refused
from ...host_nodes import HostExpr
from ...types.type_env import Env
from ...types.value_types import ArgType
from ..ast_names import bound_names, local_names, names_used, rename_names
from ..ast_walk import copy_tree, walk_nodes
from ..core_nodes import copy_location, inlined_at, relocate
from ..language.structure_exits import ExitStructurer, always_leaves, exits_of
from ..macros.macro_context import Context
from ..name_resolution import Scope
from ..refusal import refuse
from ..source import Source
from .callees import Callee, bind_arguments, fillable_parameters, local_callee, object_type_of
from .captured_names import CapturedNames
from .fold_branches import (
    LessThan,
    constant_of,
    drop_excluded_branches,
    fold_branches,
    literal_source,
    renamed_fact,
)

__all__ = ["CalleeBodies", "eliminate_return"]

_MAX_NODES = 8_000
"""AST nodes that all inlined bodies of one function may have together."""


class CalleeBodies:
    """Bodies of the functions that one function calls, under one call signature.

    ``spelled``: what its names for others are in their source. ``refused``: why calls stayed what
    they were.
    """

    def __init__(
        self, source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType]
    ) -> None:
        self.tree = copy_tree(source.tree)
        self.spelled: dict[str, str] = {}
        self.refused: list[Refused] = []
        self.source = source
        self.cx = Context(self.tree, env, {})
        self.homes = CapturedNames(scope, local_names(self.tree), self._fresh)
        self.locals: dict[str, Callee] = {}
        self.written: set[str] = set()  # names that functions of the caller change
        self.facts: list[LessThan] = []  # what tests around say
        self.nodes = 0
        changed = bound_names(*self.tree.body)
        self._objects = {n: t for n, t in types.items() if n not in changed}
        self._loops = 0

    @property
    def scope(self) -> Scope:
        """The caller's, with names for what helpers know."""
        return self.homes.scope

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements` with calls inlined."""
        raise NotImplementedError

    def _fresh(self, hint: str) -> str:
        name = self.cx.fresh(hint)
        while self.scope.resolve(ast.Name(name, ast.Load())) is not None:
            name = self.cx.fresh(hint)
        self.spelled[name] = hint
        return name

    def _body(
        self, callee: Callee, expr: HostExpr, call: ast.Call
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The statements of `callee`, which `expr` stands for, under names of their own, and those
        that bind arguments.
        """
        tree = callee.tree
        own = local_names(tree)
        self.cx.taken(names_used(tree))
        changed = bound_names(*callee.body) | _changed_within(tree)
        names: dict[str, str | ast.expr] = dict(self.homes.free(callee, expr))
        before: list[ast.stmt] = []
        constants: dict[str, object] = {}
        walrus = bound_names(call)
        self.cx.at = call
        bindings = [*bind_arguments(callee, call, lambda c, p: self._default(c, expr, p))]
        for parameter, value in bindings:
            constant = constant_of(value, {})
            steady = constant is not None or self._is_steady(value)
            if parameter not in changed and not walrus and steady:
                names[parameter] = value if constant is None else literal_source(constant.value)
                continue
            names[parameter] = name = self._fresh(parameter)
            if constant is not None and parameter in changed:
                constants[name] = constant.value
            else:
                before += self._bind(name, value)
        names.update({n: self._fresh(n) for n in sorted(own - names.keys())})
        fresh = {n for n in names.values() if isinstance(n, str)}
        self.homes.local |= {n for n in fresh if n not in self.scope.others}
        body = [rename_names(s, names) for s in callee.body]
        self._place(body, callee, call)
        copies = {v.id: names[p] for p, v in bindings if isinstance(v, ast.Name)}
        facts = [*self.facts, *(renamed_fact(fact, copies) for fact in self.facts)]
        body = drop_excluded_branches(fold_branches(body, constants), facts)
        body = body or [copy_location(ast.Pass(), call)]
        return self._whole_names(callee, body, names, constants, call), before

    def _whole_names(
        self, callee: Callee, body: list[ast.stmt], names: Mapping[str, str | ast.expr],
        constants: Mapping[str, object], call: ast.Call,
    ) -> list[ast.stmt]:
        """`body` behind the constants that it still reads. Its names must have values in it, not
        those of the call before.
        """
        local = {n for p in local_names(callee.tree) if isinstance(n := names[p], str)}
        given = {a.arg for a in walk_nodes(callee.tree.args) if isinstance(a, ast.arg)}
        taken = {n for p in given if isinstance(n := names[p], str)} - constants.keys()
        lines: list[ast.stmt] = []
        while (read := first_unassigned_read(body, taken, local)) is not None:
            if read.id not in constants:
                if not self._loops:
                    break
                back = {str(v): k for k, v in names.items()}
                said = f"`{back[read.id]}` of `{callee.name}` may have no value"
                refuse("LOWER_CALL", said, call)
            lines += self.cx.code("NAME = E", NAME=read.id, E=literal_source(constants[read.id]))
            taken.add(read.id)
        return [*lines, *body]

    def _default(self, callee: Callee, expr: HostExpr, parameter: str) -> ast.expr | None:
        if callee.function is not None:
            return self.homes.default(expr, callee.function, parameter)
        return dict(zip(fillable_parameters(callee.tree.args), callee.defaults, strict=True))[
            parameter
        ]

    def _is_steady(self, e: ast.expr) -> bool:
        """Whether `e` can stand wherever a parameter does that takes it."""
        if isinstance(e, ast.Attribute):
            return object_type_of(e, self._objects) is not None or self._resolve(e) is not None
        return isinstance(e, ast.Constant) or (isinstance(e, ast.Name) and e.id not in self.written)

    def _bind(self, name: str, value: ast.expr) -> list[ast.stmt]:
        """``name = value``, with what `value` calls inlined."""
        if isinstance(value, ast.Lambda):
            return self._define(name, value)
        return self.block(self.cx.code("NAME = E", NAME=name, E=value))

    def _define(self, name: str, tree: ast.FunctionDef | ast.Lambda) -> list[ast.stmt]:
        """Keeps a function of the caller; its defaults are evaluated now."""
        before: list[ast.stmt] = []
        a = tree.args
        names = [p.arg for p in (*a.posonlyargs, *a.args)]
        pairs = [*zip(names[len(names) - len(a.defaults) :], a.defaults, strict=True)]
        pairs += [(p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d]
        kept = {}
        for parameter, value in pairs:
            if not isinstance(value, ast.Constant):
                held = self._fresh(parameter)
                before += self.cx.code("NAME = E", NAME=held, E=value)
                value = ast.Name(held, ast.Load())
            kept[parameter] = value
        values = tuple(kept.get(p) for p in fillable_parameters(a))
        self.locals[name] = local_callee(tree, self.source.path, values)
        self.written |= _changed_within(tree)
        return self.block(before)

    def _place(self, body: list[ast.stmt], callee: Callee, call: ast.Call) -> None:
        """Puts `body` where `call` is; arguments keep the places that they have."""
        for node in [n for s in body for n in walk_nodes(s)]:
            self.nodes += 1
            line = getattr(node, "lineno", None)
            if line is not None:
                came = InlinedAt(callee.name, callee.path, line, callee.function)
                relocate(node, call, inlined_at(node) or came)
        if self.nodes > _MAX_NODES:
            refuse("LOWER_RECURSION", f"with `{callee.name}` the calls come to too much code", call)

    def _resolve(self, e: ast.expr) -> object | None:
        root = e
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.homes.local:
            return None
        return self.scope.resolve(e)


def _changed_within(tree: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Names that functions within declare nonlocal."""
    return {name for n in walk_nodes(tree) if isinstance(n, ast.Nonlocal) for name in n.names}


Body = list[ast.stmt]


def eliminate_return(body: Body, cx: Context) -> tuple[Body, ast.expr]:
    """What `body` does, and what it returns. Raises NotStructured.

        if v < 0:
            return 0.0
        return v
    →
        if v < 0:
            _r = 0.0
        else:
            _r = v
    """
    nothing = copy_location(ast.Constant(None), body[-1])
    if not any("return" in exits_of(s) for s in body):
        return body, nothing
    if isinstance(body[-1], ast.Return) and not any("return" in exits_of(s) for s in body[:-1]):
        return body[:-1], body[-1].value or nothing
    returns = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Return)]
    ends = always_leaves(body)
    names = _names([r.value for r in returns], ends, cx)
    if not ends:
        body = [*body, copy_location(ast.Return(nothing), body[-1])]
    made = _Ending(cx, names)
    new = (None if _in_loop(body) else made.in_place(body)) or made.at_the_end(body)
    values: list[ast.expr] = [ast.Name(n, ast.Load()) for n in names]
    if not names:
        return new, nothing
    tupled = any(map(_is_display, (r.value for r in returns))) and len(names) > 1
    return new, ast.Tuple(values, ast.Load()) if tupled else values[0]


def _names(values: Sequence[ast.expr | None], ends: bool, cx: Context) -> list[str]:
    """A name for the result; one for each of several; none where it is always None."""
    if all(v is None or (isinstance(v, ast.Constant) and v.value is None) for v in values):
        return []
    sizes = {len(v.elts) if _is_display(v) else 0 for v in values}  # type: ignore[union-attr]  # is one
    count = max(sizes) if ends and len(sizes) == 1 else 0
    return [cx.fresh("r") for _ in range(count or 1)]


def _is_display(v: ast.expr | None) -> bool:
    return isinstance(v, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in v.elts)


def _in_loop(body: Sequence[ast.stmt]) -> bool:
    loops = (n for s in body for n in ast.walk(s) if isinstance(n, (ast.For, ast.While)))
    return any("return" in exits_of(s) for loop in loops for s in loop.body)


class _Ending(ExitStructurer):
    """Results of ``names``: bound where they are returned, or at the end if that is in a loop."""

    def __init__(self, cx: Context, names: list[str]) -> None:
        super().__init__(cx)
        self.names = names
        self.done: str | None = None

    def in_place(self, body: Body) -> Body | None:
        """All of `body`, which binds the results wherever it returns; None if what follows has to
        ask whether it did.
        """
        self.done = self.cx.fresh("returned")
        new, done = self.block(body), self.done
        self.done, self.returns = None, []
        asked = (n for s in new for n in ast.walk(s) if isinstance(n, ast.Name))
        asks = any(n.id == done and isinstance(n.ctx, ast.Load) for n in asked)
        return None if asks else _without_assignments(done, new)

    def at_the_end(self, body: Body) -> Body:
        """All of `body`, and then what is returned by the way that it was left."""
        *new, last = self.function(body)
        assert isinstance(last, ast.Return)
        tail = self.bind(last)
        if not tail:
            return [s for s in new if not _returns(s)]
        while new and _returns(way := new[-1]):
            assert isinstance(way, ast.If)
            assert isinstance(way.body[0], ast.Return)
            tail = [copy_location(ast.If(way.test, self.bind(way.body[0]), tail), way)]
            new.pop()
        return [*new, *tail]

    def flag(self, s: ast.stmt) -> str:
        if self.done is None or not isinstance(s, ast.Return):
            return super().flag(s)
        self.returns.append((self.done, s))
        return self.done

    def leave(self, s: ast.stmt) -> Body:
        placed = isinstance(s, ast.Return) and self.done is not None
        return [*(self.bind(s) if placed else []), *super().leave(s)]  # type: ignore[arg-type]  # is one

    def bind(self, s: ast.Return) -> Body:
        """The result of `s` in its names."""
        self.cx.at = s
        values = [s.value or ast.Constant(None)]
        if len(self.names) > 1:
            assert isinstance(s.value, ast.Tuple)
            values = s.value.elts
        pairs = zip(self.names, values, strict=False)
        return [line for n, v in pairs for line in self.cx.code("NAME = E", NAME=n, E=v)]


def _returns(s: ast.stmt) -> bool:
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
