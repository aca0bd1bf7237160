"""NumPy functions that become loops from a template: the rules that `function_table` names.

Also ``reduce`` and ``accumulate`` of ufuncs of two arguments, and functions of two results
(``np.divmod``, ``np.modf``, ``np.histogram``).
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.ast_walk import is_none
from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.macro_index import fires_on, named
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, loop_nest
from ..array_views import element_at, is_viewable, view_of
from ..call_arguments import BoundArguments, bind_arguments
from ..function_table import expansion_rule, signatures
from .histogram import PairExpansion
from .searchsorted import LoopExpansion

__all__ = [
    "function_pair_loops", "function_loops", "ufunc_reduce_rule", "ufunc_accumulate_rule",
    "divmod_rule", "builtin_divmod_rule", "modf_rule",
]

_REDUCE_LOOP = """
    ACC = FIRST
    for K in range(1, N):
        ACC = NP.FUNCTION(ACC, E)
"""
_ACCUMULATE_LOOP = """
    ACC = FIRST
    BEGIN = ACC
    for K in range(1, N):
        ACC = NP.FUNCTION(ACC, E)
        PLACE = ACC
"""


def _ufunc_fold_rule(all_: bool) -> LoopExpansion:
    """The expansion of ``ufunc.reduce``, or of ``ufunc.accumulate``, which keeps all results
    (`all_`).
    """

    def way(bound: BoundArguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
        """Expand ``name = ufunc.reduce(a, axis)``, or ``accumulate``, to loops; None where the axis
        is no constant or a type is not known.
        """
        types, of = cx.fact(node).types, cx.fact(bound["a"]).array
        axis, rank = bound.arguments.get("axis", ast.Constant(0)), cx.fact(bound["a"]).rank or 0
        at = 0 if is_none(axis) and rank == 1 and not all_ else integer_constant(axis, None)
        if of is None or at is None or not -rank <= at < rank:
            return None
        x = view_of(bound["a"], cx)
        if x is None or x.order != "C" or {t.dtype for t in types} != {of.dtype} or (
                of.dtype == "f16"):
            return None
        at %= rank
        shape = [*x.shape[:at], *x.shape[at + 1 :]]
        k = ast.Name(cx.fresh("k"), ast.Load())
        text = (_ACCUMULATE_LOOP if all_ else _REDUCE_LOOP).replace(
            "FUNCTION", bound.name.split(".")[0]
        )

        def lines(acc: str, others: Sequence[ast.expr]) -> list[ast.stmt]:
            first, each = ([*others[:at], i, *others[at:]] for i in (ast.Constant(0), k))
            into: ast.expr = ast.Name(name, ast.Load())
            parts: dict[str, Part] = {"ACC": acc, "K": k, "N": x.shape[at], "NP": cx.numpy}
            parts |= {"FIRST": x.at(first), "E": x.at(each)}
            parts |= {"BEGIN": element_at(into, first, cx), "PLACE": element_at(into, each, cx)}
            return cx.code(text, **parts)

        def body(others: Sequence[ast.expr]) -> list[ast.stmt]:
            acc = cx.fresh("acc")
            own = lines(acc, others)
            place = element_at(ast.Name(name, ast.Load()), others, cx) if shape else None
            end = cx.code("PLACE = ACC", PLACE=place, ACC=acc) if place and not all_ else []
            return [*own, *end]

        (original,) = cx.code("NAME = E", NAME=name, E=node)
        if not shape and not all_:
            new = lines(name, ())
        else:
            lengths = x.shape if all_ else shape
            new = [allocate_array(name, lengths, of.dtype, cx), *loop_nest(shape, body, cx)]
        return guarded([*x.checks, cx.expr("N < 1", N=x.shape[at])], original, new, cx)

    return way


ufunc_reduce_rule = _ufunc_fold_rule(all_=False)
ufunc_accumulate_rule = _ufunc_fold_rule(all_=True)


def _pair_rule(texts: str, *names: str, kinds: str) -> PairExpansion:
    """The expansion of a function with two results, each elementwise by one of the two `texts`.

    `names` are the arguments, A and B in the texts; each must have a dtype of one of the `kinds`.
    """

    def way(
        bound: BoundArguments, results: Sequence[str], node: ast.Call, cx: Context
    ) -> list[ast.stmt] | None:
        """Expand ``p, q = function(a, b)`` to one elementwise assignment for each result; None
        where an argument is missing or of another kind.
        """
        operands = [e for n in names if (e := bound.arguments.get(n)) is not None]
        facts = [cx.fact(e) for e in operands]
        known = all(f.types and {ELEMENTS[t.dtype].kind for t in f.types} <= set(kinds)
                    for f in facts)
        if len(operands) < len(names) or not known or not all(map(is_viewable, facts)):
            return None
        steady = (ast.Name, ast.Constant)
        parts = {
            hole: e if isinstance(e, steady) else bind_fresh(e, "a", cx)
            for hole, e in zip("AB", operands, strict=False)
        }
        first, second = (cx.expr(text, NP=cx.numpy, **parts) for text in texts.split("; "))
        text = "FIRST = E; SECOND = F"
        return cx.code(text, FIRST=results[0], E=first, SECOND=results[1], F=second)

    return way


_MODF = "NP.copysign(NP.where(NP.isinf(A), 0.0, A - NP.trunc(A)), A); NP.trunc(A)"
divmod_rule = _pair_rule("NP.floor_divide(A, B); NP.remainder(A, B)", "a", "b", kinds="iuf")
builtin_divmod_rule = _pair_rule("A // B; A % B", "a", "b", kinds="iuf")
modf_rule = _pair_rule(_MODF, "a", kinds="f")

_LOOP_SIGNATURES, _PAIR_SIGNATURES = signatures("loops"), signatures("pair")


@fires_on(ast.Call, calls=named(_LOOP_SIGNATURES))
def function_loops(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call of a function with a row of the family "loops" → the statements of its rule, which
    bind a fresh name.

        i = np.searchsorted(x, s)
    →
        _lo = 0
        _hi = x.shape[0]
        _key = np.float64(s)
        while _lo < _hi:
            _mid = _lo + (_hi - _lo >> 1)
            if x[_mid] < _key or (_key != _key and x[_mid] == x[_mid]):
                _lo = _mid + 1
            else:
                _hi = _mid
        _searchsorted = np.int64(_hi)
        i = _searchsorted
    """
    bound = bind_arguments(node, cx, _LOOP_SIGNATURES)
    if bound is None or not isinstance(node, ast.Call):
        return None
    name = cx.fresh(bound.name.rpartition(".")[2])
    cx.steps()
    return cx.made(name, lambda: expansion_rule("loops", bound.name)(bound, name, node, cx))


