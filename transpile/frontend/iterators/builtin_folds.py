"""Builtin reductions: ``sum min max any all``, ``key=``, and ``functools.reduce`` → loops.

Each macro replaces the call by the name of an accumulator, and gives the loop that computes it to
`Context.before`. `fold_items` brings the argument into one form, a comprehension with fresh
variables; `comprehensions.nested_loops` and `iterables.stream_of` make the loops.
"""
from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable

import numpy as np

from loopir.process.signal_exceptions import failures

from ...analysis.type_inference.tuple_types import unscalarizable_names
from ..ast_names import bound_names, rename_names
from ..ast_walk import is_suspending, walk_nodes
from ..fold_branches import with_displays
from ..macros.macro_context import Context, Part
from ..macros.macro_index import fires_on
from ..macros.replay_guards import guarded
from .compensated_sum import compensated_step, may_be_compensated, step_by_type
from .comprehensions import all_conditions, nested_loops, with_fresh_variables
from .indexed_streams import Stream
from .iterables import paired_targets, stream_of

__all__ = [
    "EMPTY", "all_fold", "any_fold", "fold_items", "minmax_fold", "sum_fold", "minmax_by_key",
    "functools_reduce", "applied_to_pair", "assignments",
]

_MAY_WARN = (ast.BinOp, ast.Call, ast.UnaryOp)
"""Expressions that may cause a floating-point warning."""


@fires_on(ast.Call, calls=[sum])
def sum_fold(node: ast.AST, cx: Context) -> ast.expr | None:
    """``sum`` becomes a loop that adds to the start value, the int 0 unless another is given.

        s = sum(v * v for v in x if v > 0)
    →
        _sum = 0
        for _i in range(len(x)):
            _v = x[_i]
            if _v > 0:
                _sum = _sum + _v * _v
        s = _sum

    From Python 3.12 on, Python's own `sum` of Python floats (not of NumPy's) is compensated
    (`compensated_step`). Where it is not known here whether all items are such floats, the loop
    tests the type of each, which lowering mostly knows (`step_by_type`).
    """
    if cx.builtin(node) != "sum":
        return None
    assert isinstance(node, ast.Call)
    match node.args, node.keywords:
        case [_], []:
            start: ast.expr = ast.Constant(0)
        case ([_, start], []) | ([_], [ast.keyword(arg="start", value=start)]):
            pass
        case _:
            return None
    items = fold_items(node.args[0], cx)
    if items is None:
        return None
    if isinstance(items, ast.ListComp) and any(isinstance(n, _MAY_WARN) for n in walk_nodes(items)):
        # Python computes the list first: warnings of the additions come after its own
        cx.mark_operation_parts()
    if cx.fact(node).array:  # each addition has other types than the first
        items.generators = with_displays(items.generators, lambda e: cx.builtin(e) == "range")
    total = cx.fresh("sum")
    cx.before(*cx.code("TOTAL = START", TOTAL=total, START=start))
    step = compensated_step(total, start, items, cx)
    if step is None and may_be_compensated(start, items, cx):
        step = step_by_type(total, items.elt, cx)
    elif step is None:
        step = cx.code("TOTAL = TOTAL + E", TOTAL=total, E=items.elt)
    cx.before(*nested_loops(items.generators, step, cx))
    return cx.expr("TOTAL", TOTAL=total)


@fires_on(ast.Call, calls=[any])
def any_fold(node: ast.AST, cx: Context) -> ast.expr | None:
    """``any`` becomes a loop that evaluates nothing more after the first true item; the items of a
    list are all evaluated before.

        b = any(v > t for v in x)
        c = any([v > t for v in x])
    →
        _any = False
        for _i in range(len(x)):
            _v = x[_i]
            _any = _any or bool(_v > t)
        b = _any
        _any_1 = False
        for _i_1 in range(len(x)):
            _v_1 = x[_i_1]
            _any_1 = bool(_v_1 > t) or _any_1
        c = _any_1
    """
    return _search(node, cx, "any")


