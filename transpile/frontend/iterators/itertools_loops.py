"""Loops over `itertools`: ``product``, ``combinations``, ``takewhile`` …; ``accumulate`` → a list.

`itertools_streams` has the functions whose elements are known by one index. These have several
indices, a condition, or a state.
"""
from __future__ import annotations

import ast
import itertools

from ..ast_names import bound_names
from ..ast_walk import breaks_of_loop, integer_constant, is_none
from ..macros.macro_context import Context, Part
from ..macros.macro_index import fires_on
from ..macros.replay_guards import guarded
from .builtin_folds import applied_to_pair, assignments
from .comprehensions import applied_function
from .indexed_streams import Stream, may_change_elements
from .iterables import paired_targets, stream_of

__all__ = ["accumulated_list", "compressed_loop", "loop_while", "product_loops"]

_CHOICES = (
    itertools.combinations, itertools.combinations_with_replacement, itertools.permutations,
)
"""Functions that choose several elements of one iterable."""

_FIRST_INDEX: dict[object, str] = {
    itertools.combinations: "I + 1", itertools.combinations_with_replacement: "I",
}
"""Where the index of a loop of the nest starts, if not at 0: I is that of the loop around it."""

_MOST_INDICES = 4
"""The maximal number of loops of the nest that a loop over a product or combinations becomes."""


