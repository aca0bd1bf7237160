"""Callees: which function a method or property runs, its source, and how arguments are bound.

`callee_of` reads the source of a Python function and refuses, with a reason, what cannot be inlined
(generators, ``global``, names that a class mangles). `method_called` finds the function behind
``obj.method`` in the class of an object that is an argument. `bind_arguments` pairs parameters with
arguments as a call does. `inliner` uses all three.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any, NamedTuple

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import failures

from ...analysis.access_paths import access_path_type
from ...codes.lowering_codes import HELP_FOR_ARGUMENTS, HELP_WITHOUT_OPTIONS, HELP_WITHOUT_STARS
from ...diagnostics import Refused
from ...host_nodes import HostAttribute, HostConst, HostExpr, HostOp, call_helper, from_ast
from ...types.value_types import ArgType, ObjectType, WrappedFunction
from ..ast_names import declared_outer, has_private_names
from ..ast_walk import walk_nodes
from ..bytecode_check import is_lambda
from ..core_nodes import copy_location
from ..defining_modules import is_stand_in
from ..refusal import refuse
from ..source import lines_of, read_source
from ..suppress_warnings import suppress_warnings

__all__ = [
    "Callee", "NotInlined", "callee_of", "local_callee", "bind_arguments",
    "fillable_parameters", "Method", "is_property", "method_called", "object_type_of",
]


@record(frozen=True, slots=True, eq=False)
class Callee:
    """A function that can be inlined."""

    name: str
    """Its name in messages; ``<lambda>`` for a lambda."""
    path: str
    """The file of its source."""
    tree: ast.FunctionDef | ast.Lambda
    """Its source. Shared between calls: copied before it is changed."""
    function: Any = None
    """The function object. None for a function that the caller itself defines, whose free names are
    names of the caller.
    """
    defaults: tuple[ast.expr | None, ...] = ()
    """Only where ``function`` is None: for each of `fillable_parameters`, a constant or a name that
    holds its default; None if it has no default.
    """

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the function, without its docstring and ``nonlocal``; a ``return`` for
        a lambda.
        """
        if isinstance(self.tree, ast.Lambda):
            return [copy_location(ast.Return(self.tree.body), self.tree.body)]
        first, *rest = self.tree.body
        has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        statements = rest if has_docstring else self.tree.body
        body = [s for s in statements if not isinstance(s, ast.Nonlocal)]
        return body or [copy_location(ast.Pass(), first)]

    @property
    def key(self) -> object:
        """The key by which calls of the same function are recognised (recursion)."""
        return self.function.__code__ if self.function is not None else self.tree


class NotInlined(NamedTuple):
    """Why a function cannot be inlined."""

    reason: str
    """The end of a sentence that begins with its name: "binds global names"."""
    help: str
    """What to do about it. It does not say to call a function of one's own: this is one."""


def callee_of(function: FunctionType) -> Callee | NotInlined:
    """`function` as a callee, or why it cannot be inlined. `inliner._callee_of_function` keeps the
    result.

    Refused are functions whose body would mean something else in the caller:

    - a generator or coroutine: a call of it does not run the body;
    - one whose source is not found, or is not that of its bytecode (`read_source`);
    - one that binds a global or a name of its closure: in the caller, that would be a local;
    - a method with private names that `mangle_private_names` has left, such as ``import __x``.
    """
    code = function.__code__
    if code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR):
        return NotInlined(
            "is a generator or a coroutine", "let it return a list, or loop over it in Python")
    if code.co_name == "<lambda>":
        tree = _lambda_source(function)
        if tree is None:
            return NotInlined("is a lambda whose source is not available", "write it as a `def`")
        return Callee("<lambda>", code.co_filename, tree, function)
    try:
        source = read_source(function)
    except Refused as refused:
        why = refused.rejection
        help = why.help or "define it by `def` in a file or a notebook cell"
        return NotInlined(f"cannot be read: {why.message}", help)
    if declared_outer(source.tree) - set(code.co_freevars):
        return NotInlined("binds global names", "let it return the value, and bind that here")
    if "." in function.__qualname__ and has_private_names(source.tree):
        return NotInlined(
            "has names that its class mangles", "begin its private names with one underscore")
    if code.co_freevars and declared_outer(source.tree) & set(code.co_freevars):
        return NotInlined(
            "binds names of its closure by `nonlocal`",
            "pass what it changes as an argument, and return the new value")
    return Callee(source.name, source.path, source.tree, function)


