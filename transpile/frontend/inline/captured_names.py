"""Globals and closure cells that inlined functions read, under fresh names of the caller."""
from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any, cast

from ... import random_numbers
from ...call_plan import CapturedExpr, IdentityGuard
from ...host_nodes import (
    HostAttribute,
    HostCall,
    HostConst,
    HostExpr,
    HostHelper,
    HostItem,
    HostName,
    HostOp,
    call_helper,
    from_ast,
)
from ...random_numbers import COPIED_PARTS, Draw, is_draw_function, part_templates, table
from ...types.value_types import WrappedFunction
from ..ast_names import local_names
from ..ast_walk import walk_nodes
from ..name_resolution import Origin, Scope
from .callees import Callee
from .fold_branches import literal_source

__all__ = ["CapturedNames"]


class CapturedNames:
    """Names for what helpers know, and what must hold for helpers to be what they were.

    ``scope`` is the caller's with the names found so far; ``local`` are names that the caller's
    tree binds.
    """

    def __init__(self, scope: Scope, local: set[str], fresh: Callable[[str], str]) -> None:
        self.scope = scope
        self.local = local
        self.fresh = fresh
        self.homes: dict[HostExpr, str] = {}  # by what reads it
        self.refs: dict[HostExpr, object] = {}
        self.generators: dict[object, HostExpr] = {}  # by their ids, or by what reads them
        self.drawn: dict[str, tuple[HostExpr, str]] = {}  # of states, the generators and families
        self.after: dict[str, HostExpr] = {}  # what comes in the end, by the name that it is for
        self.given: set[str] = set()  # names for what comes with an argument

    def plain(self, expr: ast.expr, value: object) -> FunctionType | None:
        """The Python function behind `value`, which `expr` stands for; None: there is none."""
        if isinstance(value, WrappedFunction):
            self.refs[from_ast(expr)] = value
            wrapped: FunctionType = value.__wrapped__
            return wrapped
        return value if isinstance(value, FunctionType) else None

    def guard(self, expr: HostExpr, function: FunctionType) -> None:
        """`expr` must stand for what does the same as `function`."""
        if expr not in self.refs:
            self.refs[call_helper("type", expr)] = FunctionType
            self.refs[HostAttribute(expr, "__code__")] = function.__code__
            self.refs[HostAttribute(expr, "__globals__")] = function.__globals__

    def name(self, hint: str, expr: HostExpr, value: object) -> str:
        """A name for what `expr` gives at each call, and `value` now."""
        if expr not in self.homes:
            self.homes[expr] = name = self.fresh(hint)
            if _attribute_root(expr) in self.given | self.local:
                self.given.add(name)
            self.scope = replace(self.scope, others={**self.scope.others, name: value})
        return self.homes[expr]

    def state(self, draw: Draw) -> list[ast.expr]:
        """Names for what `draw` is given: parts of a generator's state, and tables."""
        if draw.asked is not None:
            self.refs[draw.asked] = draw.value
        like = part_templates(draw.family)
        known = self.generators.setdefault(draw.owner, draw.generator)
        family = HostConst(draw.family)
        of = self.name("state", HostCall(_helper_of_draws("parts"), (family, known)), like)
        self.drawn[of] = known, draw.family
        names = []
        for part in draw.given:
            if part in like:
                read = HostItem(HostName(of), HostConst(part))
                names.append(name := self.name(part, read, like[part]))
                if part in COPIED_PARTS[draw.family]:
                    kept = HostCall(_helper_of_draws("keep"), (known, HostName(name)))
                    self.after[name] = kept
            else:
                made_by = HostCall(_helper_of_draws("table"), (HostConst(part),))
                names.append(self.name(part, made_by, table(part)))
        return [ast.Name(name, ast.Load()) for name in names]

    def free(self, callee: Callee, expr: HostExpr) -> dict[str, str]:
        """Other names for those that are free in `callee`, which `expr` stands for, and have
        another meaning in the caller.
        """
        function = callee.function
        if function is None:
            return {}
        out: dict[str, str] = {}
        own = local_names(callee.tree)
        parts: list[ast.AST] = list(callee.body)
        names = {n.id for n in walk_nodes(*parts) if isinstance(n, ast.Name)} - own
        for name in sorted(names):
            new = self._known_as(name, function, expr)
            if new != name:
                out[name] = new
        return out

    def _known_as(self, name: str, function: FunctionType, expr: HostExpr) -> str:
        code, names = function.__code__, function.__globals__
        if name in code.co_freevars:
            index = code.co_freevars.index(name)
            cell = (function.__closure__ or ())[index]
            if self.scope.cells.get(name) is cell and name not in self.local:
                return name
            try:
                value = cell.cell_contents
            except ValueError:  # not filled yet
                return self.fresh(name)
            closure = HostItem(HostAttribute(expr, "__closure__"), HostConst(index))
            return self.name(name, HostAttribute(closure, "cell_contents"), value)
        origin, _ = self.scope.find(name)
        ours = self.scope.globals is names and origin not in (Origin.CLOSURE, Origin.LOCAL)
        if ours and name not in self.local and name not in self.scope.others:
            return name
        if is_draw_function(function):
            return self._ours(name, function, origin)
        scope, key = HostAttribute(expr, "__globals__"), HostConst(name)
        if name in names:
            return self.name(name, HostItem(scope, key), names[name])
        known: Any = cast(Any, function).__builtins__
        if name not in known:
            return self.fresh(name)
        self.refs[HostOp("in", (key, scope))] = False
        usual = known[name] is vars(builtins).get(name)
        if usual and origin is Origin.BUILTIN and name not in self.local:
            return name
        return self.name(name, HostItem(HostAttribute(expr, "__builtins__"), key), known[name])

    def _ours(self, name: str, function: FunctionType, origin: Origin) -> str:
        """A name for what a function that draws knows: another such, or what keeps its meaning."""
        names = function.__globals__
        at: HostExpr = HostHelper("draws")
        for module in function.__module__.removeprefix(random_numbers.__name__).split(".")[1:]:
            at = HostAttribute(at, module)
        if name not in names:
            usual = origin is Origin.BUILTIN and name not in self.local
            of = HostAttribute(_helper_of_draws("builtins"), name)
            return name if usual else self.name(name, of, vars(builtins)[name])
        value = names[name]
        if not isinstance(value, FunctionType) or not is_draw_function(value):
            return self.name(name, HostAttribute(at, name), value)
        own = f"_draws_{name}"
        self.scope = replace(self.scope, others={**self.scope.others, own: value})
        return own

    def default(
        self, expr: HostExpr, function: FunctionType, parameter: str
    ) -> ast.expr | None:
        """The value of a parameter that a call leaves out; None where it has no default."""
        code = function.__code__
        defaults, count = function.__defaults__ or (), code.co_argcount
        names = code.co_varnames[count - len(defaults) : count]
        if parameter in names:
            k = names.index(parameter)
            value: Any = defaults[k]
            if is_draw_function(function):
                return literal_source(value)
            given = isinstance(expr, HostName) and expr.name in self.given
            there = HostAttribute(expr, "__defaults__")
            if not given and type(value) is float and math.isfinite(value):
                self.refs[there] = defaults
                return literal_source(value)
            return self._value(parameter, HostItem(there, HostConst(k)), value)
        keyed = function.__kwdefaults__ or {}
        if parameter in keyed and is_draw_function(function):
            return literal_source(keyed[parameter])
        if parameter in keyed:
            at = HostItem(HostAttribute(expr, "__kwdefaults__"), HostConst(parameter))
            return self._value(parameter, at, keyed[parameter])
        return None

    def _value(self, parameter: str, expr: HostExpr, value: object) -> ast.expr:
        if value is None or type(value) in (bool, int, str):
            self.refs[expr] = value
            return literal_source(value)
        return ast.Name(self.name(parameter, expr, value), ast.Load())

    def found(self) -> tuple[tuple[CapturedExpr, ...], tuple[IdentityGuard, ...]]:
        """All names, in the order in which they can be read, and all that must hold."""
        nothing = None, None
        homes = []
        for expr, name in self.homes.items():
            generator, family = self.drawn.get(name, nothing)
            homes.append(CapturedExpr(name, expr, generator, family, self.after.get(name)))
        return tuple(homes), tuple(IdentityGuard(expr, value) for expr, value in self.refs.items())


def _helper_of_draws(name: str) -> HostExpr:
    """A function or module of `transpile.random_numbers`."""
    return HostAttribute(HostHelper("draws"), name)


def _attribute_root(e: HostExpr) -> str | None:
    """The name that `e` is, or an attribute of which is read first; None for others."""
    read: HostExpr | None = None
    while isinstance(e, (HostAttribute, HostItem)):
        e, read = e.of, e
    return e.name if isinstance(e, HostName) and not isinstance(read, HostItem) else None
