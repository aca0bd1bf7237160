"""Lower names and attributes: arguments, captured objects, fields and local variables."""
from __future__ import annotations

import ast
from typing import Any

from loopir.nodes import Call, Dim, Param, Var

from ..call_plan import Argument, Captured, ComplexPart, Field, ObjectMember
from ..frontend.name_resolution import Origin, Scope
from ..frontend.refusal import refuse, refuse_no_value
from ..types.linear_form import ARGUMENT, LENGTH, LinearForm, int_constant
from ..types.typed_values import ComplexPair, Num, bool_op, constant
from ..types.typeof import global_type
from ..types.value_types import (
    PARTS,
    ArrayType,
    Constant,
    GeneratorType,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
)
from .arrays.element_access import Stores
from .state.ir_builder import kernel_param
from .state.symbol_values import Absent, ArrayRef, RecordArrayRef, Unbound, UnionValue

__all__ = ["Names"]


class Names(Stores):
    """Reads of names and attributes."""

    scope: Scope
    refs: dict[str, object]

    def add_param(
        self,
        name: str,
        ty: ArrayType | ScalarType,
        binding: Argument | Captured | Field | ObjectMember,
    ) -> Num | ComplexPair | ArrayRef:
        """A new kernel parameter, and the value it has inside."""
        b = self.b
        assert b.bindings.get(name, binding) == binding, f"two parameters `{name}`"
        if isinstance(binding, (Argument, Captured)) and getattr(ty, "dtype", "") in PARTS and (
            isinstance(ty, ScalarType)
        ):
            re, im = (self._part_param(part, ty, binding) for part in ("real", "imag"))
            return ComplexPair(re, im)
        b.names.add(name)
        b.bindings[name] = binding
        if isinstance(ty, ScalarType):
            b.params[name] = Param(name, ty.dtype)
            return self._scalar_param(name, ty)
        b.params[name] = kernel_param(name, ty)
        shape = tuple(b.integer_num(Dim(name, k), LENGTH) for k in range(ty.rank))
        return ArrayRef(name, ty.dtype, ty.unit, shape)

    def _part_param(self, part: str, ty: ScalarType, of: Argument | Captured) -> Num:
        """A part of a complex number as a parameter: one, wherever it is asked for first."""
        b = self.b
        parts = (p for p in b.bindings.values() if isinstance(p, ComplexPart))
        known = next((p.name for p in parts if (p.of, p.part) == (of, part)), None)
        name, dtype = known or b.name(f"{of.name}_{part}"), PARTS[ty.dtype]
        b.bindings[name] = ComplexPart(name, of, part, ty)
        b.params[name] = Param(name, dtype)
        return self._scalar_param(name, ScalarType(dtype, ty.weak))

    def _scalar_param(self, name: str, ty: ScalarType) -> Num:
        var = Var(name, ty.dtype)
        if not ty.weak:
            return Num(var, strong=ty.dtype)
        if ty.dtype != "i64":
            return Num(var, weak=ty.dtype)
        return Num(var, weak="i64", linear=LinearForm.of(var), interval=ARGUMENT)

    def guard_int_params(self, tree: ast.AST) -> None:
        """Python's ints, and NumPy's where it matters, are taken to be below 2**62, so that sums of
        a few cannot overflow.
        """
        for name, binding in self.b.bindings.items():
            ty = getattr(binding, "type", None)
            if ty == ScalarType("i64", weak=True) or (
                ty == ScalarType("i64") and name in self.b.relied
            ):
                var = Var(name, "i64")
                for op, limit in (("ge", ARGUMENT[0]), ("le", ARGUMENT[1])):
                    self.b.guard(
                        Call(op, (var, int_constant(limit)), "bool"), "GUARD_INT_RANGE", tree
                    )

    # -- names

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.Subscript():
                return self.records(node) or self.subscript(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self.call(node)
            case _:
                return refuse(
                    "LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be compiled", node
                )

    def _name(self, name: str, node: ast.AST) -> Any:
        got = self.b.env.get(name)
        if isinstance(got, Unbound):
            return self._late(name, got, node)
        if isinstance(got, UnionValue):
            return self._bound_one(got, name, node)
        if got is not None:
            return got
        origin, value = self.scope.find(name)
        if origin is Origin.LOCAL or origin is Origin.UNBOUND:
            refuse("LOWER_UNSUPPORTED", f"`{name}` may have no value here", node)
        ty = global_type(value)
        if isinstance(ty, ListType):
            self.b.env[name] = taken = self.take(name, ty, node, captured=True)
            return taken
        if isinstance(ty, (Constant, ObjectType, Opaque)):
            return refuse("LOWER_TYPE", f"`{name}` is a global of type {ty}", node)
        if isinstance(ty, RecordType):
            self.b.env[name] = records = RecordArrayRef(name, ty)
            return records
        self.b.env[name] = captured = self.add_param(name, ty, Captured(name, ty))
        return captured

    def _bound_one(self, got: UnionValue, name: str, node: ast.AST) -> Any:
        """What `got` may be but unbound: to read the name is what raises."""
        there = [c for c in got.cases if c.value is not Absent.UNBOUND]
        if not there:
            refuse_no_value(f"`{name}` has no value here", node)
        if len(there) == len(got.cases):
            return got
        self._is_bound(name, node)
        alone = len(there) == 1 and not isinstance(there[0].value, Absent)
        return there[0].value if alone else UnionValue(tuple(there))

    def unbind(self, node: ast.expr) -> None:
        """``del name``, which has to have a value."""
        assert isinstance(node, ast.Name)
        if not self._is_bound(node.id, node) and node.id not in self.arguments:
            refuse("LOWER_UNSUPPORTED", f"`{node.id}` may have no value here", node)
        self.b.env[node.id] = Unbound()

    def _is_bound(self, name: str, node: ast.AST) -> bool:
        """Whether `name` has a value in here; that it has one is required."""
        got = self.b.env.get(name)
        if isinstance(got, Unbound):
            self._late(name, got, node)
        elif isinstance(got, UnionValue):
            for c in got.cases:
                if c.value is Absent.UNBOUND:
                    self.b.require(bool_op("not", c.when), "GUARD_EMPTY", node)
        return got is not None

    def take(self, name: str, ty: ListType, node: ast.AST, *, captured: bool = False) -> ArrayRef:
        """An array of what a list holds."""
        raise NotImplementedError

    def ask(self, node: ast.Name | ast.Attribute) -> None:
        """What stands alone has to be at each call what it was when this was compiled."""
        name = node.id if isinstance(node, ast.Name) else ""
        told = isinstance(self.arguments.get(name), (Constant, GeneratorType, ObjectType))
        if told or (isinstance(node, ast.Name) and self._is_bound(name, node)):
            return
        if name in self.arguments or (self.known(node) is None and not self._is_none(name)):
            self.value(node)

    def _is_none(self, name: str) -> bool:
        """Whether `name` is None outside of the function; that is kept in mind."""
        origin, value = self.scope.find(name)
        found = origin in (Origin.GLOBAL, Origin.CLOSURE) and value is None
        if found:
            self.refs[name] = None
        return found

    def _late(self, name: str, got: Unbound, node: ast.AST) -> Num:
        if got.value is None or got.needed is None:
            return refuse("LOWER_UNSUPPORTED", f"`{name}` may have no value here", node)
        self.b.require(got.needed, "GUARD_EMPTY", node)
        return got.value

    def known(self, node: ast.expr) -> object | None:
        value = self._resolve(node)
        said = ast.unparse(node)
        if value is not None and said not in self.arguments and not said.startswith("_ops."):
            self.refs[said] = value
        return value

    def _resolve(self, node: ast.expr) -> object | None:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.b.env:
            return None
        if isinstance(node, ast.Name) and isinstance(of := self.arguments.get(node.id), Constant):
            return of.value
        return self.scope.resolve(node)

    def _attribute(self, node: ast.Attribute) -> Any:
        array = self.extent_of(node.value)
        if array is not None and not array.kinds:
            return self._of_array(array, node)
        value = self.known(node)
        if node.attr in ("real", "imag") and value is None:
            return self.part(node.attr, self.number(node.value), node)
        if type(value) is complex:
            return self.literal(value)
        if type(value) in (int, float, bool):
            return constant(value)  # type: ignore[arg-type]
        return refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be compiled", node)

    def _of_array(self, array: ArrayRef, node: ast.Attribute) -> Any:
        match node.attr:
            case "shape":
                return array.shape
            case "ndim":
                return constant(array.rank)
            case "size":
                out = constant(1)
                for n in array.shape:
                    out = self.binary(
                        ast.Mult,
                        out,
                        Num(n.ir, weak="i64", linear=n.linear, interval=(0, 1 << 20)),
                        node,
                    )
                return self.b.integer_num(out.ir, LENGTH) if out.linear is None else out
            case _:
                return refuse(
                    "LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be compiled", node
                )