def local_callee(
    tree: ast.FunctionDef | ast.Lambda, path: str, defaults: tuple[ast.expr | None, ...]
) -> Callee:
    """The callee for `tree`, which the caller defines; ``defaults`` as in `Callee`."""
    return Callee(getattr(tree, "name", "<lambda>"), path, tree, None, defaults)


def _lambda_source(function: FunctionType) -> ast.Lambda | None:
    """The ``lambda`` expression in the source that compiles to the code of `function`; None if
    there is none. Several on one line that compile to the same code are equivalent.
    """
    code = function.__code__
    text = "".join(lines_of(function))
    on_line = (n for n in _lambdas(text) if n.lineno == code.co_firstlineno)
    return next((n for n in on_line if is_lambda(n, function)), None)


@lru_cache(maxsize=8)
def _lambdas(text: str) -> tuple[ast.Lambda, ...]:
    """All ``lambda`` expressions of the module `text`; none if it does not parse."""
    try:
        with suppress_warnings():
            module = ast.parse(text)
    except failures(SyntaxError, ValueError):
        return ()
    return tuple(n for n in walk_nodes(module) if isinstance(n, ast.Lambda))


def fillable_parameters(a: ast.arguments) -> list[str]:
    """The parameters of which each takes one argument: all but ``*args`` and ``**kwargs``."""
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def bind_arguments(
    callee: Callee, call: ast.Call, default: Callable[[Callee, str], ast.expr | None]
) -> Iterator[tuple[str, ast.expr]]:
    """Each parameter with the expression of its argument, in Python's order of evaluation. The
    extra positional arguments are one tuple for ``*args``.

    ``default`` gives the default of a parameter that the call does not fill, None if it has none.
    Raises Refused for ``**kwargs``, for ``*`` in the call, and where the arguments do not fit.
    """
    a = callee.tree.args
    if a.kwarg is not None:
        help = "give it a parameter for each keyword"
        refuse("LOWER_CALL", f"`{callee.name}` takes `**{a.kwarg.arg}`", call, help=help)
    keywords = _keyword_arguments(callee, call)
    positional = [p.arg for p in (*a.posonlyargs, *a.args)]
    yield from zip(positional, call.args, strict=False)
    extra = call.args[len(positional) :]
    if a.vararg is not None:
        yield a.vararg.arg, copy_location(ast.Tuple(list(extra), ast.Load()), call)
    elif extra:
        _refuse_arguments(callee, call)
    yield from keywords.items()
    filled = {*positional[: len(call.args)], *keywords}
    for name in fillable_parameters(a):
        if name not in filled:
            value = default(callee, name)
            yield name, _refuse_arguments(callee, call) if value is None else value


def _keyword_arguments(callee: Callee, call: ast.Call) -> dict[str, ast.expr]:
    """The arguments that `call` gives by keyword. Raises Refused for ``*`` and ``**``, and for a
    keyword that is unknown, given twice, or the name of a parameter that is already filled.
    """
    a = callee.tree.args
    if any(isinstance(x, ast.Starred) for x in call.args) or any(not k.arg for k in call.keywords):
        star = "*" if any(isinstance(x, ast.Starred) for x in call.args) else "**"
        message = f"`{callee.name}` is called with `{star}`"
        refuse("LOWER_CALL", message, call, help=HELP_WITHOUT_STARS)
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    positional = [p.arg for p in (*a.posonlyargs, *a.args)][: len(call.args)]
    allowed = {p.arg for p in (*a.args, *a.kwonlyargs)} - set(positional)
    if not keywords.keys() <= allowed or len(keywords) < len(call.keywords):
        _refuse_arguments(callee, call)
    return keywords


