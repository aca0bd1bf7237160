"""``np.einsum`` and ``np.tensordot`` as loop nests of sums of products.

The subscripts are constants in the source.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, named
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ELEMENTS, PARTS, ArrayType, ScalarType
from ..array_nests import allocate_array, dtype_expr, loop_nest
from ..array_views import (
    View,
    broadcast_subscripts,
    element_at,
    is_unit_length,
    length_mismatches,
    view_of,
)
from ..call_arguments import bind_arguments

__all__ = ["array_einsum"]


@fires_on(ast.Call, calls=named(["einsum", "tensordot"]))
def array_einsum(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.einsum("ij,j->i", A, x)`` → a loop nest; indices that the result does not have are
    summed over.

        s = np.einsum("i,i->", x, y)
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            _einsum = np.einsum('i,i->', x, y)
        else:
            _einsum = np.float64(0)
            for _k in range(x.shape[0]):
                _einsum = np.add(_einsum, np.multiply(x[_k], y[_k]))
        s = _einsum
    """
    match node:
        case ast.Call(func=func, args=[ast.Constant(value=str(text)), *operands], keywords=[]) if (
            cx.is_numpy(func, "einsum")
        ):
            text, stretched = (
                _explicit_letters(text, [cx.fact(e).rank or 0 for e in operands]),
                True,
            )
        case ast.Call() if (given := _tensordot(node, cx)) is not None:
            text, *operands = given
            stretched = False
        case _:
            return None
    letters = _operand_letters(text, len(operands))
    if letters is None and len(operands) == 1 and cx.fact(operands[0]).array:
        return _permuted_result(text, operands[0], cx)
    types = cx.fact(node).types
    if letters is None or len(types) != 1:
        return None
    (out,) = types
    for e, own in zip(operands, letters[0], strict=True):
        of = cx.fact(e).array
        if of is None or (of.rank, of.dtype) != (len(own), out.dtype):
            return None
    if out.dtype in PARTS or ELEMENTS[out.dtype].kind == "b" or out.dtype == "f16":
        return None
    name = cx.fresh("einsum")
    cx.steps()
    return cx.made(name, lambda: _einsum_loops(name, node, *letters, operands, stretched, cx))


def _permuted_result(text: str, x: ast.expr, cx: Context) -> ast.expr | None:
    """A view of all elements, with the axes in another order."""
    left, arrow, right = text.partition("->")
    known = left.isalpha() and len(set(left)) == len(left) == cx.fact(x).rank and arrow
    if not known or sorted(left) != sorted(right):
        return None
    order = ", ".join(str(left.index(c)) for c in right)
    return cx.expr("X[:]" if left == right else f"X.transpose({order})", X=x)


def _tensordot(node: ast.Call, cx: Context) -> tuple[str, ast.expr, ast.expr] | None:
    """In letters, and of what; a number alone is an array, which is NumPy's."""
    bound = bind_arguments(node, cx, {"tensordot": "a b axes"})
    if bound is None or "b" not in bound.arguments:
        return None
    facts = cx.fact(bound["a"]), cx.fact(bound["b"])
    ranks = [f.rank or 0 for f in facts]
    pairs = _contracted_axes(bound.arguments.get("axes", ast.Constant(2)), ranks)
    if pairs is None or sum(ranks) <= 2 * len(pairs) or not all(f.order == "C" for f in facts):
        return None
    a, b = (list(letters[:n]) for letters, n in zip(("abcdefgh", "ijklmnop"), ranks, strict=True))
    for p, q in pairs:
        b[q] = a[p]
    right = [c for c in (*a, *b) if (c in a) != (c in b)]
    return f"{''.join(a)},{''.join(b)}->{''.join(right)}", bound["a"], bound["b"]


def _contracted_axes(axes: ast.expr, ranks: Sequence[int]) -> list[tuple[int, int]] | None:
    """The axes of the one array and of the other that are summed over together."""
    count = integer_constant(axes, None)
    if count is not None:
        inside = 0 <= count <= min(ranks)
        return [(ranks[0] - count + k, k) for k in range(count)] if inside else None
    match axes:
        case ast.Tuple(elts=[p, q]) | ast.List(elts=[p, q]):
            pass
        case _:
            return None
    sides: list[list[int]] = []
    for e, rank in zip((p, q), ranks, strict=True):
        several = e.elts if isinstance(e, (ast.Tuple, ast.List)) else [e]
        known = [k for x in several if (k := integer_constant(x, None)) is not None]
        if len(known) < len(several) or not all(-rank <= k < rank for k in known):
            return None
        sides.append([k % rank for k in known])
    once = len(sides[0]) == len(sides[1]) and all(len(set(s)) == len(s) for s in sides)
    return list(zip(*sides, strict=True)) if once else None


