"""``np.einsum`` and ``np.tensordot`` as loop nests of sums of products.

The subscripts must be constants. ``tensordot`` is written as an einsum first. Each letter becomes a
loop: the letters of the result are the outer nest over its elements, the others are inner loops
that sum the products. For example "ij,j->i": for i: acc = 0; for j: acc += A[i, j] * x[j].
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.ast_walk import integer_constant
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, numpy_callees
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


@fires_on(ast.Call, calls=numpy_callees(["einsum", "tensordot"]))
def array_einsum(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.einsum("ij,j->i", A, x)`` → a loop nest; letters that the result does not have are
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

    ``tensordot`` is the einsum whose letters `_tensordot` makes. None, so that the call stays,
    where the letters are not understood (`_operand_letters`); where an operand has another rank
    than letters or another dtype than the result, since NumPy would cast it first; and for complex
    numbers, bools and float16, which NumPy adds in other ways.
    """
    match node:
        case ast.Call(func=func, args=[ast.Constant(value=str(text)), *operands], keywords=[]) if (
            cx.is_numpy(func, "einsum")
        ):
            text = _explicit_letters(text, [cx.fact(e).rank or 0 for e in operands])
            broadcasts_unit_axes = True
        case ast.Call() if (product := _tensordot(node, cx)) is not None:
            text, *operands = product
            broadcasts_unit_axes = False
        case _:
            return None
    parsed = _operand_letters(text, len(operands))
    if parsed is None and len(operands) == 1 and cx.fact(operands[0]).array:
        return _permuted_result(text, operands[0], cx)
    types = cx.fact(node).types
    if parsed is None or len(types) != 1:
        return None
    (result,) = types
    operand_letters, result_letters = parsed
    for e, subscripts in zip(operands, operand_letters, strict=True):
        ty = cx.fact(e).array
        if ty is None or (ty.rank, ty.dtype) != (len(subscripts), result.dtype):
            return None
    if result.dtype in PARTS or ELEMENTS[result.dtype].kind == "b" or result.dtype == "f16":
        return None
    name = cx.fresh("einsum")
    cx.mark_operation_parts()
    return cx.bound_name(name, lambda: _einsum_loops(
        name, node, operand_letters, result_letters, operands, broadcasts_unit_axes, cx
    ))


def _permuted_result(text: str, x: ast.expr, cx: Context) -> ast.expr | None:
    """For an einsum of one operand that only permutes its letters, ``np.einsum("ij->ji", x)``: that
    transpose of `x`. None for other subscripts.
    """
    left, arrow, right = text.partition("->")
    is_permutation = left.isalpha() and len(set(left)) == len(left) == cx.fact(x).rank and arrow
    if not is_permutation or sorted(left) != sorted(right):
        return None
    order = ", ".join(str(left.index(c)) for c in right)
    return cx.expr("X[:]" if left == right else f"X.transpose({order})", X=x)


def _tensordot(node: ast.Call, cx: Context) -> tuple[str, ast.expr, ast.expr] | None:
    """The subscripts of the einsum that equals ``np.tensordot(a, b, axes)``, and its operands. None
    where the axes are not constants, the result would be a scalar (NumPy's is a 0-d array), or an
    operand is not in C order.
    """
    bound = bind_arguments(node, cx, {"tensordot": "a b axes"})
    if bound is None or "b" not in bound.arguments:
        return None
    facts = cx.fact(bound["a"]), cx.fact(bound["b"])
    ranks = [f.rank or 0 for f in facts]
    pairs = _contracted_axes(bound.arguments.get("axes", ast.Constant(2)), ranks)
    if pairs is None or sum(ranks) <= 2 * len(pairs) or not all(f.order == "C" for f in facts):
        return None
    a, b = (list(letters[:n]) for letters, n in zip(("abcdefgh", "ijklmnop"), ranks, strict=True))
    for left_axis, right_axis in pairs:
        b[right_axis] = a[left_axis]
    right = [c for c in (*a, *b) if (c in a) != (c in b)]
    return f"{''.join(a)},{''.join(b)}->{''.join(right)}", bound["a"], bound["b"]


