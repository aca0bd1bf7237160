"""Stub functions: generated functions with the signature, globals and cells of another.

A call that does not match the signature raises what the original would raise, and names in the body
other than parameters are looked up at each call, as in the original. `make_stub` is for wrappers
(`python_wrapper`), `choosing_stub` for the dispatcher, `backoff_stub` for the installed call, and
`function_from_tree` for outlined functions and self calls.
"""
from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from inspect import CO_VARARGS, CO_VARKEYWORDS
from textwrap import indent
from time import perf_counter_ns
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar

from loopir.process.signal_exceptions import failures

from ...errors import drop_first_line, generated_file
from ...frontend.ast_names import bound_names, names_used
from ...frontend.ast_walk import walk_nodes
from ...frontend.bytecode_check import FUTURE, without_annotations
from ...frontend.core_nodes import fix_missing_locations
from ...frontend.suppress_warnings import suppress_warnings
from ...types.typeof import parameter_names

__all__ = [
    "Arguments", "Timed", "choosing_stub", "argument_collector", "make_condition",
    "code_from_tree", "forwarding_source", "function_from_tree", "function_of_code",
    "backoff_stub", "made_function", "make_stub", "arguments_source", "observing_stub",
    "calls_chosen", "timed_call",
]

Arguments = tuple[Any, ...]
"""The arguments of a call, one for each parameter, in the order of `parameter_names`."""

_S = TypeVar("_S")
_P = ParamSpec("_P")
_R = TypeVar("_R")

Timed = Callable[[int, bool], None]
"""Is told how many nanoseconds a call took, and whether it has ended without an exception."""


def make_stub(
    function: FunctionType, body: Iterable[str], helpers: Mapping[str, CellType]
) -> FunctionType:
    """A function that replaces `function`, with this body; it can access the cells `helpers`.

    Defaults are those that `function` has at the time of the call. An exception that passes the
    stub gets no line of it in its traceback, so that this is that of the original.
    """
    last, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    names = parameter_names(function.__code__)
    optional = names[function.__code__.co_argcount - len(last) : function.__code__.co_argcount]
    optional += tuple(named)
    if optional:
        all_names = ", ".join(names)
        is_missing = " or ".join(f"{name} is _tp_missing" for name in optional)
        body = [f"if {is_missing}: {all_names}, = _tp_with_defaults({all_names})", *body]
        fill = partial(_with_defaults, function, names)
        helpers = {
            **helpers, "_tp_missing": CellType(_MISSING), "_tp_with_defaults": CellType(fill)
        }
    body = ["try:", *(f"    {line}" for line in body), *_UNTRACED]
    helpers = {**helpers, **{name: CellType(of) for name, of in _UNTRACED_HELPERS.items()}}
    stub = _compile_stub(function, _signature_source(function.__code__), body, helpers)
    stub.__defaults__ = (_MISSING,) * len(last)
    stub.__kwdefaults__ = dict.fromkeys(named, _MISSING)
    stub.__name__, stub.__qualname__ = function.__name__, function.__qualname__
    stub.__module__ = function.__module__
    return stub


_MISSING = object()
"""The default of a stub's parameters."""


def _with_defaults(
    function: FunctionType, names: tuple[str, ...], *values: object
) -> list[object]:
    """`values` of the parameters `names`, with the defaults of `function` for those that are
    missing. Raises TypeError, as the function itself does, where there is none.
    """
    last, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    positional, filled = function.__code__.co_argcount, list(values)
    for k, value in enumerate(values):
        if value is not _MISSING:
            continue
        place = k - positional + len(last)
        if k >= positional and names[k] in named:
            filled[k] = named[names[k]]
        elif k < positional and place >= 0:
            filled[k] = last[place]
        else:
            _call_with_missing(function, names, values)
    return filled


def _call_with_missing(
    function: FunctionType, names: tuple[str, ...], values: tuple[object, ...]
) -> None:
    """Call `function` with the values that are not missing: it raises TypeError."""
    code = function.__code__
    first, count = code.co_posonlyargcount, code.co_argcount + code.co_kwonlyargcount
    given = {n: v for n, v in zip(names[:count], values, strict=False) if v is not _MISSING}
    by_name = {n: v for n, v in given.items() if n in names[first:]}
    function(*(given[n] for n in names[:first] if n in given), **by_name)


def argument_collector(function: FunctionType) -> Callable[..., Arguments]:
    """A stub that returns its arguments as a tuple."""
    return make_stub(function, [f"return {arguments_source(function.__code__)}"], {})


