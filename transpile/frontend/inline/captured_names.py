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
        self.homes: dict[str, str] = {}  # by the Python that reads it
        self.refs: dict[str, object] = {}
        self.generators: dict[object, str] = {}  # by their ids, or by the Python that reads them
        self.drawn: dict[str, tuple[str, str]] = {}  # of states, the generators and families
        self.after: dict[str, str] = {}  # what comes in the end, by the name that it is for
        self.given: set[str] = set()  # names for what comes with an argument

    def plain(self, expr: ast.expr, value: object) -> FunctionType | None:
        """The Python function behind `value`, which `expr` stands for; None: there is none."""
        said = ast.unparse(expr)
        if isinstance(value, WrappedFunction):
            self.refs[said] = value
            wrapped: FunctionType = value.__wrapped__
            return wrapped
        return value if isinstance(value, FunctionType) else None

    def guard(self, said: str, function: FunctionType) -> None:
        """`said` must stand for what does the same as `function`."""
        if said not in self.refs:
            self.refs[f"_type({said})"] = FunctionType
            self.refs[f"{said}.__code__"] = function.__code__
            self.refs[f"{said}.__globals__"] = function.__globals__

    def name(self, hint: str, expr: str, value: object) -> str:
        """A name for what `expr` gives at each call, and `value` now."""
        if expr not in self.homes:
            self.homes[expr] = name = self.fresh(hint)
            if expr.partition(".")[0] in self.given | self.local:
                self.given.add(name)
            self.scope = replace(self.scope, others={**self.scope.others, name: value})
        return self.homes[expr]

    def state(self, draw: Draw) -> list[ast.expr]:
        """Names for what `draw` is given: parts of a generator's state, and tables."""
        if draw.asked is not None:
            self.refs[draw.asked] = draw.value
        like = part_templates(draw.family)
        known = self.generators.setdefault(draw.owner, draw.generator)
        of = self.name("state", f"_draws.parts({draw.family!r}, {known})", like)
        self.drawn[of] = known, draw.family
        names = []
        for part in draw.given:
            if part in like:
                names.append(name := self.name(part, f"{of}[{part!r}]", like[part]))
                if part in COPIED_PARTS[draw.family]:
                    self.after[name] = f"_draws.keep({known}, {name})"
            else:
                names.append(self.name(part, f"_draws.table({part!r})", table(part)))
        return [ast.Name(name, ast.Load()) for name in names]

    def free(self, callee: Callee, said: str) -> dict[str, str]:
        """Other names for those that are free in `callee`, which `said` stands for, and have
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
            new = self._known_as(name, function, said)
            if new != name:
                out[name] = new
        return out

    def _known_as(self, name: str, function: FunctionType, said: str) -> str:
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
            return self.name(name, f"{said}.__closure__[{index}].cell_contents", value)
        origin, _ = self.scope.find(name)
        ours = self.scope.globals is names and origin not in (Origin.CLOSURE, Origin.LOCAL)
        if ours and name not in self.local and name not in self.scope.others:
            return name
        if is_draw_function(function):
            return self._ours(name, function, origin)
        if name in names:
            return self.name(name, f"{said}.__globals__[{name!r}]", names[name])
        known: Any = cast(Any, function).__builtins__
        if name not in known:
            return self.fresh(name)
        self.refs[f"({name!r} in {said}.__globals__)"] = False
        usual = known[name] is vars(builtins).get(name)
        if usual and origin is Origin.BUILTIN and name not in self.local:
            return name
        return self.name(name, f"{said}.__builtins__[{name!r}]", known[name])

    def _ours(self, name: str, function: FunctionType, origin: Origin) -> str:
        """A name for what a function that draws knows: another such, or what keeps its meaning."""
        names = function.__globals__
        at = "_draws" + function.__module__.removeprefix(random_numbers.__name__)
        if name not in names:
            usual = origin is Origin.BUILTIN and name not in self.local
            of = f"_draws.builtins.{name}"
            return name if usual else self.name(name, of, vars(builtins)[name])
        value = names[name]
        if not isinstance(value, FunctionType) or not is_draw_function(value):
            return self.name(name, f"{at}.{name}", value)
        own = f"_draws_{name}"
        self.scope = replace(self.scope, others={**self.scope.others, own: value})
        return own

    def default(self, said: str, function: FunctionType, parameter: str) -> ast.expr | None:
        """The value of a parameter that a call leaves out; None where it has no default."""
        code = function.__code__
        defaults, count = function.__defaults__ or (), code.co_argcount
        names = code.co_varnames[count - len(defaults) : count]
        if parameter in names:
            k = names.index(parameter)
            value: Any = defaults[k]
            if is_draw_function(function):
                return literal_source(value)
            if said not in self.given and type(value) is float and math.isfinite(value):
                self.refs[f"{said}.__defaults__"] = defaults
                return literal_source(value)
            return self._value(parameter, f"{said}.__defaults__[{k}]", value)
        keyed = function.__kwdefaults__ or {}
        if parameter in keyed and is_draw_function(function):
            return literal_source(keyed[parameter])
        if parameter in keyed:
            expr = f"{said}.__kwdefaults__[{parameter!r}]"
            return self._value(parameter, expr, keyed[parameter])
        return None

    def _value(self, parameter: str, expr: str, value: object) -> ast.expr:
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
