"""Rewrites of arithmetic and logic: a cheaper call of exactly the same value and flags, or None."""
from __future__ import annotations

from ..nodes import Call, Const, Expr
from ..ops import OPPOSITE, OPS
from ..tree import walk
from ..types import DTYPES
from .values import evaluated, is_const, is_lossless, raising, unit

__all__ = [
    "absorbing", "by_one", "idempotent", "itself", "minus_zero", "narrow_compare", "negation",
    "neutral", "offsets", "power", "signs", "twice",
]

_LARGE = 64  # nodes that a product in place of a power has at most


def _is_float(dtype: str) -> bool:
    return DTYPES[dtype].kind == "f"


def _is_int(dtype: str) -> bool:
    return DTYPES[dtype].kind in "iu"


def _calls(e: Expr, op: str) -> bool:
    return isinstance(e, Call) and e.op == op


def _args(e: Expr) -> tuple[Expr, ...]:
    return e.args if isinstance(e, Call) else ()


# -- reductions' algebra


def neutral(e: Call) -> Expr | None:
    """``x * 1`` → ``x``; for floats ``x + -0.0``, but never ``x + 0.0``."""
    none = unit(e.op, e.dtype)
    if none is None:
        return None
    a, b = e.args
    return a if b == none else b if a == none else None


def idempotent(e: Call) -> Expr | None:
    """``min(x, x)`` → ``x``."""
    return e.args[0] if OPS[e.op].idempotent and e.args[0] == e.args[1] else None


def absorbing(e: Call) -> Expr | None:
    """``c & False`` → ``False``, ``c | True`` → ``True``, integer ``x * 0`` → ``0``; flags stay."""
    zero = {"and": False, "or": True, "bitand": 0}.get(e.op)
    if e.op == "mul" and _is_int(e.dtype):
        zero = 0
    found = next((a for a in e.args if zero is not None and is_const(a, zero)), None)
    return None if found is None or raising(e) else found


# -- arithmetic


def signs(e: Call) -> Expr | None:
    """``a + -b`` → ``a - b``, ``a - -b`` → ``a + b``."""
    a, b = e.args
    if _calls(b, "neg"):
        return Call("sub" if e.op == "add" else "add", (a, _args(b)[0]), e.dtype)
    if e.op == "add" and _calls(a, "neg"):
        return Call("sub", (b, _args(a)[0]), e.dtype)
    return None


def offsets(e: Call) -> Expr | None:
    """Integer ``(x + 3) - 1`` → ``x + 2``, and a constant stands on the right."""
    if not _is_int(e.dtype):
        return None
    a, b = e.args
    if e.op == "add" and isinstance(a, Const) and not isinstance(b, Const):
        return Call("add", (b, a), e.dtype)
    if e.op == "sub" and a == b:
        return Const(0, e.dtype)
    base, inner = _offset(a, e.dtype)
    if not isinstance(b, Const) or (base is a and b.value > 0):
        return None
    total = inner + (b.value if e.op == "add" else -b.value)
    return _plus(base, int(total), e.dtype)


def _offset(e: Expr, dtype: str) -> tuple[Expr, int]:
    match e:
        case Call(op="add" | "sub" as op, args=(x, Const(value=c))) if e.dtype == dtype:
            return x, int(c) if op == "add" else -int(c)
        case _:
            return e, 0


def _plus(x: Expr, offset: int, dtype: str) -> Expr | None:
    if offset == 0:
        return x
    if abs(offset) > DTYPES[dtype].high:
        return None
    return Call("add" if offset > 0 else "sub", (x, Const(abs(offset), dtype)), dtype)


def minus_zero(e: Call) -> Expr | None:
    """``x - 0.0`` → ``x``: right for a negative zero too."""
    b = e.args[1]
    return e.args[0] if b == Const(0.0, b.dtype) and _is_float(b.dtype) else None


def by_one(e: Call) -> Expr | None:
    """``x / 1``, and integer ``x // 1`` → ``x``, ``x % 1`` → ``0``."""
    if not is_const(e.args[1], 1) or (e.op != "div" and not _is_int(e.dtype)):
        return None
    return Const(0, e.dtype) if e.op == "mod" else e.args[0]


def power(e: Call) -> Expr | None:
    """``x ** 1`` → ``x``, ``x ** 2`` → ``x * x``, so up to 6, ``x ** -1`` → ``1 / x``.

    Of `n` factors the error is below ``n / 2`` units of the last place; the flags are those of the
    power, for no product on the way is nearer to a limit than the last one.
    """
    x, y = e.args
    if is_const(y, -1):
        return Call("div", (Const(1.0, e.dtype), x), e.dtype)
    size = sum(1 for _ in walk(x))
    n = next((n for n in range(1, 7) if is_const(y, n) and (n * size <= _LARGE or n == 1)), None)
    return None if n is None else _product(x, n)


def _product(x: Expr, n: int) -> Expr:
    """`n` times `x`, by squares."""
    if n == 1:
        return x
    half = _product(x, n // 2)
    square = Call("mul", (half, half), x.dtype)
    return Call("mul", (square, x), x.dtype) if n % 2 else square


def twice(e: Call) -> Expr | None:
    """``--x``, ``not not x``, ``~~x`` → ``x``; ``abs(-x)``, ``abs(abs(x))`` → ``abs(x)``."""
    (x,) = e.args
    signed = DTYPES[e.dtype].kind != "u"  # an unsigned -x is another number
    if e.op == "abs" and (_calls(x, "abs") or (signed and _calls(x, "neg"))):
        return Call("abs", _args(x), e.dtype)
    return _args(x)[0] if e.op != "abs" and _calls(x, e.op) else None


# -- logic


def negation(e: Call) -> Expr | None:
    """``not a == b`` → ``a != b``; for integers ``not a < b`` → ``a >= b`` too."""
    (x,) = e.args
    if not isinstance(x, Call) or x.op not in OPPOSITE:
        return None
    if _is_float(x.args[0].dtype) and x.op not in ("eq", "ne"):
        return None
    return Call(OPPOSITE[x.op], x.args, "bool")


def itself(e: Call) -> Expr | None:
    """An integer compared with itself."""
    a, b = e.args
    if a != b or _is_float(a.dtype) or raising(a):
        return None
    return Const(e.op in ("le", "ge", "eq"), "bool")


def narrow_compare(e: Call) -> Expr | None:
    """``f64(x) < f64(y)`` → ``x < y`` where widening both changes nothing."""
    a, b = (_narrowed(x, e.args) for x in e.args)
    return Call(e.op, (a, b), "bool") if a is not None and b is not None else None


def _computes(narrow: str, wide: str) -> bool:
    """Whether what is of dtype `wide` may as well be computed in `narrow`."""
    return is_lossless(narrow, wide) and DTYPES[narrow].wide is None


def _narrowed(x: Expr, both: tuple[Expr, ...]) -> Expr | None:
    """`x` in the narrow dtype from which the operands were widened."""
    sources = {_args(c)[0].dtype for c in both if _calls(c, "cast")}
    if len(sources) != 1 or not _computes(next(iter(sources)), x.dtype):
        return None
    if _calls(x, "cast"):
        return _args(x)[0]
    value = evaluated("cast", (x,), next(iter(sources)))
    same = value is not None and evaluated("cast", (value,), x.dtype) == x
    return value if same else None
