"""Views in fewer words: subscripts and permutations that mean what many functions do."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..types import PARTS
from .arguments import Arguments, arguments
from .choices import CHOICES
from .context import Context
from .firing import fires_on, named
from .integers import integer_constant
from .rejoined import REJOINED, Way
from .views import held
from .windows import WINDOWS

__all__ = ["SIGNATURES", "array_respelled", "respelled"]


def respelled(e: ast.expr, cx: Context) -> ast.expr | None:
    """`e` in other words; None where there are none better."""
    given = arguments(e, cx, SIGNATURES)
    if given is None:
        return None
    method = isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and (
        cx.resolve(e.func) is None)
    _, say = _WAYS[f".{given.name}" if method and f".{given.name}" in _WAYS else given.name]
    new = say(given, cx)
    return None if new is None or ast.dump(new) == ast.dump(e) else new


def _axes(e: ast.expr | None, rank: int) -> list[int] | None:
    """The axes that `e` names; all where there is none."""
    if e is None:
        return list(range(rank))
    several = e.elts if isinstance(e, (ast.Tuple, ast.List)) else [e]
    found = [integer_constant(a, None) for a in several]
    known = [a % rank for a in found if a is not None and -rank <= a < rank]
    return known if len(known) == len(found) == len(set(known)) else None


def _subscript(x: ast.expr, items: Sequence[str], cx: Context) -> ast.expr:
    """``x[:, ::-1]``, without the whole axes at the end."""
    used = list(items)
    while len(used) > 1 and used[-1] == ":":
        used.pop()
    return cx.expr(f"X[{', '.join(used)}]", X=x)


def _rank(x: ast.expr, cx: Context) -> int:
    return cx.fact(x).rank or 0


def _flip(given: Arguments, cx: Context) -> ast.expr | None:
    x = given["m"]
    axes = _axes(given.get("axis"), _rank(x, cx))
    if axes is None or not cx.fact(x).array:
        return None
    return _subscript(x, ["::-1" if k in axes else ":" for k in range(_rank(x, cx))], cx)


def _flipped(axis: int) -> Way:
    def say(given: Arguments, cx: Context) -> ast.expr | None:
        return _flip(Arguments("flip", {**given.given, "axis": ast.Constant(axis)}), cx)

    return say


def _turned(given: Arguments, cx: Context) -> ast.expr | None:
    """By right angles, in the plane of two axes."""
    x, times = given["m"], integer_constant(given.get("k"), 1)
    rank = _rank(x, cx)
    axes = [0, 1] if given.get("axes") is None else _axes(given["axes"], rank)
    if times is None or axes is None or len(axes) != 2 or rank < 2:
        return None
    order = list(range(rank))
    order[axes[0]], order[axes[1]] = axes[1], axes[0]
    flips = [[], axes[1:], axes, axes[1:]][times % 4]
    items = ["::-1" if k in flips else ":" for k in range(rank)]
    if times % 2 == 0:
        return _subscript(x, items, cx)
    if times % 4 == 1:
        return _permuted(_subscript(x, items, cx), order, cx)
    turned = _permuted(x, order, cx)
    return None if turned is None else _subscript(turned, items, cx)


def _permuted(x: ast.expr, order: Sequence[int], cx: Context) -> ast.expr | None:
    rank = _rank(x, cx)
    if sorted(order) != list(range(rank)):
        return None
    if rank == 1:
        return cx.expr("X[:]", X=x)
    if list(order) == list(range(rank))[::-1]:
        return cx.expr("X.T", X=x)
    return cx.expr(f"X.transpose({', '.join(map(str, order))})", X=x)


def _transposed(given: Arguments, cx: Context) -> ast.expr | None:
    rank = _rank(given["a"], cx)
    axes = list(range(rank))[::-1] if given.get("axes") is None else _axes(given["axes"], rank)
    return None if axes is None else _permuted(given["a"], axes, cx)


def _swapped(given: Arguments, cx: Context) -> ast.expr | None:
    rank = _rank(given["a"], cx)
    p, q = (integer_constant(given.get(n), None) for n in ("axis1", "axis2"))
    if p is None or q is None or not (-rank <= p < rank and -rank <= q < rank):
        return None
    order = list(range(rank))
    order[p], order[q] = order[q], order[p]
    return _permuted(given["a"], order, cx)


def _moved(given: Arguments, cx: Context) -> ast.expr | None:
    rank = _rank(given["a"], cx)
    source, to = (_axes(given.get(n), rank) for n in ("source", "destination"))
    if not source or not to or len(source) != len(to) or None in map(given.get, _MOVES):
        return None
    order = [k for k in range(rank) if k not in source]
    for place, axis in sorted(zip(to, source, strict=True)):
        order.insert(place, axis)
    return _permuted(given["a"], order, cx)


_MOVES = ("source", "destination")


def _expanded(given: Arguments, cx: Context) -> ast.expr | None:
    """With more axes, each of one element."""
    several = given.get("axis")
    if not isinstance(several, (ast.Tuple, ast.List)):
        return None  # what is shaped
    rank = _rank(given["a"], cx) + len(several.elts)
    axes = _axes(several, rank)
    items = ["None" if k in (axes or ()) else ":" for k in range(rank)]
    return None if axes is None else _subscript(given["a"], items, cx)


def _at_least(least: int) -> Way:
    def say(given: Arguments, cx: Context) -> ast.expr | None:
        x = given["a"]
        if _rank(x, cx) >= least:
            return x if isinstance(x, ast.Name) else None
        return cx.expr("X[None, :]", X=x) if _rank(x, cx) == 1 else None

    return say


def _as_it_is(given: Arguments, cx: Context) -> ast.expr | None:
    """Of what is an array of that dtype: the array itself."""
    x, to = given["a"], given.get("dtype")
    of, made = cx.fact(x).array, cx.fact(cx.expr("NP.asarray(X, T)", NP=cx.numpy, X=x, T=to)) if (
        to is not None) else cx.fact(x)
    same = of is not None and made.array is not None and made.array.dtype == of.dtype
    return x if same and isinstance(x, ast.Name) else None


def _its_own(given: Arguments, cx: Context) -> ast.expr | None:
    """The method gives what is real as it is."""
    of = cx.fact(given["a"]).array
    return given["a"] if of is not None and of.dtype not in PARTS else None


def _side_by_side(given: Arguments, cx: Context) -> ast.expr | None:
    of = cx.fact(given["a"]).array
    dense = of is not None and (of.rank, of.unit) == (1, 0)
    return _as_it_is(given, cx) if dense else None


def _copied(given: Arguments, cx: Context) -> ast.expr | None:
    order = given.get("order")
    if not isinstance(order, ast.Constant) or not cx.fact(given["a"]).array:
        return None
    ways = {"C": "X.copy()", "K": "NP.copy(X)"}
    text = ways.get(order.value) if isinstance(order.value, str) else None
    return None if text is None else cx.expr(text, X=given["a"], NP=cx.numpy)


def _shaped(given: Arguments, cx: Context) -> ast.expr | None:
    """In C order, which is what there is without a word; all in a row, in that of F."""
    order, x, shape = given.get("order"), given["a"], given.get("shape")
    way = "C" if order is None else order.value if isinstance(order, ast.Constant) else ""
    if way not in ("C", "F") or not cx.fact(x).array or not isinstance(x, ast.Name):
        return None
    if given.name == "reshape" and way == "C":
        return cx.expr("X.reshape(S)", X=x, S=shape) if shape is not None else None
    if order is None or (given.name == "reshape" and integer_constant(shape, None) != -1):
        return None
    if way == "F" and _rank(x, cx) > 1:
        text = "X.T.copy()" if given.name == "flatten" else "X.T"
        x = held(cx.expr(text, X=x), "turned", cx)
        return cx.expr("X.ravel()", X=x)
    return cx.expr(f"X.{given.name}()" if given.name != "reshape" else "X.reshape(-1)", X=x)


def _outer(given: Arguments, cx: Context) -> ast.expr | None:
    """Each with each."""
    a, b = given.get("a"), given.get("b")
    if a is None or b is None or not (_rank(a, cx) and _rank(b, cx)):
        return None
    left, right = ", None" * _rank(b, cx), "None, " * _rank(a, cx)
    parts = {"NP": cx.numpy, "A": a, "B": b}
    return cx.expr(f"NP.{given.name.partition('.')[0]}(A[...{left}], B[{right}...])", **parts)


def _size(given: Arguments, cx: Context) -> ast.expr | None:
    x = given["a"]
    if given.name == "ndim" and cx.fact(x).rank == 0 and cx.fact(x).types and isinstance(
            x, (ast.Name, ast.Constant)):
        return ast.Constant(0)
    if cx.fact(x).array is None or given.get("axis") is not None:
        return None
    x = x if isinstance(x, ast.Name) else held(x, "a", cx)
    text = {"ndim": str(_rank(x, cx)), "size": "X.size", "shape": "X.shape"}[given.name]
    return cx.expr(text, X=x)


def _has_parts(given: Arguments, cx: Context) -> ast.expr | None:
    """Whether its type is complex."""
    types = {t.dtype in PARTS for t in cx.fact(given["x"]).types}
    plain = isinstance(given["x"], (ast.Name, ast.Constant)) and len(types) == 1
    return ast.Constant(types == {given.name == "iscomplexobj"}) if plain else None


def _appended(given: Arguments, cx: Context) -> ast.expr | None:
    """A number to a vector."""
    x, value = given["arr"], given.get("values")
    if value is None or _rank(x, cx) != 1 or cx.fact(value).rank != 0 or not cx.fact(value).types:
        return None
    text = "NP.concatenate((X, NP.full(1, V)))"
    return cx.expr(text, NP=cx.numpy, X=x, V=value) if cx.fact(x).array else None


_OUTER = (
    "add", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal",
    "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logical_and",
    "logical_or", "maximum", "minimum", "multiply", "not_equal", "power", "remainder", "subtract",
)
_WAYS: dict[str, tuple[str, Way]] = {
    **REJOINED,
    **CHOICES,
    "append": ("arr values", _appended),
    "asanyarray": ("a dtype", _as_it_is),
    "asarray": ("a dtype", _as_it_is),
    "ascontiguousarray": ("a dtype", _side_by_side),
    "asfortranarray": ("a dtype", _side_by_side),
    "atleast_1d": ("a", _at_least(1)),
    "atleast_2d": ("a", _at_least(2)),
    ".conj": ("a", _its_own),
    ".conjugate": ("a", _its_own),
    "copy": ("a order", _copied),
    "expand_dims": ("a axis", _expanded),
    "flatten": ("a order", _shaped),
    "flip": ("m axis", _flip),
    "fliplr": ("m", _flipped(1)),
    "flipud": ("m", _flipped(0)),
    "iscomplexobj": ("x", _has_parts),
    "isrealobj": ("x", _has_parts),
    "matrix_transpose": ("a", lambda given, cx: _swapped(Arguments("swapaxes", {
        **given.given, "axis1": ast.Constant(-1), "axis2": ast.Constant(-2)}), cx)),
    "moveaxis": ("a source destination", _moved),
    "ndim": ("a", _size),
    "permute_dims": ("a axes", _transposed),
    "ravel": ("a order", _shaped),
    "reshape": ("a shape order", _shaped),
    ".reshape": ("a shape / * order", _shaped),
    "rot90": ("m k axes", _turned),
    "shape": ("a", _size),
    "size": ("a axis", _size),
    "swapaxes": ("a axis1 axis2", _swapped),
    "transpose": ("a axes", _transposed),
    **WINDOWS,
    **{f"{name}.outer": ("a b", _outer) for name in _OUTER},
}
SIGNATURES = {name: names for name, (names, _) in _WAYS.items()}


@fires_on(ast.Call, calls=named(SIGNATURES))
def array_respelled(node: ast.AST, cx: Context) -> ast.expr | None:
    """The same array in the plainest words.

        u = np.flip(X, 1)
        v = np.atleast_2d(x)
        w = np.asarray(x)
    →
        u = X[:, ::-1]
        v = x[None, :]
        w = x
    """
    return respelled(node, cx) if isinstance(node, ast.expr) else None
