"""A whole function as one region: parameters, body, result, guards."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from loopir.nodes import Append, Check, Kernel, Load, Param, Store
from loopir.tree import walk

from ..plan import Argument, Captured, Nothing, Plan, Ref, Returned
from ..scope import Scope
from ..types import ArgType, Opaque
from .builder import Builder
from .refusal import refuse
from .results import Results, alias_guards
from .values import Value

__all__ = ["lower"]


def lower(tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope) -> Plan:
    """The plan of `tree` (core Python) for one call signature.

    Raises Refused where it cannot be compiled faithfully.
    """
    return _Function(tree, types, scope).plan()


class _Function(Results):
    def __init__(self, tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope) -> None:
        self.tree, self.types, self.scope = tree, types, scope
        self.b = Builder()
        self.refs: dict[str, object] = {}
        self.arguments: dict[str, object] = dict(types)
        self.lists = {}
        self.open_lists = set()
        self.counters: set[str] = set()
        self.written: set[str] = set()
        self.plain = _plain_lists(tree)

    def plan(self) -> Plan:
        *body, last = self.tree.body
        if not isinstance(last, ast.Return):
            body, returned_node = [*body, last], None
        else:
            returned_node = last.value
        live = (
            frozenset(n.id for n in ast.walk(last) if isinstance(n, ast.Name))
            if returned_node
            else frozenset()
        )
        self._start_counters()
        self.statements(body, live)
        returned: Returned = (
            self.returned(returned_node) if returned_node is not None else Nothing()
        )
        self.guard_int_params(self.tree)
        return self._assemble(returned)

    def _start_counters(self) -> None:
        for node in ast.walk(self.tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])) if (
                    name not in self.plain
                ):
                    self.counter(name)

    def _name(self, name: str, node: ast.AST) -> Any:
        ty = self.types.get(name)
        if ty is None or name in self.b.env:
            return super()._name(name, node)
        if isinstance(ty, Opaque):
            return refuse(ty.code, f"`{name}` is of type {ty}", node)
        value: Value = self.add_param(name, ty, Argument(name, ty))
        self.b.env[name] = value
        return value

    def array(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name) and node.id in self.types and node.id not in self.b.env:
            self._name(node.id, node)
        return super().array(node)

    def _assemble(self, returned: Returned) -> Plan:
        b = self.b
        written = {n.array for s in b.block for n in walk(s) if isinstance(n, (Store, Append))}
        read = {n.array for s in b.block for n in walk(s) if isinstance(n, Load)}
        params = tuple(
            replace(p, written=p.name in written) if p.rank is not None else p
            for p in b.params.values()
        )
        guards = (*b.guards, *alias_guards(params, b.fresh | self._slots(params), b.block))
        theirs = {
            n for n, binding in b.bindings.items() if isinstance(binding, (Argument, Captured))
        }
        writes = tuple(sorted(written & theirs))
        checked = any(isinstance(n, Check) and n.code == "replay" for s in b.block for n in walk(s))
        rewrites = bool(written & read & theirs)
        stops = checked and bool(writes) and not rewrites
        wordless = any(not s.message for s in b.sources)
        kernel = Kernel(self.tree.name, params, tuple(b.block), guards, stops=stops)
        return Plan(
            kernel=kernel,
            bindings=tuple(b.bindings[p.name] for p in params),
            returned=returned,
            refs=tuple(Ref(k, v) for k, v in self.refs.items()),
            writes=writes,
            rewrites=rewrites,
            snapshot=bool(writes) and (wordless or (checked and not stops)),
            temporaries=frozenset(b.fresh - _escaping(returned)),
            sources=tuple(dict.fromkeys(b.sources)),
        )

    def _slots(self, params: Sequence[Param]) -> set[str]:
        return {p.name for p in params if p.rank == 0 and p.written and p.name not in self.types}


def _escaping(returned: Returned) -> set[str]:
    items = getattr(returned, "items", None)
    if items is not None:
        return {name for item in items for name in _escaping(item)}
    return {getattr(returned, "name", None) or "", getattr(returned, "flags", None) or ""} - {""}


def _plain_lists(tree: ast.FunctionDef) -> set[str]:
    """Lists that one top-level loop fills by exactly one append an iteration."""
    out: set[str] = set()
    for stmt in tree.body:
        if isinstance(stmt, ast.For):
            out |= {n for s in stmt.body if (n := _appends(s)) is not None}
    for name in list(out):
        uses = [
            n
            for n in ast.walk(tree)
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
        ]
        if len(uses) != 1:
            out.discard(name)
    return out


def _appends(stmt: ast.stmt) -> str | None:
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))):
            return name
        case _:
            return None