def _explicit_letters(text: str, ranks: Sequence[int]) -> str:
    """With letters for what dots stand for, that are in nobody's use."""
    text = text.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if "..." not in text or len(parts) != len(ranks):
        return text
    free = [c for c in "ZYXWVUTS" if c not in text]
    counts = [n - len(p.replace("...", "")) for n, p in zip(ranks, parts, strict=True)]
    most = max([n for n, p in zip(counts, parts, strict=True) if "..." in p], default=0)
    if min(counts) < 0 or most > len(free):
        return text
    letters = "".join(free[:most])
    if not arrow:
        own = left.replace("...", "").replace(",", "")
        right = "..." + "".join(sorted(c for c in set(own) if own.count(c) == 1))
    parts = [p.replace("...", letters[most - n :]) for n, p in zip(counts, parts, strict=True)]
    return f"{','.join(parts)}->{right.replace('...', letters)}"


def _operand_letters(text: str, count: int) -> tuple[list[str], str] | None:
    """Those of the operands and of the result; None where it would be a view."""
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    every = "".join(parts)
    if not every.isalpha() or len(parts) != count or count > 3 or not all(parts):
        return None
    if not arrow:
        right = "".join(sorted(c for c in set(every) if every.count(c) == 1))
    known = set(right) <= set(every) and len(set(right)) == len(right)
    sums = count > 1 or set(every) != set(right)
    return (parts, right) if known and sums else None


def _einsum_loops(
    name: str, node: ast.expr, parts: Sequence[str], result: str, operands: Sequence[ast.expr],
    stretched: bool, cx: Context,
) -> list[ast.stmt] | None:
    views = [v for e in operands if (v := view_of(e, cx)) is not None]
    made = cx.fact(node).array
    back = made is not None and made.rank > 1 and made.unit == 0
    if len(views) < len(operands) or not _layout_is_known(parts, result, views, made):
        return None
    lengths, checks = _letter_lengths(parts, views, stretched, cx)
    (out,) = cx.fact(node).types
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.folds(out.dtype)
    if isinstance(out, ScalarType):
        lines = _contraction_sum(
            ast.Name(name, ast.Load()), {}, parts, lengths, views, out.dtype, cx
        )
        return guarded(checks, original, lines, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        acc = ast.Name(cx.fresh("acc"), ast.Load())
        given = dict(zip(result, at, strict=True))
        place = element_at(ast.Name(name, ast.Load()), at, cx)
        lines = _contraction_sum(acc, given, parts, lengths, views, out.dtype, cx)
        return [*lines, *cx.code("PLACE = ACC", PLACE=place, ACC=acc)]

    shape = [lengths[c] for c in result]
    lines = [
        allocate_array(name, shape, out.dtype, cx, fortran_order=back),
        *loop_nest(shape, body, cx, back),
    ]
    return guarded(checks, original, lines, cx)


def _letter_lengths(
    parts: Sequence[str], views: Sequence[View], stretched: bool, cx: Context
) -> tuple[dict[str, ast.expr], list[ast.expr]]:
    """The length of each letter, and where Python knows. Axes of length 1 may be `stretched`, but
    not along the diagonal of one operand.
    """
    lengths: dict[str, ast.expr] = {}
    differ: list[ast.expr] = []
    for own, v in zip(parts, views, strict=True):
        diagonal: dict[str, ast.expr] = {}
        differ += length_mismatches(
            [diagonal.setdefault(c, n) for c, n in zip(own, v.shape, strict=True)], v.shape, cx
        )
        for c, n in diagonal.items():
            first = lengths.setdefault(c, n)
            if not (stretched and (is_unit_length(first) or is_unit_length(n))):
                differ += length_mismatches([first], [n], cx)
            elif is_unit_length(first):
                lengths[c] = n
    return lengths, [*(c for v in views for c in v.checks), *differ]


def _layout_is_known(
    parts: Sequence[str], result: str, views: Sequence[View], made: ArrayType | None
) -> bool:
    """Whether it is known how the result lies in memory."""
    every = "".join(parts)
    if made is None or made.rank < 2:
        return True
    if made.rank == 2:
        return made.unit in (0, 1) and all(v.order in "CF" for v in views)
    in_order = result == "".join(c for c in dict.fromkeys(every) if c in result)
    return in_order and {v.order for v in views} == {"C"}


def _contraction_sum(
    acc: ast.expr, given: dict[str, ast.expr], parts: Sequence[str],
    lengths: dict[str, ast.expr], views: Sequence[View], type_: str, cx: Context,
) -> list[ast.stmt]:
    """Over all letters but those that are `given`."""
    rest = [c for c in lengths if c not in given]
    at = given | {c: ast.Name(cx.fresh("k"), ast.Load()) for c in rest}
    product: ast.expr | None = None
    for own, v in zip(parts, views, strict=True):
        e = v.at(broadcast_subscripts(v.shape, [at[c] for c in own]))
        product = e if product is None else cx.expr(
            "NP.multiply(A, B)", NP=cx.numpy, A=product, B=e)
    assert product is not None
    start = cx.expr("T(0)", T=dtype_expr(type_, cx))
    lines = cx.code("ACC = NP.add(ACC, E)", ACC=acc, NP=cx.numpy, E=product)
    for c in reversed(rest):
        lines = cx.code("for K in range(N): BODY", K=at[c], N=lengths[c], BODY=lines)
    return [*cx.code("ACC = START", ACC=acc, START=start), *lines]