@fires_on(ast.Call, calls=[all])
def all_fold(node: ast.AST, cx: Context) -> ast.expr | None:
    """``all`` becomes a loop that evaluates nothing more after the first false item.

        b = all(v > t for v in x if v == v)
    →
        _all = True
        for _i in range(len(x)):
            _v = x[_i]
            _all = _all and bool(not _v == _v or _v > t)
        b = _all
    """
    return _search(node, cx, "all")


@fires_on(ast.Call, calls=[max, min])
def minmax_fold(node: ast.AST, cx: Context) -> ast.expr | None:
    """``min`` and ``max`` become a loop over the items. For no items it raises the same ValueError
    as Python.

        s = max(v * v for v in x)
        t = min(v for v in x if v > 0)
    →
        if len(x) < 1:
            raise ValueError('max() …')
        _v = x[0]
        _max = _v * _v
        for _i in range(1, len(x)):
            _v = x[_i]
            _max = max(_max, _v * _v)
        s = _max
        _seen = False
        _min = 0
        for _i_1 in range(len(x)):
            _v_1 = x[_i_1]
            if _v_1 > 0:
                _min = min(_min, _v_1) if _seen else _v_1
                _seen = True
        if not _seen:
            raise ValueError('min() …')
        t = _min

    Where the first item is at a known place, the loop starts from it (`_minmax_from_first`): that
    is a max reduction, which vectorises. With ``if`` clauses or several ``for`` a flag tells
    whether there was an item (`_minmax_with_flag`). ``default=`` takes the place of the ValueError,
    if it is a literal number, whose type is known and which may be evaluated late.
    """
    function = cx.builtin(node)
    if function not in EMPTY:
        return None
    default: ast.expr | None = None
    match node:
        case ast.Call(args=[argument], keywords=[]) if cx.is_builtin("ValueError"):
            pass
        case ast.Call(args=[argument], keywords=[ast.keyword(arg="default", value=default)]) if (
            _is_number(default)
        ):
            pass
        case _:
            return None
    items = fold_items(argument, cx)
    if items is None:
        return None
    from_first = _minmax_from_first(function, items, cx, default)
    return from_first or _minmax_with_flag(function, items, cx, default)


def _is_number(e: ast.expr) -> bool:
    """Whether `e` is a literal int or float."""
    if isinstance(e, ast.UnaryOp):
        return _is_number(e.operand)
    return isinstance(e, ast.Constant) and isinstance(e.value, (int, float))


def _message_for_empty(function: Callable[[tuple[()]], object]) -> str:
    """The message of the exception that `function` raises for an empty iterable."""
    try:
        function(())
    except failures(ValueError, TypeError) as e:
        return str(e)
    raise AssertionError(function)


EMPTY = {"min": _message_for_empty(min), "max": _message_for_empty(max)}
"""What ``min`` and ``max`` say of an empty iterable; each version of Python has other words."""

_EMPTY_REDUCE = _message_for_empty(functools.partial(functools.reduce, operator.add))
"""The same of ``functools.reduce``."""


def fold_items(argument: ast.expr, cx: Context) -> ast.GeneratorExp | ast.ListComp | None:
    """The items that a reduction of `argument` folds, as a comprehension with fresh variables: a
    comprehension itself; ``(v for v in x)`` for a range, a vector or a list of scalars ``x``. None
    for others, and for comprehensions with ``await``, ``yield`` or ``async for``.
    """
    match argument:
        case ast.Call(args=[ast.Call() as numbers], keywords=[]) if (
            cx.builtin(argument) in ("list", "tuple") and cx.builtin(numbers) == "range"
        ):
            argument = numbers
    if isinstance(argument, (ast.GeneratorExp, ast.ListComp)):
        return None if is_suspending(argument) else with_fresh_variables(argument, cx)
    if cx.fact(argument).rank != 1 and cx.builtin(argument) != "range":
        return None
    items = cx.expr("(V for V in X)", V=cx.fresh("v"), X=argument)
    assert isinstance(items, ast.GeneratorExp)
    return items


