"""Lengths and allocations, known before the kernel starts, as Python source for the caller."""
from __future__ import annotations

import ast

from loopir.nodes import Call, Const, Dim, Expr, Var

from ..infer import Num
from .builder import Builder
from .refusal import refuse
from .values import ArrayRef, RecordsRef

__all__ = ["as_python", "inlined"]

_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "lt": "<"}


def as_python(e: Expr) -> str:
    """An invariant expression over parameters as Python source for a `Fresh`."""
    match e:
        case Const(value):
            return repr(value)
        case Var(name):
            return name
        case Dim(array, axis):
            return f"{array}.shape[{axis}]"
        case Call("neg", (a,)):
            return f"(-{as_python(a)})"
        case Call("greatest" | "least" as op, (Var(array),)):
            return f"_{op}({array})"
        case Call("room"):
            return "_tp_room[0]"
        case Call("max" | "min" as op, (a, c)):
            return f"_{op}({as_python(a)}, {as_python(c)})"
        case Call("select", (Call("eq", (a, Const(0))), Const(1), c)) if a == c:
            return f"({as_python(a)} or 1)"
        case Call(op, (a, c)) if op in _INFIX:
            return f"({as_python(a)} {_INFIX[op]} {as_python(c)})"
        case Call("select", (test, a, c)):
            return f"({as_python(a)} if {as_python(test)} else {as_python(c)})"
        case _:
            return refuse("LOWER_UNSUPPORTED", "a length is not known before the loop", None)


def inlined(node: ast.expr, b: Builder, arguments: frozenset[str]) -> str:
    """`node` as source over arguments and globals: local names give way to what they stand for.

    Elements of arrays are not asked for: what comes before `node` may have written them.
    """
    class Inline(ast.NodeTransformer):
        def visit_Subscript(self, n: ast.Subscript) -> ast.expr:
            length = _length(n, b)
            if length is not None and (origin := b.foreseen(length.ir)) is not None:
                return ast.parse(as_python(origin), mode="eval").body
            return ast.Subscript(self.visit(n.value), self.visit(n.slice), n.ctx)

        def visit_Name(self, n: ast.Name) -> ast.expr:
            value = b.env.get(n.id)
            if isinstance(value, (ArrayRef, RecordsRef)) and id(n) not in kept:
                said = f"`{ast.unparse(node)}` reads elements of `{n.id}`"
                return refuse("LOWER_UNSUPPORTED", said, n)
            if value is None or (n.id in arguments and _is_own(n.id, value)):
                return n
            if isinstance(value, ArrayRef) and not value.places and value.name not in b.fresh:
                return ast.Name(value.name, ast.Load())
            origin = b.foreseen(value.ir) if isinstance(value, Num) and value.python_int else None
            if origin is not None:
                return ast.parse(as_python(origin), mode="eval").body
            if isinstance(value, Num) and isinstance(value.ir, Const):
                return ast.Constant(value.ir.value)
            return refuse("LOWER_UNSUPPORTED", f"`{n.id}` is not known before the loops", n)

    copied = ast.parse(ast.unparse(node), mode="eval").body
    for n in ast.walk(copied):
        ast.copy_location(n, node)
    kept = {id(of) for n in ast.walk(copied) for of in _kept(n)}
    out: ast.expr = Inline().visit(copied)
    return ast.unparse(ast.fix_missing_locations(out))


def _kept(n: ast.AST) -> list[ast.expr]:
    """What `n` asks for nothing that a store changes."""
    match n:
        case ast.Attribute(value=of, attr="shape" | "size" | "ndim" | "dtype"):
            return [of]
        case ast.Call(func=ast.Name(id="len") | ast.Attribute(attr="len"), args=[of]):
            return [of]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name.endswith("_like"):
            return [*n.args[:1], *(k.value for k in n.keywords if k.arg in ("a", "prototype"))]
    return []


def _length(n: ast.Subscript, b: Builder) -> Num | None:
    """The length that ``name.shape[k]`` is, of a view or of an array made here."""
    match n:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
            slice=ast.Constant(value=int(k)),
        ):
            of = b.env.get(name)
            known = isinstance(of, ArrayRef) and (of.places or of.name in b.fresh)
            return of.shape[k] if isinstance(of, ArrayRef) and known and k < of.rank else None
    return None


def _is_own(name: str, value: object) -> bool:
    """Whether an argument still has the value it was passed with."""
    match value:
        case Num(ir=Var(n)) | ArrayRef(name=n, places=()) | RecordsRef(name=n, is_whole=True):
            return n == name
        case _:
            return False