def _contracted_axes(axes: ast.expr, ranks: Sequence[int]) -> list[tuple[int, int]] | None:
    """The pairs of axes, of the first and the second array, over which ``np.tensordot`` sums; None
    where `axes` is not understood, out of range, or repeats an axis.
    """
    count = integer_constant(axes, None)
    if count is not None:
        valid = 0 <= count <= min(ranks)
        return [(ranks[0] - count + k, k) for k in range(count)] if valid else None
    match axes:
        case ast.Tuple(elts=[left, right]) | ast.List(elts=[left, right]):
            pass
        case _:
            return None
    sides: list[list[int]] = []
    for e, rank in zip((left, right), ranks, strict=True):
        items = e.elts if isinstance(e, (ast.Tuple, ast.List)) else [e]
        constants = [k for x in items if (k := integer_constant(x, None)) is not None]
        if len(constants) < len(items) or not all(-rank <= k < rank for k in constants):
            return None
        sides.append([k % rank for k in constants])
    is_bijection = len(sides[0]) == len(sides[1]) and all(len(set(s)) == len(s) for s in sides)
    return list(zip(*sides, strict=True)) if is_bijection else None


def _explicit_letters(text: str, ranks: Sequence[int]) -> str:
    """The subscripts `text` without spaces, with each ``...`` replaced by unused letters, and then
    with an explicit result. Unchanged otherwise, also where they do not fit the ranks.
    """
    text = text.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if "..." not in text or len(parts) != len(ranks):
        return text
    free = [c for c in "ZYXWVUTS" if c not in text]
    counts = [n - len(p.replace("...", "")) for n, p in zip(ranks, parts, strict=True)]
    max_rank = max([n for n, p in zip(counts, parts, strict=True) if "..." in p], default=0)
    if min(counts) < 0 or max_rank > len(free):
        return text
    letters = "".join(free[:max_rank])
    if not arrow:
        explicit = left.replace("...", "").replace(",", "")
        right = "..." + "".join(sorted(c for c in set(explicit) if explicit.count(c) == 1))
    parts = [p.replace("...", letters[max_rank - n :]) for n, p in zip(counts, parts, strict=True)]
    return f"{','.join(parts)}->{right.replace('...', letters)}"


def _operand_letters(text: str, count: int) -> tuple[list[str], str] | None:
    """The letters of each of `count` operands, and of the result, which are sorted where the text
    has none. None where the text is invalid, has more than three operands, or sums nothing, so that
    NumPy returns a view.
    """
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    all_letters = "".join(parts)
    if not all_letters.isalpha() or len(parts) != count or count > 3 or not all(parts):
        return None
    if not arrow:
        right = "".join(sorted(c for c in set(all_letters) if all_letters.count(c) == 1))
    valid = set(right) <= set(all_letters) and len(set(right)) == len(right)
    sums = count > 1 or set(all_letters) != set(right)
    return (parts, right) if valid and sums else None