def _search(node: ast.AST, cx: Context, function: str) -> ast.expr | None:
    """The expansion of ``any`` or ``all``, by `function`, for `any_fold` and `all_fold`, whose
    docstrings have examples. None where the argument is no comprehension, array or list.

    Of a generator Python evaluates no item after the first that decides: the result so far comes
    first, ``_any = _any or E``, and the loop is marked as a search, so that lowering ends it early
    (`Context.mark_searches`). Of a list comprehension all items are evaluated, as they may raise or
    have effects: E comes first, ``_any = E or _any``.

    An item that an ``if`` of the last clause excludes must not decide. So that ``if`` becomes a
    part of E (`_element_test`), and each iteration has one test.
    """
    match node:
        case ast.Call(args=[a], keywords=[]) if (
            cx.builtin(node) == function and cx.is_builtin("bool")
        ):
            items = fold_items(a, cx)
        case _:
            return None
    if items is None:
        return None
    *outer, last = items.generators
    result = cx.fresh(function)
    is_any = function == "any"
    test = _element_test(items.elt, last.ifs, is_any, cx)
    operator = "or" if is_any else "and"
    if isinstance(items, ast.ListComp):
        text = f"FOUND = E {operator} FOUND"
    else:
        text = f"FOUND = FOUND {operator} E"
        cx.mark_searches(is_any)
    step = cx.code(text, FOUND=result, E=test)
    last = ast.comprehension(last.target, last.iter, [], 0)
    cx.before(*cx.code("FOUND = START", FOUND=result, START=ast.Constant(not is_any)))
    cx.before(*nested_loops([*outer, last], step, cx))
    return cx.expr("FOUND", FOUND=result)


def _element_test(e: ast.expr, ifs: list[ast.expr], is_any: bool, cx: Context) -> ast.expr:
    """The truth of the element `e` as a Python bool; of an element that the ``if`` clauses `ifs`
    exclude, the value that does not decide: False for ``any``, True for ``all``.
    """
    if ifs:
        text = "C and E" if is_any else "not C or E"
        e = cx.expr(text, C=all_conditions(ifs, cx), E=e)
    return cx.expr("bool(E)", E=e)


def _minmax_from_first(
    function: str, items: ast.GeneratorExp | ast.ListComp, cx: Context,
    default: ast.expr | None = None,
) -> ast.expr | None:
    """``min`` or ``max`` over one ``for`` clause without ``if``: the first element before the loop,
    then the others. Without any, the result is `default`, or ValueError is raised if that is None.
    None for other clauses and iterables.
    """
    match items.generators:
        case [ast.comprehension(target=target, iter=it, ifs=[])]:
            s = stream_of(it, cx, ())
        case _:
            return None
    first = paired_targets(target, s.at(ast.Constant(0))) if s else None
    if s is None or first is None:
        return None
    best, index = cx.fresh(function), cx.fresh("i")
    rest = paired_targets(target, s.at(ast.Name(index, ast.Load()))) or []
    text = """
        if N < 1:
            raise ValueError(EMPTY)
        FIRST
        BEST = E
        for I in range(1, N):
            REST
            BEST = MINMAX(BEST, E)
    """ if default is None else """
        if N < 1:
            BEST = DEFAULT
        else:
            FIRST
            BEST = E
            for I in range(1, N):
                REST
                BEST = MINMAX(BEST, E)
    """
    lines = cx.code(
        text,
        N=s.length,
        EMPTY=ast.Constant(EMPTY[function]),
        DEFAULT=default or ast.Constant(None),
        FIRST=assignments(first, cx),
        BEST=best,
        I=index,
        REST=assignments(rest, cx),
        MINMAX=function,
        E=items.elt,
    )
    cx.before(*s.setup, *lines)
    return cx.expr("BEST", BEST=best)