def choosing_stub(
    function: FunctionType, choose: Callable[[Arguments], tuple[Callable[..., Any], Timed | None]]
) -> FunctionType:
    """A stub that asks ``choose(arguments)`` for a pair (target, timed), and calls the target with
    the arguments. If ``timed`` is not None, it then calls ``timed(nanoseconds, finished)`` with the
    time that the call took, and whether it did not raise.

    The call is made in the stub, so that only one frame is between the caller and the target.
    """
    code = function.__code__
    forward = forwarding_source(code)
    body = [
        f"try: _tp_target, _tp_timed = _tp_choose({arguments_source(code)})",
        "except _tp_faults: _tp_target, _tp_timed = _tp_original, None  # no stack for it",
        f"if _tp_timed is None: return _tp_target({forward})",
        "_tp_start, _tp_finished = _tp_clock(), False",
        "try:",
        f"    _tp_result = _tp_target({forward})",
        "    _tp_finished = True",
        "finally:",
        "    try: _tp_timed(_tp_clock() - _tp_start, _tp_finished)",
        "    except _tp_faults: pass",
        "return _tp_result",
    ]
    helpers = {
        "_tp_choose": choose, "_tp_clock": perf_counter_ns, "_tp_original": function,
        "_tp_faults": (RecursionError, MemoryError),
    }
    return make_stub(function, body, {name: CellType(of) for name, of in helpers.items()})


def _drop_lines(error: BaseException, count: int = 1) -> None:
    """Removes the first `count` lines of the traceback of `error`: those of the function that has
    caught it, and of what that has called. Raised again by a bare ``raise``, the exception gets no
    line of that function.
    """
    for _ in range(count):
        drop_first_line(error)


_UNTRACED = (
    "except _tp_exception as _tp_error:", "    try: _tp_drop_lines(_tp_error)",
    "    except _tp_exception: pass  # no stack for it", "    raise",
)
"""The handler of a ``try`` in a stub, of whose call tracebacks are to have no line."""

_UNTRACED_HELPERS = {"_tp_exception": BaseException, "_tp_drop_lines": _drop_lines}


def _not_counted(call: Callable[_P, _R]) -> Callable[_P, _R]:
    """`call`, a function made here, of which ``warnings.warn`` counts no frame (`generated_file`).
    """
    assert isinstance(call, FunctionType)
    call.__code__ = call.__code__.replace(co_filename=generated_file(call.__name__))
    return call


def calls_chosen(
    choose: Callable[[_S], Callable[..., Any]]
) -> Callable[Concatenate[_S, ...], Any]:
    """A method that passes its arguments on to the function that ``choose(self)`` gives.
    Tracebacks have no line of it, and ``warnings.warn`` does not count it.
    """

    def call(self: _S, *args: Any, **kwargs: Any) -> Any:
        try:
            return choose(self)(*args, **kwargs)
        except BaseException as error:
            with suppress(RecursionError, MemoryError):  # no stack for it
                _drop_lines(error)
            raise

    return _not_counted(call)


def timed_call(target: Callable[..., Any], timed: Timed) -> Callable[..., Any]:
    """`target`, for one call: `timed` is told how many nanoseconds it took."""

    def call(*args: Any, **kwargs: Any) -> Any:
        start, finished = perf_counter_ns(), False
        try:
            result = target(*args, **kwargs)
            finished = True
        except BaseException as error:
            with suppress(RecursionError, MemoryError):  # no stack for it
                _drop_lines(error)
            raise
        finally:
            with suppress(RecursionError, MemoryError):  # no stack for it
                timed(perf_counter_ns() - start, finished)
        return result

    return _not_counted(call)


def observing_stub(
    function: FunctionType, observe: Callable[[Exception], None]
) -> FunctionType:
    """A stub that calls `function`. If that raises an exception, the stub calls
    ``observe(exception)`` and raises it again.
    """
    forward = forwarding_source(function.__code__)
    body = [
        f"try: return _tp_function({forward})",
        "except _tp_observed as _tp_error:", "    _tp_observe(_tp_error)", "    raise",
    ]
    helpers = {"_tp_function": function, "_tp_observed": Exception, "_tp_observe": observe}
    return make_stub(function, body, {name: CellType(of) for name, of in helpers.items()})


