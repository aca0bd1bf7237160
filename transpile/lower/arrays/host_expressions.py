"""Emit lengths and allocations as Python expressions, evaluated before the kernel."""
from __future__ import annotations

import ast
import math

from loopir.nodes import Call, Const, Dim, Expr, Var

from ...frontend.ast_walk import copy_tree
from ...frontend.core_nodes import copy_location, fix_missing_locations
from ...frontend.refusal import refuse
from ...types.typed_values import Num
from ..state.ir_builder import IRBuilder
from ..state.symbol_values import ArrayRef, RecordArrayRef

__all__ = ["host_expression", "inline_locals", "known_before_kernel"]

_TEXTS = {
    **{op: f"({{0}} {sign} {{1}})" for op, sign in {
        "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%",
        "bitand": "&", "bitor": "|", "bitxor": "^", "shr": ">>", "and": "and", "or": "or",
        "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "xor": "!=",
    }.items()},
    "neg": "(-{0})", "invert": "(~{0})", "not": "(not {0})", "abs": "_abs({0})",
    "max": "_max({0}, {1})", "min": "_min({0}, {1})", "select": "({1} if {0} else {2})",
    "shl": "({0} << _min({1}, 64))", "sqrt": "_math.sqrt({0})", "rint": "_float(_round({0}))",
    **{op: f"_float(_math.{op}({{0}}))" for op in ("floor", "ceil", "trunc")},
}
"""What computes the same of Python's numbers, to the bit, or raises."""

_KINDS = {"i64": int, "f64": float, "bool": bool}
_CLASSES = {dtype: f"_{kind.__name__}" for dtype, kind in _KINDS.items()}


def host_expression(e: Expr) -> str:
    """An invariant expression over parameters as Python source for a `Fresh`."""
    text = _text(e)
    if text is None:
        refuse("LOWER_UNSUPPORTED", "a length is not known before the loop", None)
    return text


def known_before_kernel(e: Expr, b: IRBuilder) -> Expr | None:
    """What `e` is before the first statement, if that is something that `host_expression` knows."""
    origin = b.at_entry(e)
    return None if origin is None or _text(origin) is None else origin


def _text(e: Expr) -> str | None:
    match e:
        case Const(value) if e.dtype in _KINDS and abs(value) < math.inf:
            return repr(_KINDS[e.dtype](value))
        case Var(name, "i64"):
            return name
        case Var(name, "f64" | "bool"):
            return f"{_CLASSES[e.dtype]}({name})"
        case Dim(array, axis):
            return f"{array}.shape[{axis}]"
        case Call("greatest" | "least" as op, (Var(array),)):
            return f"_{op}({array})"
        case Call("room"):
            return "_tp_room[0]"
        case Call("cast", (Var(name),)) if e.dtype in _KINDS:
            return f"{_CLASSES[e.dtype]}({name})"
        case Call("select", (Call("eq", (a, Const(0))), Const(1), c)) if a == c:
            whole = _text(a)
            return None if whole is None else f"({whole} or 1)"
        case Call(op, args) if e.dtype in _KINDS:
            text = f"{_CLASSES[e.dtype]}({{0}})" if op == "cast" else _TEXTS.get(op)
            parts = [_text(a) for a in args]
            return text.format(*parts) if text is not None and None not in parts else None
    return None


def inline_locals(node: ast.expr, b: IRBuilder, arguments: frozenset[str]) -> str:
    """`node` as source over arguments and globals: local names give way to what they stand for.

    Elements of arrays are not asked for: what comes before `node` may have written them.
    """
    class Inline(ast.NodeTransformer):
        def visit_Subscript(self, n: ast.Subscript) -> ast.expr:
            length = _known_length(n, b)
            if length is not None and (origin := known_before_kernel(length.ir, b)) is not None:
                return ast.parse(host_expression(origin), mode="eval").body
            return ast.Subscript(self.visit(n.value), self.visit(n.slice), n.ctx)

        def visit_Name(self, n: ast.Name) -> ast.expr:
            value = b.env.get(n.id)
            if isinstance(value, (ArrayRef, RecordArrayRef)) and id(n) not in kept:
                said = f"`{ast.unparse(node)}` reads elements of `{n.id}`"
                return refuse("LOWER_UNSUPPORTED", said, n)
            if value is None or (n.id in arguments and _is_unchanged_argument(n.id, value)):
                return n
            if (
                isinstance(value, ArrayRef)
                and not value.base_index
                and value.name not in b.buffers.fresh
            ):
                return ast.Name(value.name, ast.Load())
            whole = isinstance(value, Num) and value.python_int
            origin = known_before_kernel(value.ir, b) if isinstance(value, Num) and whole else None
            if origin is not None:
                return ast.parse(host_expression(origin), mode="eval").body
            if isinstance(value, Num) and isinstance(value.ir, Const):
                return ast.Constant(value.ir.value)
            return refuse("LOWER_UNSUPPORTED", f"`{n.id}` is not known before the loops", n)

    own = copy_tree(node)
    for n in ast.walk(own):
        copy_location(n, node)
    kept = {id(of) for n in ast.walk(own) for of in _layout_operands(n)}
    out: ast.expr = Inline().visit(own)
    return ast.unparse(fix_missing_locations(out))


def _layout_operands(n: ast.AST) -> list[ast.expr]:
    """What `n` asks for nothing that a store changes."""
    match n:
        case ast.Attribute(value=of, attr="shape" | "size" | "ndim" | "dtype"):
            return [of]
        case ast.Call(func=ast.Name(id="len") | ast.Attribute(attr="len"), args=[of]):
            return [of]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name.endswith("_like"):
            return [*n.args[:1], *(k.value for k in n.keywords if k.arg in ("a", "prototype"))]
    return []


def _known_length(n: ast.Subscript, b: IRBuilder) -> Num | None:
    """The length that ``name.shape[k]`` is, of a view or of an array made here."""
    match n:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
            slice=ast.Constant(value=int(k)),
        ):
            of = b.env.get(name)
            known = isinstance(of, ArrayRef) and (of.base_index or of.name in b.buffers.fresh)
            return of.shape[k] if isinstance(of, ArrayRef) and known and k < of.rank else None
    return None


def _is_unchanged_argument(name: str, value: object) -> bool:
    """Whether an argument still has the value it was passed with."""
    match value:
        case (
            Num(ir=Var(n)) | ArrayRef(name=n, base_index=()) | RecordArrayRef(name=n, is_whole=True)
        ):
            return n == name
        case _:
            return False