def _minmax_with_flag(
    function: str,
    items: ast.GeneratorExp | ast.ListComp,
    cx: Context,
    default: ast.expr | None = None,
) -> ast.expr:
    """``min`` or ``max`` over any clauses, with a flag that an element has been seen. If there was
    none, the result is `default`, or ValueError is raised if that is None.
    """
    seen, best = cx.fresh("seen"), cx.fresh(function)
    value = items.elt if isinstance(items.elt, ast.Name) else ast.Name(cx.fresh("e"), ast.Load())
    take = [] if value is items.elt else cx.code("VALUE = E", VALUE=value, E=items.elt)
    text = """
        BEST = MINMAX(BEST, E) if SEEN else E
        SEEN = True
    """
    step = [*take, *cx.code(text, BEST=best, SEEN=seen, MINMAX=function, E=value)]
    if default is None:
        message = ast.Constant(EMPTY[function])
        end = cx.code("if not SEEN: raise ValueError(EMPTY)", SEEN=seen, EMPTY=message)
    else:
        end = cx.code("if not SEEN: BEST = DEFAULT", SEEN=seen, BEST=best, DEFAULT=default)
    cx.before(*cx.code("SEEN = False; BEST = 0", SEEN=seen, BEST=best))
    cx.before(*nested_loops(items.generators, step, cx), *end)
    return cx.expr("BEST", BEST=best)


def assignments(pairs: list[tuple[ast.expr, ast.expr]], cx: Context) -> list[ast.stmt]:
    """``target = value`` for each pair."""
    return [line for t, e in pairs for line in cx.code("TARGET = E", TARGET=t, E=e)]


_KEYS = (abs, float, int, math.sqrt, math.floor, np.abs, np.sqrt, np.square)
"""Functions that may be the ``key``: of a number they return a number."""


@fires_on(ast.Call, calls=[max, min])
def minmax_by_key(node: ast.AST, cx: Context) -> ast.expr | None:
    """``min`` and ``max`` by a key, or of tuples, become a loop that keeps the first of the best
    items.

        i = min(range(n), key=lambda p: abs(x[p]))
    →
        if n < 1:
            raise ValueError('min() …')
        _v_1 = 0
        _best = _v_1
        _key = abs(x[_best])
        for _i in range(1, n):
            _v_1 = _i
            _e = _v_1
            _key_1 = abs(x[_e])
            if _key_1 < _key:
                _best = _e
                _key = _key_1
        i = _best

    None, so that the call stays, where

    - the items have an ``if`` or a second ``for``, or iterating over them may raise;
    - the key is neither a ``lambda`` nor one of `_KEYS`, or returns a tuple display;
    - the items are tuples and there is a key.
    """
    function = cx.builtin(node)
    key: ast.expr | None = None
    match node:
        case ast.Call(args=[a], keywords=[ast.keyword(arg="key", value=key)]):
            pass
        case ast.Call(args=[ast.GeneratorExp(elt=ast.Tuple()) as a], keywords=[]):
            pass
        case _:
            return None
    if function not in EMPTY or not cx.is_builtin("ValueError", "range", "len") or bound_names(a):
        return None
    if cx.builtin(a) == "range":
        a = cx.expr("(V for V in X)", V=cx.fresh("v"), X=a)
    items = None if is_suspending(a) else fold_items(a, cx)
    match items and items.generators:
        case [ast.comprehension(ifs=[]) as each]:
            s = stream_of(each.iter, cx, ())
        case _:
            return None
    if items is None or s is None or s.checks:
        return None
    return _keep_best(function, items.elt, key, each.target, s, cx)


def _keep_best(
    function: str, item: ast.expr, key: ast.expr | None, target: ast.expr, s: Stream, cx: Context
) -> ast.expr | None:
    """The loop of `minmax_by_key`, given to ``cx.before``, and its result: over the stream `s`,
    whose elements are bound to `target`, the best `item` by `key`. Without a key, `item` is a tuple
    and is compared itself. None if the target does not fit the elements, or the key is unknown.
    """
    index = ast.Name(cx.fresh("i"), ast.Load())
    first, rest = paired_targets(target, s.at(ast.Constant(0))), paired_targets(target, s.at(index))
    if first is None or rest is None:
        return None
    parts = item.elts if isinstance(item, ast.Tuple) else [item]
    best, current = (
        [ast.Name(cx.fresh(hint), ast.Load()) for _ in parts] for hint in ("best", "e")
    )
    start = assignments([*first, *zip(best, parts, strict=True)], cx)
    step = assignments([*rest, *zip(current, parts, strict=True)], cx)
    update = assignments([*zip(best, current, strict=True)], cx)
    best_key, current_key = _names_display(best), _names_display(current)
    if key is not None:
        keys = _key_of_item(key, best, cx), _key_of_item(key, current, cx)
        if keys[0] is None or keys[1] is None:
            return None
        best_key, current_key = (cx.expr("N", N=cx.fresh("key")) for _ in range(2))
        start += cx.code("K = E", K=best_key, E=keys[0])
        step += cx.code("K = E", K=current_key, E=keys[1])
        update += cx.code("K = M", K=best_key, M=current_key)
    text = """
        if N < 1:
            raise ValueError(EMPTY)
        START
        for I in range(1, N):
            STEP
            if BETTER: UPDATE
    """
    better = cx.expr("M > K" if function == "max" else "M < K", M=current_key, K=best_key)
    empty = ast.Constant(EMPTY[function])
    cx.before(*s.setup, *cx.code(
        text, N=s.length, EMPTY=empty, START=start, I=index, STEP=step, BETTER=better, UPDATE=update
    ))
    return _names_display(best)