@fires_on(
    ast.Subscript, value=ast.Call, slice=ast.Constant, calls=[divmod, *named(_PAIR_SIGNATURES)]
)
@fires_on(ast.Call, calls=[divmod, *named(_PAIR_SIGNATURES)])
def function_pair_loops(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call of a function with two results, both of them or one of them used → the statements of
    its rule.

        s, t = np.divmod(s, 2.0)
        y = divmod(x, 3)[1]
    →
        _divmod = np.floor_divide(s, 2.0)
        _divmod_1 = np.remainder(s, 2.0)
        s = _divmod
        t = _divmod_1
        _divmod_2 = np.empty(x.shape[0], np.float64)
        for _i in range(x.shape[0]):
            _divmod_2[_i] = np.floor_divide(x[_i], 3)
        _divmod_3 = np.empty(x.shape[0], np.float64)
        for _i_1 in range(x.shape[0]):
            _divmod_3[_i_1] = np.remainder(x[_i_1], 3)
        y = _divmod_3
    """
    match node:
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=0 | 1 as k)):
            wanted = [0] if k == 0 else [1]
        case ast.Call() as call:
            wanted = [0, 1]
        case _:
            return None
    bound = bind_arguments(call, cx, _PAIR_SIGNATURES)
    if cx.builtin(call) == "divmod" and len(call.args) == 2:
        bound = BoundArguments("builtins.divmod", dict(zip("ab", call.args, strict=True)))
    if bound is None:
        return None
    names = [cx.fresh(bound.name.rpartition(".")[2]) for _ in range(2)]
    cx.steps()
    way = expansion_rule("pair", bound.name)
    lines = cx.whole(lambda: way(bound, names, call, cx))
    if lines is None:
        return None
    cx.before(*lines)
    results: list[ast.expr] = [ast.Name(names[k], ast.Load()) for k in wanted]
    return ast.Tuple(results, ast.Load()) if len(results) > 1 else results[0]