def _refuse_arguments(callee: Callee, call: ast.Call) -> ast.expr:
    """Always raises Refused. Typed as if it returned an argument, so that it can stand for one."""
    if callee.function is not None and is_stand_in(callee.function):
        message = f"`{ast.unparse(call.func)}` is not compiled with these arguments"
        return refuse("LOWER_CALL", message, call, help=HELP_WITHOUT_OPTIONS)
    message = f"`{callee.name}` does not take these arguments"
    return refuse("LOWER_CALL", message, call, help=HELP_FOR_ARGUMENTS)


class Method(NamedTuple):
    """The function behind a method or property of an object that is an argument."""

    function: FunctionType | WrappedFunction
    """The function object, as the class has it now; one that ``fuse`` decorates with its wrapper.
    """
    expr: HostExpr
    """An expression over the caller's names that evaluates to ``function`` at each call."""
    receiver: ast.expr | None
    """The object, which is the first argument of ``function``; None: it is a static method."""
    shadow_test: HostExpr | None = None
    """Whether the instance has an attribute of that name, which hides the method. None if instances
    have no ``__dict__``, for a property, and for ``__call__``, which Python reads in the class.
    """
    is_property: bool = False


def object_type_of(e: ast.expr, types: Mapping[str, ArgType]) -> ObjectType | None:
    """The type of the object `e`, a parameter or an attribute or item of one; None if it is no
    object. ``types``: those of the parameters.
    """
    ty = types.get(e.id) if isinstance(e, ast.Name) else access_path_type(e, types)
    return ty if isinstance(ty, ObjectType) else None


def method_called(func: ast.expr, types: Mapping[str, ArgType]) -> Method | None:
    """The function that a call of `func`, ``obj.name`` or ``obj``, runs, or that reading the
    property does.

        grid.step(x)    →   Method(function=Grid.step, expr=<type(grid).step>, receiver=<grid>,
                                   shadow_test=<'step' in grid.__dict__>)
        grid(x)         →   Method(function=Grid.__call__, expr=<type(grid).__call__>,
                                   receiver=<grid>)

    None, so that the call is not inlined, where

    - ``obj`` is no argument, nor a member of one (``types``: those of the parameters): its class is
      not known;
    - the class has no such attribute, or one that is neither a Python function, one that ``fuse``
      decorates, a static method nor a property: a descriptor may do anything;
    - the instance has an attribute of that name (`ObjectType.key`), which Python takes first. That
      later instances have none is guarded: ``shadow_test`` must be False at each call.
    """
    owner, receiver, name = object_type_of(func, types), func, "__call__"
    if owner is None and isinstance(func, ast.Attribute):
        owner, receiver, name = object_type_of(func.value, types), func.value, func.attr
    if owner is None or issubclass(owner.kind, WrappedFunction):
        return None
    attributes = (vars(c)[name] for c in owner.kind.__mro__ if name in vars(c))
    attribute = next(attributes, None)
    instance = from_ast(receiver)
    expr = HostAttribute(call_helper("type", instance), name)
    if isinstance(attribute, property):
        if receiver is func or not isinstance(attribute.fget, _FUNCTIONS):
            return None
        return Method(attribute.fget, HostAttribute(expr, "fget"), receiver, is_property=True)
    function = attribute.__func__ if isinstance(attribute, staticmethod) else attribute
    if not isinstance(function, _FUNCTIONS):
        return None
    first = None if isinstance(attribute, staticmethod) else receiver
    if receiver is func or not owner.kind.__dictoffset__:
        return Method(function, expr, first)
    if owner.key(name) is not None:
        return None
    is_own = HostOp("in", (HostConst(name), HostAttribute(instance, "__dict__")))
    return Method(function, expr, first, is_own)


_FUNCTIONS = FunctionType, WrappedFunction
"""The types of functions that have a source which can be inlined."""


def is_property(e: ast.expr, types: Mapping[str, ArgType]) -> bool:
    """Whether reading `e` runs the code of a property."""
    method = method_called(e, types) if isinstance(e, ast.Attribute) else None
    return method is not None and method.is_property