def _names_display(names: list[ast.Name]) -> ast.expr:
    """The name, or a tuple of several names."""
    return names[0] if len(names) == 1 else ast.Tuple([*names], ast.Load())


def _key_of_item(key: ast.expr, names: list[ast.Name], cx: Context) -> ast.expr | None:
    """``key(item)`` for the item in `names`: the body of a ``lambda``, or a call of one of `_KEYS`.
    None for other keys, and for items that are tuples.
    """
    match key:
        case ast.Lambda(args=ast.arguments(args=[a], defaults=[]), body=body) if (
            len(names) == 1 and not bound_names(body) and not isinstance(body, ast.Tuple)
        ):
            return rename_names(body, {a.arg: names[0].id})
    is_known = len(names) == 1 and any(cx.resolve(key) is f for f in _KEYS)
    return cx.expr("KEY(E)", KEY=key, E=names[0]) if is_known else None


@fires_on(ast.Call, calls=[functools.reduce])
def functools_reduce(node: ast.AST, cx: Context) -> ast.expr | None:
    """``reduce`` becomes a loop that applies the function to the accumulator and each item.

        s = reduce(lambda a, b: a * b, x)
        t = reduce(lambda a, b: a + b[0] * b[1], zip(x, y), 0.0)
    →
        if len(x) < 1:
            "Python's to answer"
            _acc = reduce(lambda a, b: a * b, x)
        else:
            _v_1 = x[0]
            _acc = _v_1
            for _i in range(1, len(x)):
                _v_1 = x[_i]
                _acc = _acc * _v_1
        s = _acc
        _acc_1 = 0.0
        for _i_1 in range(min(len(x), len(y))):
            _v_2_1_0 = x[_i_1]
            _v_2_1_1 = y[_i_1]
            _acc_1 = _acc_1 + _v_2_1_0 * _v_2_1_1
        t = _acc_1

    Items are what a loop may iterate over, or what a generator gives. A list comprehension becomes
    a named list first, by `list_comprehension`.
    """
    match node:
        case ast.Call(func=func, args=[function, argument, *start], keywords=[]) if (
            cx.resolve(func) is functools.reduce and len(start) < 2
        ):
            pass
        case _:
            return None
    if isinstance(argument, ast.ListComp) or is_suspending(argument):
        return None
    if bound_names(argument, *start) or not all(_may_precede(e, argument, cx) for e in start):
        return None
    items = argument
    if not isinstance(argument, ast.GeneratorExp):
        items = cx.expr("(V for V in X)", V=cx.fresh("v"), X=argument)
    assert isinstance(items, ast.GeneratorExp)
    items = with_fresh_variables(items, cx)
    value = items.elt
    is_variable = isinstance(value, ast.Name) and value.id in bound_names(
        *(g.target for g in items.generators)
    )
    v, acc = value if is_variable else ast.Name(cx.fresh("v"), ast.Load()), cx.fresh("acc")
    assert isinstance(v, ast.Name)
    step = applied_to_pair(function, acc, v.id, cx)
    if step is None:
        return None
    cx.facts.scalarizable |= {acc, v.id}
    cx.facts.scalarizable -= {acc, v.id} & unscalarizable_names(step)
    take = [] if is_variable else cx.code("V = E", V=v, E=value)
    lines = [*take, *cx.code("ACC = STEP", ACC=acc, STEP=step)]
    if not start:
        return _reduced_from_first(node, items, acc, lines, cx)
    cx.before(*cx.code("ACC = FIRST", ACC=acc, FIRST=start[0]))
    cx.before(*nested_loops(items.generators, lines, cx))
    return cx.expr(acc)