def backoff_stub(
    function: FunctionType, replacement: Callable[..., Any], calls_left: CellType,
    wake: Callable[[], None], types: Sequence[type] | None, other: Callable[..., Any],
) -> FunctionType:
    """A stub that calls `replacement` instead of `function`. The cell `calls_left` counts these
    calls down; with the last one, the stub calls `wake` first. A call whose positional arguments
    are not of the classes `types` goes to `other`, and is not counted; None: of any.

    It passes the arguments on as they come, and has no defaults of its own: to fill these in takes
    several times as long.
    """
    given = "(*_tp_map(_tp_type, _tp_args),) != _tp_types[:_tp_len(_tp_args)]"
    forward = "(*_tp_args, **_tp_named)"
    body = [
        "nonlocal _tp_left", "_tp_target = _tp_function",
        *([f"if {given}: _tp_target = _tp_other"] if types else []),
        "if _tp_target is _tp_function:",
        "    _tp_left -= 1",
        "    if _tp_left <= 0: _tp_wake()",
        f"try: return _tp_target{forward}", *_UNTRACED,
    ]
    values = {
        "_tp_wake": wake, "_tp_function": replacement, "_tp_other": other, "_tp_type": type,
        "_tp_types": tuple(types or ()), "_tp_map": map, "_tp_len": len, **_UNTRACED_HELPERS,
    }
    helpers = {"_tp_left": calls_left} | {name: CellType(of) for name, of in values.items()}
    return _compile_stub(function, "*_tp_args, **_tp_named", body, helpers)


def function_from_tree(
    tree: ast.FunctionDef, function: FunctionType, helpers: Mapping[str, CellType], *,
    same_signature: bool = True,
) -> FunctionType:
    """`tree` as a function that replaces `function`; it can access the cells `helpers`.

    ``same_signature``: it takes the same arguments, and has the same defaults.
    """
    code = code_from_tree(tree, function.__code__, (*helpers,))
    return function_of_code(code, function, helpers, same_signature=same_signature)