def _einsum_loops(
    name: str, node: ast.expr, parts: Sequence[str], result: str, operands: Sequence[ast.expr],
    broadcasts_unit_axes: bool, cx: Context,
) -> list[ast.stmt] | None:
    """Statements that bind `name` to the einsum of `operands` with the letters `parts`, whose
    result has the letters `result`; `node` is replayed where lengths differ.
    ``broadcasts_unit_axes``: an axis of length 1 is stretched, as einsum does and tensordot does
    not. None where an operand has no view, or the memory order is not known.
    """
    views = [v for e in operands if (v := view_of(e, cx)) is not None]
    result_type = cx.fact(node).array
    back = result_type is not None and result_type.rank > 1 and result_type.unit == 0
    if len(views) < len(operands) or not _layout_is_known(parts, result, views, result_type):
        return None
    lengths, checks = _letter_lengths(parts, views, broadcasts_unit_axes, cx)
    (element_type,) = cx.fact(node).types
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.mark_folds(element_type.dtype)
    if isinstance(element_type, ScalarType):
        lines = _contraction_sum(
            ast.Name(name, ast.Load()), {}, parts, lengths, views, element_type.dtype, cx
        )
        return guarded(checks, original, lines, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        acc = ast.Name(cx.fresh("acc"), ast.Load())
        fixed = dict(zip(result, at, strict=True))
        place = element_at(ast.Name(name, ast.Load()), at, cx)
        lines = _contraction_sum(acc, fixed, parts, lengths, views, element_type.dtype, cx)
        return [*lines, *cx.code("PLACE = ACC", PLACE=place, ACC=acc)]

    shape = [lengths[c] for c in result]
    lines = [
        allocate_array(name, shape, element_type.dtype, cx, fortran_order=back),
        *loop_nest(shape, body, cx, back),
    ]
    return guarded(checks, original, lines, cx)


def _letter_lengths(
    parts: Sequence[str], views: Sequence[View], stretched: bool, cx: Context
) -> tuple[dict[str, ast.expr], list[ast.expr]]:
    """The length of each letter, and the conditions to check: those of the views, and that all axes
    of a letter have the same length. If `stretched`, axes whose length is the constant 1 are
    excepted, but not along the diagonal of one operand.
    """
    lengths: dict[str, ast.expr] = {}
    mismatches: list[ast.expr] = []
    for letters, view in zip(parts, views, strict=True):
        diagonal: dict[str, ast.expr] = {}
        mismatches += length_mismatches(
            [diagonal.setdefault(c, n) for c, n in zip(letters, view.shape, strict=True)],
            view.shape, cx,
        )
        for letter, length in diagonal.items():
            common = lengths.setdefault(letter, length)
            if not (stretched and (is_unit_length(common) or is_unit_length(length))):
                mismatches += length_mismatches([common], [length], cx)
            elif is_unit_length(common):
                lengths[letter] = length
    return lengths, [*(letter for view in views for letter in view.checks), *mismatches]


def _layout_is_known(
    parts: Sequence[str], result: str, views: Sequence[View], result_type: ArrayType | None
) -> bool:
    """Whether the memory order of NumPy's result is known:

    - its rank is below 2;
    - or it is a matrix of a known order (by the probe), and all operands are in C or F order;
    - or its letters come in the order of the operands' letters, and all operands are in C order.
    """
    all_letters = "".join(parts)
    if result_type is None or result_type.rank < 2:
        return True
    if result_type.rank == 2:
        return result_type.unit in (0, 1) and all(v.order in "CF" for v in views)
    in_order = result == "".join(c for c in dict.fromkeys(all_letters) if c in result)
    return in_order and {v.order for v in views} == {"C"}


def _contraction_sum(
    acc: ast.expr, fixed: dict[str, ast.expr], parts: Sequence[str],
    lengths: dict[str, ast.expr], views: Sequence[View], dtype: str, cx: Context,
) -> list[ast.stmt]:
    """Statements that sum in `acc` the products of the operands' elements, with one loop for each
    letter that has no subscript in `fixed`.
    """
    summed = [letter for letter in lengths if letter not in fixed]
    at = fixed | {letter: ast.Name(cx.fresh("k"), ast.Load()) for letter in summed}
    product: ast.expr | None = None
    for letters, view in zip(parts, views, strict=True):
        element = view.at(broadcast_subscripts(view.shape, [at[letter] for letter in letters]))
        product = element if product is None else cx.expr(
            "NP.multiply(A, B)", NP=cx.numpy, A=product, B=element)
    assert product is not None
    start = cx.expr("T(0)", T=dtype_expr(dtype, cx))
    lines = cx.code("ACC = NP.add(ACC, E)", ACC=acc, NP=cx.numpy, E=product)
    for letter in reversed(summed):
        lines = cx.code("for K in range(N): BODY", K=at[letter], N=lengths[letter], BODY=lines)
    return [*cx.code("ACC = START", ACC=acc, START=start), *lines]
