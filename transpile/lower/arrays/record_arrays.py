"""Arrays of records (structured dtypes): each field that is read is a parameter of the kernel."""
from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from loopir.nodes import Expr

from ...analysis.object_arguments import access_path_type
from ...call_plan import Field, ObjectMember
from ...frontend.core_nodes import copy_location
from ...frontend.name_resolution import Scope
from ...frontend.refusal import refuse
from ...numpy.indexing.structured_arrays import field_path
from ...types.linear_form import LinearForm
from ...types.typed_values import bool_op
from ...types.typeof import type_of
from ...types.value_types import PARTS, ArgType, ArrayType, Constant, Opaque, RecordType, ScalarType
from ..scalars.lower_calls import Calls
from ..state.symbol_values import ArrayRef, AxisStride, RecordArrayRef

__all__ = ["Records"]


class Records(Calls):
    """Reads of records, and of their fields by the names that ``numpy.indexing`` has given."""

    scope: Scope
    types: dict[str, ArgType]
    arguments: dict[str, object]
    fields: dict[tuple[str, tuple[str, ...]], Field]
    """By array and the fields on the way."""
    held: dict[str, ObjectMember]
    spelled: dict[str, str]
    """What the names of fields stand for, as source."""

    def value(self, node: ast.expr) -> Any:
        raise NotImplementedError

    def view(self, array: ArrayRef, node: ast.Subscript) -> tuple[ArrayRef, Expr | None]:
        raise NotImplementedError

    def names_field(self, name: str, value: ast.expr) -> bool:
        """Takes note of ``name = r["field"]``; whether it is that."""
        r, path = field_path(value) or ("", ())
        ref = self.records(copy_location(ast.Name(r, ast.Load()), value)) if path else None
        if ref is None or not ref.is_whole or (r, path) in self.fields:
            return False
        ty: ArgType | None = ref.type
        for field in path:
            ty = ty.field(field) if isinstance(ty, RecordType) else None
        if ty is None or isinstance(ty, RecordType):
            return False
        self.types[name], self.spelled[name] = ty, ast.unparse(value)
        if isinstance(ty, ArrayType):
            captured = r not in self.arguments
            self.fields[r, path] = Field(name, r, path, ty, ref.type, captured)
        return True

    def names_held(self, name: str, value: ast.expr) -> bool:
        """Takes note of ``name = p.part``, of an object that is an argument; whether it is that."""
        ty = access_path_type(value, self.types)
        if name in self.b.env or self.b.frames or self.b.branches or not isinstance(
            ty, (ArrayType, ScalarType, Constant)
        ) or (isinstance(ty, ScalarType) and ty.dtype in PARTS):
            return False
        text = ast.unparse(value)
        self.types[name] = self.arguments[name] = ty
        self.spelled[name] = text
        if not isinstance(ty, Constant):
            self.held[name] = ObjectMember(name, text, ty)
        return True

    def records(self, node: ast.expr) -> RecordArrayRef | None:
        """`node` as an array of records, a part of one, or a record; None for anything else."""
        match node:
            case ast.Name(id=name):
                got = self.b.env.get(name) or (self.value(node) if self._is_ours(node) else None)
                return got if isinstance(got, RecordArrayRef) else None
            case ast.Subscript(value=inner, slice=index) if not _is_text(index):
                ref = self.records(inner)
                return None if ref is None else self._part(ref, node)
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
                ref = self.records(inner)
                ty = ref.type.field(name) if ref else None
                if ref and isinstance(ty, RecordType) and ty.rank == ref.type.rank:
                    return replace(ref, type=ty, path=(*ref.path, name))
        return None

    def _is_ours(self, node: ast.Name) -> bool:
        """Whether a name not met so far is that of an array of records."""
        if node.id in self.types:
            return isinstance(self.types[node.id], RecordType)
        value = self.scope.resolve(node)
        return isinstance(value, np.ndarray) and isinstance(type_of(value), RecordType)

    def _part(self, ref: RecordArrayRef, node: ast.Subscript) -> RecordArrayRef:
        view, needed = self.view(self._frame(ref, node), node)
        if needed is not None and ref.needed is not None:
            needed = bool_op("and", ref.needed, needed)
        return replace(ref, view=view, needed=needed or ref.needed)

    def extent_of(self, node: ast.expr) -> ArrayRef | None:
        ref = self.records(node)
        return self.array(node) if ref is None else self._frame(ref, node)

    def _frame(self, ref: RecordArrayRef, node: ast.AST) -> ArrayRef:
        """An array of the shape of `ref`."""
        if ref.view is not None:
            return ref.view
        field = next((f for f in self.fields.values() if f.array == ref.name), None)
        if field is None:
            return refuse("LOWER_TYPE", f"no field of `{ref.name}` can be compiled", node)
        whole = self._whole(field, node)
        return replace(whole, shape=whole.shape[: ref.type.rank])

    def _whole(self, field: Field, node: ast.AST) -> ArrayRef:
        whole = self.array(copy_location(ast.Name(field.name, ast.Load()), node))
        assert whole is not None
        return whole

    def field(self, node: ast.expr) -> tuple[ArrayRef, Expr | None] | None:
        """``rec["x"]`` as an array, with no axis where it is an element, and what must hold for it
        to be there (None: nothing); None for anything else.
        """
        match node:
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
                ref = self.records(inner)
            case _:
                return None
        if ref is None:
            return None
        field = self.fields.get((ref.name, (*ref.path, name)))
        if field is None:
            ty = ref.type.field(name)
            code = ty.code if isinstance(ty, Opaque) else "LOWER_TYPE"
            what = f"is of type {ty}" if ty else "is no field"
            return refuse(code, f"`{ast.unparse(node)}` {what}", node)
        whole = self._whole(field, node)
        if ref.view is None:
            return whole, None
        start, own = self.b.from_linear(LinearForm()), whole.shape[ref.type.rank :]
        beyond = (AxisStride(ref.view.rank + k, start) for k in range(len(own)))
        places, shape = (*ref.view.places, *beyond), (*ref.view.shape, *own)
        return replace(whole, unit=None, shape=shape, places=places), ref.needed


def _is_text(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and isinstance(index.value, str)