def code_from_tree(
    tree: ast.FunctionDef, original: CodeType, helpers: Sequence[str] = ()
) -> CodeType:
    """`tree` as the code of a function that replaces one with the code `original`: it has the free
    variables of that one, and others of the names `helpers`. `function_of_code` binds it.
    """
    cells = ", ".join(dict.fromkeys((*original.co_freevars, *helpers)))
    outer = ast.parse(f"def _tp_outer({cells}): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    renamed = without_annotations(tree)
    renamed.name = "_tp_call"  # recursion must find the original name
    renamed.body = [*renamed.body, *_keep_locals(renamed, original)]
    outer.body = [renamed]
    module = fix_missing_locations(ast.Module([outer], []))
    with suppress_warnings():
        code = compile(
            module, original.co_filename, "exec", original.co_flags & FUTURE, dont_inherit=True
        )
    return _with_name(_inner_code(_inner_code(code)), original)


def _with_name(code: CodeType, original: CodeType) -> CodeType:
    """`code` with the name of `original`, which tracebacks show."""
    if sys.version_info >= (3, 11):
        return code.replace(co_name=original.co_name, co_qualname=original.co_qualname)
    return code.replace(co_name=original.co_name)


def function_of_code(
    code: CodeType, function: FunctionType, helpers: Mapping[str, CellType], *,
    same_signature: bool = True,
) -> FunctionType:
    """The function with this `code` (`code_from_tree`) that replaces `function`, whose globals and
    cells it has. ``same_signature``: as in `function_from_tree`.
    """
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple((cells | dict(helpers))[name] for name in code.co_freevars)
    last, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    result = made_function(
        code, function.__globals__, closure, *((last, named) if same_signature else ((), {}))
    )
    result.__name__, result.__module__ = function.__name__, function.__module__
    result.__qualname__ = function.__qualname__
    return result


def made_function(
    code: CodeType, namespace: dict[str, Any], closure: tuple[CellType, ...] = (),
    defaults: tuple[Any, ...] = (), named_defaults: Mapping[str, Any] = MappingProxyType({}),
) -> FunctionType:
    """A function with this code, globals, cells and defaults, made as a ``def`` makes it: since
    Python 3.13, calls are specialized for such functions alone, and take an eighth less time.
    """
    values = [f"_tp_{k}" for k in range(len(defaults) + len(named_defaults))]
    parameters = [f"_tp_x{v}={v}" for v in values[: len(defaults)]]
    if named_defaults:
        own = zip(named_defaults, values[len(defaults) :], strict=True)
        parameters += ["*", *(f"{name}={v}" for name, v in own)]
    maker, made = _maker(code.co_freevars, ", ".join(values), ", ".join(parameters))
    assert made.co_freevars == code.co_freevars == maker.co_freevars
    maker = maker.replace(co_consts=tuple(code if c is made else c for c in maker.co_consts))
    make = FunctionType(maker, namespace, closure=closure)
    function: FunctionType = make(*defaults, *named_defaults.values())
    return function


@lru_cache(maxsize=64)
def _maker(free: tuple[str, ...], values: str, parameters: str) -> tuple[CodeType, CodeType]:
    """The code of a function that takes the `values` of defaults and makes a function with these
    parameters and free variables; and the code of that one, which is a constant of the first.
    """
    names = ", ".join(free)
    text = (
        f"def _tp_cells({names}):\n def _tp_make({values}):\n"
        f"  def _tp_made({parameters}): return ({names})\n  return _tp_made\n return _tp_make"
    )
    outer = _inner_code(compile(text, "<made function>", "exec", dont_inherit=True))
    maker = _inner_code(outer)
    return maker, _inner_code(maker)


def _keep_locals(tree: ast.FunctionDef, code: CodeType) -> list[ast.stmt]:
    """Code that never runs, ``if False: t = None``: it keeps the names local that are local in the
    original `code`, and that `tree` reads but no longer binds, as a region does that instead. Not
    names that `code` also reads as globals: from Python 3.12 on its locals include the variables of
    comprehensions.
    """
    local = ({*code.co_varnames, *code.co_cellvars} - {*code.co_names}) & names_used(tree)
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    names = sorted(local - bound_names(*tree.body) - parameters)
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    dead_assign = ast.Assign(targets, ast.Constant(None))
    return [ast.If(ast.Constant(False), [dead_assign], [])] if names else []


def make_condition(
    function: FunctionType, preamble: Iterable[str], condition: str, helpers: Mapping[str, CellType]
) -> Callable[[Arguments], bool]:
    """A function that takes the arguments of a call of `function`, and returns whether the
    expression `condition` holds for them, in the names of `function`; False where that raises.
    ``preamble``: statements that are run before.
    """
    lines = [f"    {line}" for line in (*preamble, f"return {condition}")]
    body = ["try:", *lines, "except _tp_failures():", "    return False"]
    cells = {**helpers, "_tp_failures": CellType(partial(failures, Exception))}
    evaluate = _compile_stub(function, ", ".join(parameter_names(function.__code__)), body, cells)
    return lambda values: bool(evaluate(*values))


def arguments_source(code: CodeType) -> str:
    """Source of a tuple of all parameters."""
    return f"({''.join(f'{name}, ' for name in parameter_names(code))})"


def forwarding_source(code: CodeType) -> str:
    """Source of an argument list that passes all parameters on."""
    return ", ".join(_argument_names(code, "{0}={0}"))


def _compile_stub(
    function: FunctionType, signature: str, body: Iterable[str], helpers: Mapping[str, CellType]
) -> FunctionType:
    """A function with this parameter list and body, and with the globals and cells of `function`.
    """
    own_cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells = own_cells | dict(helpers)
    code = _stub_code(signature, tuple(body), tuple(cells), function.__qualname__)
    code = _with_name(code, function.__code__)
    return made_function(
        code, function.__globals__, tuple(cells[name] for name in code.co_freevars)
    )


@lru_cache(maxsize=256)
def _stub_code(
    signature: str, body: tuple[str, ...], cells: tuple[str, ...], name: str
) -> CodeType:
    """The code of the stub with this parameter list, body and cells, for the function of this
    qualified `name`. Kept: stubs for functions of one name and signature are the same.
    """
    inner = f"def _tp_call({signature}):\n" + indent("\n".join(body), "    ")
    source = f"def _tp_outer({', '.join(cells)}):\n{indent(inner, '    ')}\n    return _tp_call\n"
    module = compile(source, generated_file(name), "exec", dont_inherit=True)
    return _inner_code(_inner_code(module))


def _inner_code(code: CodeType) -> CodeType:
    """The code of the function defined in `code`."""
    return next(c for c in code.co_consts if isinstance(c, CodeType))


def _signature_source(code: CodeType) -> str:
    """The parameter list, without defaults: these are attributes of the function."""
    names = _argument_names(code, "{0}")
    if code.co_posonlyargcount:
        names.insert(code.co_posonlyargcount, "/")
    if code.co_kwonlyargcount and not code.co_flags & CO_VARARGS:
        names.insert(code.co_argcount + bool(code.co_posonlyargcount), "*")
    return ", ".join(names)


def _argument_names(code: CodeType, keyword: str) -> list[str]:
    """The parameters in the order of a call; `keyword`: the format of a keyword-only one."""
    names = list(parameter_names(code))
    positional, names = names[: code.co_argcount], names[code.co_argcount :]
    keywords, variadic = names[: code.co_kwonlyargcount], names[code.co_kwonlyargcount :]
    stars = [f"*{variadic.pop(0)}"] if code.co_flags & CO_VARARGS else []
    double_star = [f"**{variadic.pop(0)}"] if code.co_flags & CO_VARKEYWORDS else []
    return [*positional, *stars, *map(keyword.format, keywords), *double_star]
