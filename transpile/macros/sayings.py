"""Functions of whole arrays → what other functions of NumPy say as well."""
from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from ..types import ELEMENTS
from .arguments import Arguments, arguments, function_named
from .context import Context
from .firing import fires_on, named
from .integers import integer_constant
from .nests import dtype, unless
from .said import SAYINGS, Saying
from .views import held

__all__ = ["array_told"]


_BY_NAME: dict[str, list[Saying]] = {}
for _row in SAYINGS:
    _BY_NAME.setdefault(_row.call.split()[0], []).append(_row)


@fires_on(ast.Call, calls=named(_BY_NAME))
def array_told(node: ast.AST, cx: Context) -> ast.expr | None:
    """In the words of others.

        s = np.nansum(x)
    →
        _sum = np.float64(0)
        for _i in range(x.shape[0]):
            _sum = np.add(_sum, np.where(np.not_equal(x[_i], x[_i]), 0, x[_i]))
        s = _sum
    """
    if not isinstance(node, ast.Call):
        return None
    called = function_named(node.func, cx) or getattr(node.func, "attr", "")
    for row in _BY_NAME.get(called, ()):
        name, *words = row.call.split()
        given = arguments(node, cx, {name: " ".join(w.partition("=")[0] for w in words)})
        if given is not None and (parts := _parts(row, given, words, cx)) is not None:
            if name.startswith("linalg."):
                cx.steps()  # NumPy's norms are dot products
            return _told(row, parts, node, cx)
    return None


def _parts(
    row: Saying, given: Arguments, words: Sequence[str], cx: Context
) -> dict[str, ast.expr] | None:
    """What the capitals of `row` stand for; None where it is not for these arguments."""
    defaults = dict(w.split("=") for w in words if "=" in w)
    parts = {k.upper(): cx.expr(v) for k, v in defaults.items()}
    own = {k.upper(): e for k in given.given if (e := given.get(k)) is not None
           and ast.unparse(e) != defaults.get(k)}
    text, wanted = " ".join((row.says, *row.first, *row.python)), row.wants.split()
    named = {*re.findall(r"[A-Z_]+", text), *(w.partition("=")[0] for w in wanted)}
    of = cx.fact(own.get("A", ast.Constant(None)))
    if of.array is None or not own.keys() <= named or not all(_wants(w, own, cx) for w in wanted):
        return None
    shapes = row.rank in (None, of.rank) and (
        not row.alike or (cx.fact(own[row.alike]).array and
                          cx.fact(own[row.alike]).rank == of.rank))
    if not shapes or ELEMENTS[of.array.dtype].kind not in row.kinds:
        return None
    return {**parts, **own}


def _wants(text: str, own: Mapping[str, ast.expr], cx: Context) -> bool:
    """Whether an argument is given, and what it has to be; an axis is a constant, or two are."""
    name, _, value = text.partition("=")
    e = own.get(name)
    if e is None:
        return False
    if not value:
        axes = e.elts if isinstance(e, ast.Tuple) and "ORD" not in own else [e]
        known = all(integer_constant(a, None) is not None for a in axes)
        return name != "AXIS" or (known and len(axes) in (1, 2))
    negative = value.startswith("-") and isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub)
    e, value = (e.operand, value[1:]) if negative and isinstance(e, ast.UnaryOp) else (e, value)
    found = e.value if isinstance(e, ast.Constant) else cx.resolve(e)
    return repr(found) == value


def _told(
    row: Saying, parts: dict[str, ast.expr], node: ast.Call, cx: Context
) -> ast.expr | None:
    name, made = cx.fresh("a"), cx.fact(node).types
    to = next(iter(made)).dtype if len(made) == 1 else "f64"
    texts = (row.says, *row.first, *row.python)
    for k, e in parts.items():
        uses = sum(len(re.findall(rf"\b{k}\b", t)) for t in texts) + (row.alike == k or k == "A")
        if uses > 1 and not isinstance(e, (ast.Name, ast.Constant)):
            parts[k] = held(e, "a", cx)
    parts |= {"NP": cx.numpy, "T": dtype(to, cx)}
    for line in row.first:
        target, _, text = line.partition(" = ")
        parts[target] = held(_said(text, parts, to, cx), "a", cx)
    checks = _unlike(row, parts, cx)
    for text in row.python:
        check = _said(text, parts, to, cx)
        if cx.fact(check).rank:
            check = cx.expr("NP.any(C)", NP=cx.numpy, C=check)
        checks.append(held(check, "python", cx))
    value = _said(row.says, parts, to, cx)
    if not checks:
        return value
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.before(*unless(checks, original, cx.code("NAME = E", NAME=name, E=value), cx))
    return cx.expr("NAME", NAME=name)


def _said(text: str, parts: dict[str, ast.expr], to: str, cx: Context) -> ast.expr:
    """`text` about `parts`; what is a double anyway is not converted to one."""
    return cx.expr(text.replace("T(", "(") if to == "f64" else text, **parts)


def _unlike(row: Saying, parts: dict[str, ast.expr], cx: Context) -> list[ast.expr]:
    """Whether two arrays differ in shape."""
    if not row.alike:
        return []
    return [
        cx.expr("A.shape[K] != B.shape[K]", A=parts["A"], B=parts[row.alike], K=ast.Constant(k))
        for k in range(cx.fact(parts["A"]).rank or 0)
    ]
