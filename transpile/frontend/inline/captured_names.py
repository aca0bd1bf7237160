"""Captured names: globals and closure cells that inlined functions read, renamed for the caller.

A free name of an inlined function may mean something else in the caller, or nothing. It becomes a
fresh name, which the call plan reads before the kernel runs::

    # helper's module: SCALE = 2.0
    def f(v): return v * SCALE               y = f(x)
→
    _SCALE = f.__globals__['SCALE']          # a CapturedExpr of the plan
    y = x * _SCALE

The kernel is valid while what it was compiled from stays the same. So identity guards are collected
too: each is an expression that must evaluate to the same object at each call
(``f.__code__ is …``). `inline_origins.plan_with_captures` puts both into the plan.
"""
from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from loopir.lazy_dataclass import replace
from loopir.process.signal_exceptions import failures

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
)
from ...random_numbers import COPIED_PARTS, Draw, state_templates, table
from ...types.value_types import WrappedFunction
from ..ast_names import local_names
from ..ast_walk import walk_nodes
from ..defining_modules import is_stand_in
from ..fold_branches import literal_source
from ..name_resolution import NameScope, Scope
from .callees import Callee

__all__ = ["CapturedNames"]


class CapturedNames:
    """The names captured for one caller, and the identity guards of its inlined functions.

    In all methods, ``expr`` is an expression, over the caller's names and earlier captured
    names, that evaluates to the function in question at each call.
    """

    def __init__(self, scope: Scope, local: set[str], fresh: Callable[[str], str]) -> None:
        self.scope = scope
        """The caller's scope, with the captured names."""
        self.local = local
        """Names that the caller's tree binds, fresh ones included."""
        self.fresh = fresh
        """Makes a new name from a hint."""
        self.identities: dict[HostExpr, object] = {}
        """The identity guards: expression -> the object that it must evaluate to."""
        self._names: dict[HostExpr, str] = {}
        """expression -> the captured name that is bound to its value, in the order of binding"""
        self._argument_dependent: set[str] = set()
        """Captured names that are read through an argument: each call may give another value."""
        self._generators: dict[object, HostExpr] = {}
        """`Draw.identity` -> the expression by which this generator was first met"""
        self._states: dict[str, tuple[HostExpr, str]] = {}
        """captured name of a generator's state -> (expression of the generator, family)"""
        self._write_back: dict[str, HostExpr] = {}
        """captured name of a part of a state -> the call that stores it after the kernel"""

    def python_function(self, expr: HostExpr, value: object) -> FunctionType | None:
        """The Python function that a call of `value`, which `expr` evaluates to, runs: `value`
        itself, or what ``fuse`` wrapped; None if there is none. Guards a wrapper's identity.
        """
        if isinstance(value, WrappedFunction):
            self.identities[expr] = value
            wrapped: FunctionType = value.__wrapped__
            return wrapped
        return value if isinstance(value, FunctionType) else None

    def guard_function(self, expr: HostExpr, function: FunctionType) -> None:
        """Guards that `expr` evaluates to a function with the code and globals of `function`. The
        object may be another one: a ``def`` may have run again.
        """
        if expr not in self.identities:
            self.identities[call_helper("type", expr)] = FunctionType
            self.identities[HostAttribute(expr, "__code__")] = function.__code__
            self.identities[HostAttribute(expr, "__globals__")] = function.__globals__

    def capture(self, hint: str, expr: HostExpr, value: object) -> str:
        """The captured name for what `expr` evaluates to at each call; now it is `value`. A new
        name is made of `hint`.
        """
        if expr not in self._names:
            self._names[expr] = name = self.fresh(hint)
            if _attribute_root(expr) in self._argument_dependent | self.local:
                self._argument_dependent.add(name)
            self._add_to_scope(name, value)
        return self._names[expr]

    def capture_argument(self, parameter: str, value: object) -> str:
        """The captured name for the argument `parameter`, a function or module. The code of a
        Python function is guarded even if it is not inlined: its tests may have been folded.
        """
        name = self.capture(parameter, HostName(parameter), value)
        if isinstance(value, FunctionType):
            self.guard_function(HostName(name), value)
        return name

    def _add_to_scope(self, name: str, value: object) -> None:
        """Makes `name` mean `value` in the scope in which names of the caller are resolved."""
        self.scope = replace(self.scope, others={**self.scope.others, name: value})

    def draw_arguments(self, draw: Draw) -> list[ast.expr]:
        """The first arguments of the function that `draw` runs: captured names for the parts of the
        generator's state and for tables. Parts that are copies are written back after the kernel.
        """
        if draw.guarded_expr is not None:
            self.identities[draw.guarded_expr] = draw.guarded_value
        templates = state_templates(draw.family)
        generator = self._generators.setdefault(draw.identity, draw.generator)
        parts = HostCall(_draws_member("state_arrays"), (HostConst(draw.family), generator))
        state = self.capture("state", parts, templates)
        self._states[state] = generator, draw.family
        names = []
        for part in draw.state_params:
            if part in templates:
                read = HostItem(HostName(state), HostConst(part))
                name = self.capture(part, read, templates[part])
                if part in COPIED_PARTS[draw.family]:
                    store = _draws_member("store_pending_gaussian")
                    self._write_back[name] = HostCall(store, (generator, HostName(name)))
            else:
                made_by = HostCall(_draws_member("table"), (HostConst(part),))
                name = self.capture(part, made_by, table(part))
            names.append(name)
        return [ast.Name(name, ast.Load()) for name in names]

    def rename_free_names(self, callee: Callee, expr: HostExpr) -> dict[str, str]:
        """The new name for each free name of `callee` (globals, closure cells and builtins that its
        body reads) that means something else in the caller, or nothing; `instantiate_body` renames
        them.

            # in helpers.py: SCALE = 2.0; def f(v): return np.abs(v) * SCALE
            {"SCALE": "_SCALE"}      # `np` is the same in both modules, so it keeps its name

        `_name_in_caller` decides for one name. `expr` evaluates to the callee at each call:
        captured names are read through it, as ``f.__globals__['SCALE']``. A local function of the
        caller has no function object, and its free names are names of the caller: they stay.
        """
        function = callee.function
        if function is None:
            return {}
        body: list[ast.AST] = list(callee.body)
        used = {n.id for n in walk_nodes(*body) if isinstance(n, ast.Name)}
        free = sorted(used - local_names(callee.tree))
        renamed = {name: self._name_in_caller(name, function, expr) for name in free}
        return {name: new for name, new in renamed.items() if new != name}

    def _name_in_caller(self, name: str, function: FunctionType, expr: HostExpr) -> str:
        """The name in the caller that means what `name`, free in `function`, means there. A name is
        kept where caller and callee read the same variable, for then both see a change of it; else
        it is captured, so that the kernel reads the callee's variable. In this order:

        1. A closure cell: the same name if the caller closes over the same cell, else captured. A
           cell that is empty gets a fresh, unbound name, which raises if it is read.
        2. A global of a module that both share: the same name.
        3. A name of a function that stands for a native one: see `_name_in_stand_in`.
        4. A global of another module: captured.
        5. A builtin: the same name if it means Python's own in both, else captured. That the module
           has no global of the name, which would hide the builtin, is guarded.
        6. No meaning: a fresh, unbound name.
        """
        code, module = function.__code__, function.__globals__
        is_local = name in self.local
        if name in code.co_freevars:
            index = code.co_freevars.index(name)
            cell = (function.__closure__ or ())[index]
            if self.scope.cells.get(name) is cell and not is_local:
                return name
            try:
                value = cell.cell_contents
            except failures(ValueError):  # not filled yet
                return self.fresh(name)
            closure = HostItem(HostAttribute(expr, "__closure__"), HostConst(index))
            return self.capture(name, HostAttribute(closure, "cell_contents"), value)
        origin, _ = self.scope.find(name)
        shared = self.scope.globals is module and origin not in (NameScope.CLOSURE, NameScope.LOCAL)
        if shared and not is_local and name not in self.scope.others:
            return name
        if is_stand_in(function):
            return self._name_in_stand_in(name, function, origin)
        key, own_globals = HostConst(name), HostAttribute(expr, "__globals__")
        if name in module:
            return self.capture(name, HostItem(own_globals, key), module[name])
        builtin_names: Any = cast(Any, function).__builtins__
        if name not in builtin_names:
            return self.fresh(name)
        self.identities[HostOp("in", (key, own_globals))] = False
        is_pythons = builtin_names[name] is vars(builtins).get(name)
        if is_pythons and origin is NameScope.BUILTIN and not is_local:
            return name
        own_builtins = HostAttribute(expr, "__builtins__")
        return self.capture(name, HostItem(own_builtins, key), builtin_names[name])

    def _name_in_stand_in(self, name: str, function: FunctionType, origin: NameScope) -> str:
        """As `_name_in_caller`, for a function that stands for a native one (`is_stand_in`). Its
        globals never change, so nothing is guarded. Another such function that it calls gets a name
        in the scope, by which the inliner finds it, and is not captured.
        """
        module = function.__globals__
        if name not in module:
            if origin is NameScope.BUILTIN and name not in self.local:
                return name
            python = HostAttribute(HostItem(HostHelper("modules"), HostConst("builtins")), name)
            return self.capture(name, python, vars(builtins)[name])
        value = module[name]
        if not isinstance(value, FunctionType) or not is_stand_in(value):
            path: HostExpr = HostHelper("draws")
            for part in function.__module__.removeprefix(random_numbers.__name__).split(".")[1:]:
                path = HostAttribute(path, part)
            return self.capture(name, HostAttribute(path, name), value)
        alias = f"_{function.__module__.rpartition('.')[2]}_{name}"
        self._add_to_scope(alias, value)
        return alias

    def default_value(
        self, expr: HostExpr, function: FunctionType, parameter: str
    ) -> ast.expr | None:
        """The default of `parameter` of `function`: a literal, whose value is guarded, or a
        captured name; None if it has no default.
        """
        code = function.__code__
        defaults, count = function.__defaults__ or (), code.co_argcount
        names = code.co_varnames[count - len(defaults) : count]
        is_ours = is_stand_in(function)
        if parameter in names:
            index = names.index(parameter)
            value: Any = defaults[index]
            if is_ours:
                return literal_source(value)
            fixed = not isinstance(expr, HostName) or expr.name not in self._argument_dependent
            read = HostAttribute(expr, "__defaults__")
            if fixed and type(value) is float and math.isfinite(value):
                self.identities[read] = defaults
                return literal_source(value)
            return self._literal_or_captured(parameter, HostItem(read, HostConst(index)), value)
        keyword_defaults = function.__kwdefaults__ or {}
        if parameter not in keyword_defaults:
            return None
        value = keyword_defaults[parameter]
        if is_ours:
            return literal_source(value)
        item = HostItem(HostAttribute(expr, "__kwdefaults__"), HostConst(parameter))
        return self._literal_or_captured(parameter, item, value)

    def _literal_or_captured(self, hint: str, expr: HostExpr, value: object) -> ast.expr:
        """What `expr` evaluates to: a literal with a guard where `value` is None, a bool, an int or
        a string, else a captured name.
        """
        if value is None or type(value) in (bool, int, str):
            self.identities[expr] = value
            return literal_source(value)
        return ast.Name(self.capture(hint, expr, value), ast.Load())

    def plan_additions(self) -> tuple[tuple[CapturedExpr, ...], tuple[IdentityGuard, ...]]:
        """All captured names, each after those that its expression reads, and all guards."""
        captures = []
        for expr, name in self._names.items():
            generator, family = self._states.get(name, (None, None))
            captures.append(CapturedExpr(name, expr, generator, family, self._write_back.get(name)))
        guards = (IdentityGuard(expr, value) for expr, value in self.identities.items())
        return tuple(captures), tuple(guards)


def _draws_member(name: str) -> HostExpr:
    """A function or module of `transpile.random_numbers`."""
    return HostAttribute(HostHelper("draws"), name)


def _attribute_root(e: HostExpr) -> str | None:
    """The name at the root of `e`, if `e` is a name or first reads an attribute of it: ``p`` of
    ``p.x[0]``. None for other expressions, such as ``p[0].x``.
    """
    read: HostExpr | None = None
    while isinstance(e, (HostAttribute, HostItem)):
        e, read = e.of, e
    return e.name if isinstance(e, HostName) and not isinstance(read, HostItem) else None
