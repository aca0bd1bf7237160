"""NumPy functions that become loops from a template: the macros that apply the rules.

`function_loops` expands calls of functions with one result (column ``loops`` of `function_table`),
`function_pair_loops` those with two (column ``pair``: ``np.divmod``, ``np.modf``,
``np.histogram``). A rule is given a name, and returns the statements that bind it to the result.
Here are also the rules of ``reduce`` and ``accumulate`` of ufuncs, and of functions with two
results that are both elementwise.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...frontend.ast_walk import integer_constant, is_none
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, loop_nest
from ..array_views import element_at, is_viewable, view_of
from ..call_arguments import BoundArguments, bind_arguments
from ..function_table import expansion_rule, signatures

__all__ = [
    "LoopRule", "PairRule", "function_pair_loops", "function_loops", "ufunc_reduce_rule",
    "ufunc_accumulate_rule", "divmod_rule", "builtin_divmod_rule", "modf_rule",
]

LoopRule = Callable[[BoundArguments, str, ast.Call, Context], "list[ast.stmt] | None"]
"""A rule of column ``loops``: from the arguments, the name to bind and the call to statements that
bind it; None: refused.
"""

PairRule = Callable[
    [BoundArguments, Sequence[str], ast.Call, Context], "list[ast.stmt] | None"
]
"""A rule of column ``pair``: from the arguments, the two names to bind and the call to statements
that bind them; None: refused.
"""

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


_CHANGED_BY_IDENTITY = ("hypot",)
"""The ufuncs whose identity, with which NumPy begins a reduction, changes the first element:
``hypot(0, -3.0)`` is 3.0. The other ufuncs of the rows have none, or one that changes no element.
"""


def _ufunc_fold_rule(accumulates: bool) -> LoopRule:
    """The rule of ``ufunc.reduce``, or of ``ufunc.accumulate`` (`accumulates`): a loop over the
    axis, from the second element, inside a nest over the other axes.
    """

    def rule(
        bound: BoundArguments, name: str, node: ast.Call, cx: Context
    ) -> list[ast.stmt] | None:
        """Statements for ``name = ufunc.reduce(a, axis)``, or ``accumulate``; the call is replayed
        for an empty axis. None where the axis is no constant, the result has another dtype than
        `a`, `a` is not in C order, and for float16.
        """
        types, ty = cx.fact(node).types, cx.fact(bound["a"]).array
        argument, rank = bound.arguments.get("axis", ast.Constant(0)), cx.fact(bound["a"]).rank or 0
        all_axes = is_none(argument) and rank == 1 and not accumulates
        axis = 0 if all_axes else integer_constant(argument, None)
        if ty is None or axis is None or not -rank <= axis < rank:
            return None
        x = view_of(bound["a"], cx)
        if x is None or x.order != "C" or {t.dtype for t in types} != {ty.dtype}:
            return None
        if ty.dtype == "f16":
            return None
        axis %= rank
        other_lengths = [*x.shape[:axis], *x.shape[axis + 1 :]]
        k = ast.Name(cx.fresh("k"), ast.Load())
        template = _ACCUMULATE_LOOP if accumulates else _REDUCE_LOOP
        function = bound.name.split(".")[0]
        text = template.replace("FUNCTION", function)
        starts_from_zero = not accumulates and function in _CHANGED_BY_IDENTITY
        first_text = f"NP.{function}(0, E)" if starts_from_zero else "E"

        def fold(acc: str, others: Sequence[ast.expr]) -> list[ast.stmt]:
            """The loop over the axis, at subscripts `others` of the other axes."""
            first, each = ([*others[:axis], i, *others[axis:]] for i in (ast.Constant(0), k))
            result: ast.expr = ast.Name(name, ast.Load())
            parts: dict[str, Part] = {"ACC": acc, "K": k, "N": x.shape[axis], "NP": cx.numpy}
            parts["FIRST"] = cx.expr(first_text, E=x.at(first), NP=cx.numpy)
            parts["E"] = x.at(each)
            parts |= {"BEGIN": element_at(result, first, cx), "PLACE": element_at(result, each, cx)}
            return cx.code(text, **parts)

        def body(others: Sequence[ast.expr]) -> list[ast.stmt]:
            acc = cx.fresh("acc")
            lines = fold(acc, others)
            if not accumulates and other_lengths:
                place = element_at(ast.Name(name, ast.Load()), others, cx)
                lines += cx.code("PLACE = ACC", PLACE=place, ACC=acc)
            return lines

        (original,) = cx.code("NAME = E", NAME=name, E=node)
        if not other_lengths and not accumulates:
            new = fold(name, ())
        else:
            lengths = x.shape if accumulates else other_lengths
            new = [allocate_array(name, lengths, ty.dtype, cx), *loop_nest(other_lengths, body, cx)]
        return guarded([*x.checks, cx.expr("N < 1", N=x.shape[axis])], original, new, cx)

    return rule


ufunc_reduce_rule = _ufunc_fold_rule(accumulates=False)
ufunc_accumulate_rule = _ufunc_fold_rule(accumulates=True)


def _pair_rule(texts: str, *names: str, kinds: str) -> PairRule:
    """The rule of a function with two results, each elementwise by one of the two expressions in
    `texts`, separated by a semicolon.

    `names` are the parameters, A and B in the texts; `kinds` are NumPy's kinds of dtypes that
    their arguments may have.
    """

    def rule(
        bound: BoundArguments, results: Sequence[str], node: ast.Call, cx: Context
    ) -> list[ast.stmt] | None:
        """One assignment for each of the two names in `results`; None where an argument is missing
        or has another kind of dtype.
        """
        operands = [e for n in names if (e := bound.arguments.get(n)) is not None]
        facts = [cx.fact(e) for e in operands]
        valid = all(f.types and {ELEMENTS[t.dtype].kind for t in f.types} <= set(kinds)
                    for f in facts)
        if len(operands) < len(names) or not valid or not all(map(is_viewable, facts)):
            return None
        atoms = (ast.Name, ast.Constant)
        parts = {
            hole: e if isinstance(e, atoms) else bind_fresh(e, "a", cx)
            for hole, e in zip("AB", operands, strict=False)
        }
        first, second = (cx.expr(text, NP=cx.numpy, **parts) for text in texts.split("; "))
        text = "FIRST = E; SECOND = F"
        return cx.code(text, FIRST=results[0], E=first, SECOND=results[1], F=second)

    return rule


_MODF = "NP.copysign(NP.where(NP.isinf(A), 0.0, A - NP.trunc(A)), A); NP.trunc(A)"
divmod_rule = _pair_rule("NP.floor_divide(A, B); NP.remainder(A, B)", "a", "b", kinds="iuf")
builtin_divmod_rule = _pair_rule("A // B; A % B", "a", "b", kinds="iuf")
modf_rule = _pair_rule(_MODF, "a", kinds="f")

_LOOP_SIGNATURES, _PAIR_SIGNATURES = signatures("loops"), signatures("pair")


@fires_on(ast.Call, calls=numpy_callees(_LOOP_SIGNATURES))
def function_loops(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call of a function whose row has ``loops`` → the statements of that rule before the current
    one, and the fresh name that they bind.

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
    cx.mark_operation_parts()
    return cx.bound_name(name, lambda: expansion_rule("loops", bound.name)(bound, name, node, cx))


@fires_on(
    ast.Subscript, value=ast.Call, slice=ast.Constant,
    calls=[divmod, *numpy_callees(_PAIR_SIGNATURES)],
)
@fires_on(ast.Call, calls=[divmod, *numpy_callees(_PAIR_SIGNATURES)])
def function_pair_loops(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call of a function whose row has ``pair``, or item 0 or 1 of it → the statements of that
    rule, and a tuple of the two fresh names that they bind, or one of these.

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
            used = [0] if k == 0 else [1]
        case ast.Call() as call:
            used = [0, 1]
        case _:
            return None
    bound = bind_arguments(call, cx, _PAIR_SIGNATURES)
    if cx.builtin(call) == "divmod" and len(call.args) == 2:
        bound = BoundArguments("builtins.divmod", dict(zip("ab", call.args, strict=True)))
    if bound is None:
        return None
    names = [cx.fresh(bound.name.rpartition(".")[2]) for _ in range(2)]
    cx.mark_operation_parts()
    rule = expansion_rule("pair", bound.name)
    lines = cx.with_before(lambda: rule(bound, names, call, cx))
    if lines is None:
        return None
    cx.before(*lines)
    results: list[ast.expr] = [ast.Name(names[k], ast.Load()) for k in used]
    return ast.Tuple(results, ast.Load()) if len(results) > 1 else results[0]