@fires_on(ast.For, iter=ast.Call, calls=[itertools.product, *_CHOICES])
def product_loops(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A loop over ``product`` of streams, or over ``combinations``, ``permutations`` of a known
    number of elements of one, becomes a nest.

        for u, v in product(x, y):
            s = s + u * v
        for u, v in combinations(x, 2):
            s = s + u * v
    →
        for _i in range(len(x)):
            for _i_1 in range(len(y)):
                u = x[_i]
                v = y[_i_1]
                s = s + u * v
        for _i_2 in range(len(x)):
            for _i_3 in range(_i_2 + 1, len(x)):
                u = x[_i_2]
                v = x[_i_3]
                s = s + u * v

    Python copies the elements first: None for a body that may change them. None also for a loop
    with ``else``, or with a ``break``, which would have to leave all loops of the nest.
    """
    match node:
        case ast.For(
            iter=ast.Call(func=func, args=[_, *_] as args, keywords=keywords), orelse=[]
        ) if not any(isinstance(a, ast.Starred) for a in args):
            function = cx.resolve(func)
        case _:
            return None
    if function is not itertools.product and not any(function is f for f in _CHOICES):
        return None
    if any(breaks_of_loop(node.body)) or may_change_elements(node, cx):
        return None
    if not cx.is_builtin("range"):
        return None
    if function is itertools.product:
        times = _constant_argument([], keywords, "repeat", 1)
        streams = [_stream(a, node, cx) for a in args] * (times or 0)
    else:
        times = _constant_argument(args[1:], keywords, "r", None)
        streams = [_stream(args[0], node, cx)] * (times or 0)
    known = [s for s in streams if s is not None]
    if not known or len(known) < len(streams) or len(known) > _MOST_INDICES:
        return None
    indices = [ast.Name(cx.fresh("i"), ast.Load()) for _ in known]
    elements = tuple(s.at(i) for s, i in zip(known, indices, strict=True))
    targets = paired_targets(node.target, elements)
    if targets is None:
        return None
    body = [line for t, e in targets for line in cx.code("TARGET = E", TARGET=t, E=e)] + node.body
    for k in reversed(range(len(known))):
        if k and function is itertools.permutations:
            differs = [cx.expr("I != J", I=i, J=indices[k]) for i in indices[:k]]
            test = differs[0] if k == 1 else ast.BoolOp(ast.And(), differs)
            body = cx.code("if TEST: BODY", TEST=test, BODY=body)
        start = _FIRST_INDEX.get(function, "0") if k else "0"
        text = "range(N)" if start == "0" else f"range({start}, N)"
        header = cx.expr(text, N=known[k].length, I=indices[k - 1])
        body = cx.code("for I in RANGE: BODY", I=indices[k], RANGE=header, BODY=body)
    checks = [c for s in known for c in s.checks]
    setup = {id(line): line for s in known for line in s.setup}
    return [*setup.values(), *guarded(checks, node, body, cx)]


def _stream(it: ast.expr, loop: ast.For, cx: Context) -> Stream | None:
    """The stream of the argument `it` of the iterable of `loop`."""
    return stream_of(it, cx, bound_names(loop.target, *loop.body))


def _constant_argument(
    args: list[ast.expr], keywords: list[ast.keyword], name: str, default: int | None
) -> int | None:
    """The value of the argument `name`, a positive int: the only one in `args`, or a keyword; if it
    is not given, `default`. None for any other argument, and for one that is no positive constant.
    """
    given = [*args, *(k.value for k in keywords if k.arg == name)]
    if len(given) != len(args) + len(keywords) or len(given) > 1:
        return None
    value = integer_constant(given[0], None) if given else default
    return value if value is not None and value > 0 else None


@fires_on(ast.For, iter=ast.Call, calls=[itertools.compress])
def compressed_loop(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A loop over ``compress`` becomes one over the data and the selectors together, whose body
    runs where the selector is true.

        for v in compress(x, k):
            s = s + v
    →
        for _i in range(min(len(x), len(k))):
            _v = x[_i]
            _chosen = k[_i]
            if _chosen:
                v = _v
                s = s + v

    None for a loop with a ``break``.
    """
    match node:
        case ast.For(iter=ast.Call(func=func, args=[data, selectors], keywords=[])) if (
            cx.resolve(func) is itertools.compress and cx.is_builtin("zip", "min", "len", "range")
            and not any(breaks_of_loop(node.body))
        ):
            pass
        case _:
            return None
    v, chosen = cx.fresh("v"), cx.fresh("chosen")
    setup: list[ast.stmt] = []
    if not isinstance(selectors, (ast.Name, ast.Call)) and isinstance(data, ast.Name):
        setup = cx.code("M = SELECTORS", M=cx.fresh("chosen"), SELECTORS=selectors)
        assert isinstance(setup[0], ast.Assign)
        selectors = setup[0].targets[0]
    text = """
        for V, CHOSEN in zip(DATA, SELECTORS):
            if CHOSEN:
                TARGET = V
                BODY
    """
    loop = cx.code(
        text, V=v, CHOSEN=chosen, DATA=data, SELECTORS=selectors, TARGET=node.target,
        BODY=node.body,
    )[0]
    assert isinstance(loop, ast.For)
    loop.orelse = node.orelse
    return [*setup, loop]


@fires_on(ast.For, iter=ast.Call, calls=[itertools.takewhile, itertools.dropwhile])
def loop_while(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A loop over ``takewhile`` ends with the first item that fails the test; one over
    ``dropwhile`` begins with it.

        for v in takewhile(lambda w: w < 3, x):
            s = s + v
        for v in dropwhile(lambda w: w < 3, x):
            s = s + v
    →
        for _i in range(len(x)):
            _v = x[_i]
            if not _v < 3:
                break
            v = _v
            s = s + v
        _dropping = True
        for _i_1 in range(len(x)):
            _v_1 = x[_i_1]
            if not (_dropping and _v_1 < 3):
                _dropping = False
                v = _v_1
                s = s + v

    None for a loop with ``else``, which runs where the items have ended, or with a ``break``.
    """
    match node:
        case ast.For(iter=ast.Call(func=func, args=[test, x], keywords=[]), orelse=[]) if (
            not any(breaks_of_loop(node.body))
        ):
            function = cx.resolve(func)
        case _:
            return None
    if function is not itertools.takewhile and function is not itertools.dropwhile:
        return None
    v = cx.fresh("v")
    held = applied_function(test, [ast.Name(v, ast.Load())])
    parts: dict[str, Part] = {"V": v, "X": x, "TARGET": node.target, "BODY": node.body}
    if held is None:
        return None
    if function is itertools.takewhile:
        text = """
            for V in X:
                if not HELD:
                    break
                TARGET = V
                BODY
        """
        return cx.code(text, HELD=held, **parts)
    text = """
        DROPPING = True
        for V in X:
            if not (DROPPING and HELD):
                DROPPING = False
                TARGET = V
                BODY
    """
    return cx.code(text, DROPPING=cx.fresh("dropping"), HELD=held, **parts)


@fires_on(ast.Call, calls=[itertools.accumulate])
def accumulated_list(node: ast.AST, cx: Context) -> ast.expr | None:
    """``accumulate`` becomes a list, which a loop fills. All items are computed, also if the loop
    over them ends earlier: that has no effects, and where it would raise, the call is replayed. The
    loop fills all of the list, so that it can be fused with one that reads it.

        for v in accumulate(x):
            s = s + v
        for v in accumulate(x, max, initial=0.0):
            s = s + v
    →
        if len(x) < 1:
            "Python's to answer"
            _list = list(accumulate(x))
        else:
            _v = x[0]
            _acc = _v
            _list = [_acc] * len(x)
            for _i in range(len(x)):
                if _i > 0:
                    _v = x[_i]
                    _acc = _acc + _v
                _list[_i] = _acc
        for _i_1 in range(len(_list)):
            v = _list[_i_1]
            s = s + v
        _acc_1 = 0.0
        _list_1 = [_acc_1] * (len(x) + 1)
        for _i_2 in range(len(x)):
            _v_1 = x[_i_2]
            _acc_1 = max(_acc_1, _v_1)
            _list_1[_i_2 + 1] = _acc_1
        for _i_3 in range(len(_list_1)):
            v = _list_1[_i_3]
            s = s + v
    """
    given = _accumulate_arguments(node, cx)
    if given is None or not isinstance(node, ast.expr) or not cx.is_builtin("list", "len", "range"):
        return None
    if isinstance(cx.within, ast.For) and may_change_elements(cx.within, cx):
        return None
    x, function, start = given
    acc, v, items, index = (cx.fresh(hint) for hint in ("acc", "v", "list", "i"))
    step: ast.expr | None = cx.expr("ACC + V", ACC=acc, V=v)
    if function is not None:
        step = applied_to_pair(function, acc, v, cx)
    s = stream_of(x, cx, ())
    if step is None or bound_names(step) or s is None:
        return None
    target = ast.Name(v, ast.Store())
    first = paired_targets(target, s.at(ast.Constant(0)))
    rest = paired_targets(target, s.at(ast.Name(index, ast.Load())))
    if first is None or rest is None:
        return None
    cx.facts.scalarizable |= {acc, v}
    parts: dict[str, Part] = {
        "LIST": items, "ACC": acc, "V": v, "I": index, "N": s.length, "STEP": step,
        "FIRST": assignments(first, cx), "REST": assignments(rest, cx),
    }
    if start is not None:
        text = """
            ACC = START
            LIST = [ACC] * (N + 1)
            for I in range(N):
                REST
                ACC = STEP
                LIST[I + 1] = ACC
        """
        lines = cx.code(text, START=start, **parts)
        checks = s.checks
    else:
        text = """
            FIRST
            ACC = V
            LIST = [ACC] * N
            for I in range(N):
                if I > 0:
                    REST
                    ACC = STEP
                LIST[I] = ACC
        """
        lines = cx.code(text, **parts)
        checks = (cx.expr("N < 1", N=s.length), *s.checks)
    (original,) = cx.code("LIST = list(E)", LIST=items, E=node)
    cx.before(*s.setup, *guarded(checks, original, lines, cx))
    return cx.expr(items)


def _accumulate_arguments(
    node: ast.AST, cx: Context
) -> tuple[ast.expr, ast.expr | None, ast.expr | None] | None:
    """The iterable, the function and the first value of a call of ``accumulate``; the last two are
    None where they are not given, or None. None for other nodes, and for arguments that bind names.
    """
    match node:
        case ast.Call(func=func, args=[x, *functions], keywords=keywords) if (
            cx.resolve(func) is itertools.accumulate and len(functions) < 2
        ):
            named = {k.arg: k.value for k in keywords}
        case _:
            return None
    if not named.keys() <= {"func", "initial"} or ("func" in named and functions):
        return None
    if bound_names(x, *named.values(), *functions):
        return None
    rest = (functions[0] if functions else named.get("func"), named.get("initial"))
    function, start = (None if e is None or is_none(e) else e for e in rest)
    return x, function, start