def _may_precede(start: ast.expr, argument: ast.expr, cx: Context) -> bool:
    """Whether `start` may be evaluated before `argument`, which Python evaluates first: `argument`
    is a name, or `start` calls nothing but classes of numbers.
    """
    calls = (cx.resolve(n.func) for n in walk_nodes(start) if isinstance(n, ast.Call))
    numbers = int, float, complex, np.number
    return isinstance(argument, ast.Name) or all(
        isinstance(callee, type) and issubclass(callee, numbers) for callee in calls
    )


def _reduced_from_first(
    call: ast.Call, items: ast.GeneratorExp, acc: str, step: list[ast.stmt], cx: Context
) -> ast.expr | None:
    """The result `acc` of the `call` of ``reduce`` without a start; its loop, in which `step`
    updates `acc`, is given to ``cx.before``. If the first of the `items` is at a known place, `acc`
    starts as that item; else a flag tells whether there was an item. Without any, Python raises
    TypeError. None where a flag would be needed, and the items are no generator, or the name
    ``TypeError`` has another meaning.
    """
    s: Stream | None = None
    first, rest, index = None, None, cx.fresh("i")
    match items.generators:
        case [ast.comprehension(target=target, iter=it, ifs=[])] if (
            cx.fact(it).rank in (None, 1) and not cx.fact(it).list_depth
        ):
            s = stream_of(it, cx, ())
            first = paired_targets(target, s.at(ast.Constant(0))) if s else None
            rest = paired_targets(target, s.at(ast.Name(index, ast.Load()))) if s else None
    parts: dict[str, Part] = {"ACC": acc, "E": items.elt, "STEP": step}
    if s is not None and first is not None and rest is not None:
        parts |= {"FIRST": assignments(first, cx), "REST": assignments(rest, cx)}
        text = """
            FIRST
            ACC = E
            for I in range(1, N):
                REST
                STEP
        """
        lines = cx.code(text, I=index, N=s.length, **parts)
        (original,) = cx.code("ACC = E", ACC=acc, E=call)
        is_empty = cx.expr("N < 1", N=s.length)
        cx.before(*s.setup, *guarded([is_empty, *s.checks], original, lines, cx))
        return cx.expr(acc)
    if not cx.is_builtin("TypeError") or not isinstance(call.args[1], ast.GeneratorExp):
        return None
    text = """
        if SEEN:
            STEP
        else:
            ACC = E
            SEEN = True
    """
    seen = cx.fresh("seen")
    lines = nested_loops(items.generators, cx.code(text, SEEN=seen, **parts), cx)
    cx.before(*cx.code("SEEN = False; ACC = 0", SEEN=seen, ACC=acc), *lines)
    empty = ast.Constant(_EMPTY_REDUCE)
    cx.before(*cx.code("if not SEEN: raise TypeError(EMPTY)", SEEN=seen, EMPTY=empty))
    return cx.expr(acc)


def applied_to_pair(function: ast.expr, acc: str, v: str, cx: Context) -> ast.expr | None:
    """``function(acc, v)``: the body of a ``lambda`` of two arguments, or a call; None for other
    expressions.
    """
    match function:
        case ast.Lambda(args=ast.arguments(args=[a, b], defaults=[], kwonlyargs=[], vararg=None,
                                           kwarg=None, posonlyargs=[]), body=body):
            return rename_names(body, {a.arg: acc, b.arg: v})
        case ast.Name() | ast.Attribute():
            return cx.expr("F(ACC, V)", F=function, ACC=cx.expr(acc), V=cx.expr(v))
    return None
