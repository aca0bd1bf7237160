"""What names, subscripts and attributes of the source stand for."""
from __future__ import annotations

import ast
from typing import Any

import numpy as np

from loopir.nodes import Call, Const, Dim, Expr, If, Load, Param, Store, Var, Yield
from loopir.types import DTYPES

from ..infer import Num, constant
from ..plan import Binding, Captured
from ..ranges import ARGUMENT, LENGTH, Linear, integer
from ..scope import Origin, Scope
from ..signature import type_of
from ..source import span_of
from ..types import ArrayType, Opaque, ScalarType
from .calls import Calls
from .refusal import refuse
from .subscripts import element
from .values import ArrayRef, ListRef, Made, Unbound

__all__ = ["Names"]


class Names(Calls):
    """Reads and writes of names and array elements."""

    scope: Scope
    refs: dict[str, object]

    def add_param(self, name: str, ty: ArrayType | ScalarType, binding: Binding) -> Num | ArrayRef:
        """A new kernel parameter, and the value it has inside."""
        b = self.b
        b.names.add(name)
        b.bindings[name] = binding
        if isinstance(ty, ScalarType):
            b.params[name] = Param(name, ty.dtype)
            return self._scalar_param(name, ty)
        b.params[name] = Param(name, ty.dtype, ty.rank, ty.unit)
        shape = tuple(b.integer_num(Dim(name, k), LENGTH) for k in range(ty.rank))
        return ArrayRef(name, ty.dtype, ty.unit, shape)

    def _scalar_param(self, name: str, ty: ScalarType) -> Num:
        var = Var(name, ty.dtype)
        if not ty.weak:
            return Num(var, strong=ty.dtype)
        if ty.dtype != "i64":
            return Num(var, weak=ty.dtype)
        return Num(var, weak="i64", linear=Linear.of(var), interval=ARGUMENT)

    def guard_int_params(self, tree: ast.AST) -> None:
        """Python ints are taken to be below 2**62, so that sums of a few cannot overflow."""
        for name, binding in self.b.bindings.items():
            ty = getattr(binding, "type", None)
            if ty == ScalarType("i64", weak=True):
                var = Var(name, "i64")
                for op, limit in (("ge", ARGUMENT[0]), ("le", ARGUMENT[1])):
                    self.b.guard(Call(op, (var, integer(limit)), "bool"), "GUARD_INT_RANGE", tree)

    # -- names

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.Subscript():
                return self.subscript(node)
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
        if got is not None:
            return got
        origin, value = self.scope.find(name)
        if origin is Origin.LOCAL or origin is Origin.UNBOUND:
            refuse("LOWER_UNSUPPORTED", f"`{name}` may have no value here", node)
        ty = type_of(value)
        if isinstance(ty, Opaque):
            return refuse("LOWER_TYPE", f"`{name}` is a global of type {ty}", node)
        self.b.env[name] = captured = self.add_param(name, ty, Captured(name, ty))
        return captured

    def _late(self, name: str, got: Unbound, node: ast.AST) -> Num:
        if got.value is None or got.needed is None:
            return refuse("LOWER_UNSUPPORTED", f"`{name}` may have no value here", node)
        self.b.require(got.needed, "GUARD_EMPTY", node)
        return got.value

    def known(self, node: ast.expr) -> object | None:
        value = self._resolve(node)
        if value is not None:
            self.refs[ast.unparse(node)] = value
        return value

    def _resolve(self, node: ast.expr) -> object | None:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.b.env:
            return None
        return self.scope.resolve(node)

    def _attribute(self, node: ast.Attribute) -> Any:
        array = self.array(node.value)
        if array is not None:
            return self._of_array(array, node)
        value = self.known(node)
        if type(value) in (int, float, bool):
            return constant(value)  # type: ignore[arg-type]
        return refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be compiled", node)

    def _of_array(self, array: ArrayRef, node: ast.Attribute) -> Any:
        shape = array.shape[len(array.prefix) :]
        match node.attr:
            case "shape":
                return shape
            case "ndim":
                return constant(len(shape))
            case "size":
                out = constant(1)
                for n in shape:
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

    # -- arrays

    def finished_list(self, name: str) -> ArrayRef | None:
        """A list that grows no more and whose length is known before the kernel, as an array."""
        raise NotImplementedError

    def array(self, node: ast.expr) -> ArrayRef | None:
        """`node` as an array: a name, or a row ``x[i]`` of one; None for anything else."""
        match node:
            case ast.Name(id=name):
                got = self.b.env.get(name)
                if got is None and isinstance(self.scope.resolve(node), np.ndarray):
                    got = self._name(name, node)
                if isinstance(got, Made):
                    return got.array
                if isinstance(got, ListRef):
                    return self.finished_list(got.name)
                return got if isinstance(got, ArrayRef) else None
            case ast.Subscript(value=inner):
                base = self.array(inner)
                count = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
                if base is None or count >= base.rank:
                    return None
                got = self.subscript(node)
                return got if isinstance(got, ArrayRef) else None
            case _:
                return None

    def _indices(self, node: ast.Subscript, array: ArrayRef) -> list[Num]:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(
            isinstance(p, (ast.Slice, ast.Starred))
            or (isinstance(p, ast.Constant) and p.value in (None, ...))
            for p in parts
        ):
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is a slice", node)
        if len(parts) > array.rank:
            refuse(
                "LOWER_SUBSCRIPT",
                f"`{ast.unparse(node)}` has more subscripts than dimensions",
                node,
            )
        out = []
        for p in parts:
            if self.array(p) is not None:
                refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is indexed by an array", node)
            out.append(self.num(p))
        return out

    def subscript(self, node: ast.Subscript) -> Any:
        got = self.array(node.value) or self.value(node.value)
        if isinstance(got, tuple):
            k = self.num(node.slice)
            if isinstance(k.ir, Const) and k.python_int and -len(got) <= k.ir.value < len(got):
                return got[int(k.ir.value)]
        if not isinstance(got, ArrayRef):
            return refuse(
                "LOWER_SUBSCRIPT", f"`{ast.unparse(node.value)}` is not an array here", node
            )
        indices = self._indices(node, got)
        index, inside = element(self.b, got, indices, node)
        if len(indices) < got.rank:
            if inside is not None:
                refuse(
                    "LOWER_SUBSCRIPT", f"the row `{ast.unparse(node)}` may be out of bounds", node
                )
            rows = tuple(self.b.integer_num(e) for e in index[len(got.prefix) :])
            return ArrayRef(got.name, got.dtype, got.unit, got.shape, got.prefix + rows)
        load = Load(got.name, index, got.dtype, span=span_of(node))
        e = load if inside is None else self._inside(inside, load)
        if got.weak:
            return Num(e, weak=got.dtype)
        return Num(e, strong=got.dtype)

    def _inside(self, inside: Expr, load: Load) -> Expr:
        """An element under a name, read where `inside` holds."""
        b, hint = self.b, f"{load.array}_at"
        if not b.lazy:
            return b.bind(load, hint)
        zero = Const(DTYPES[load.dtype].numpy.type(0).item(), load.dtype)
        y = Yield(b.name(hint), load, zero)
        b.emit(If(inside, (), (), (y,), span=load.span))
        return Var(y.name, load.dtype)

    def store(self, target: ast.Subscript, value: Num, node: ast.AST) -> None:
        """``a[i] = value``."""
        array = self.array(target.value)
        if array is None:
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(target.value)}` is not an array here", target)
        indices = self._indices(target, array)
        if len(indices) < array.rank:
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(target)}` is a whole row", target)
        index, inside = element(self.b, array, indices, target)
        stmt = Store(array.name, index, self.stored(value, array.dtype, node), span=span_of(target))
        self.b.emit(stmt if inside is None else If(inside, (stmt,), span=span_of(target)))
        self.written.add(array.name)

    def stored(self, value: Num, dtype: str, node: ast.AST) -> Expr:
        raise NotImplementedError

    written: set[str]
