"""Bytecode check: whether a ``def`` in a file is what a function object was compiled from.

The file may have changed since the function was defined. The ``def`` is compiled again in an
equivalent context (closure, class, future imports), and the code objects are compared: each
instruction, where it jumps to, and which instructions are in which ``try``. Instructions whose
occurrence depends on the rest of the module are left out (`_NEUTRAL`).
"""
from __future__ import annotations
import __future__

import ast
import dis
import types
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import reduce

from loopir.process.signal_exceptions import failures

from .core_nodes import copy_location, fix_missing_locations
from .suppress_warnings import suppress_warnings

__all__ = [
    "FUTURE", "without_annotations", "compiles_to", "is_lambda", "nested_codes", "runs_loops",
]

FUTURE = reduce(
    int.__or__, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)
"""The compiler flags of all ``from __future__`` imports."""

_NEUTRAL = {"CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL"}
"""Instructions that are not compared: whether they occur depends on line numbers, on how many names
and constants there are, or on how a call is encoded (PUSH_NULL), not on what the function does.
"""

_SYNONYMS = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL_FUNCTION"}
"""Instructions that count as others: how a method is called depends on the module's imports."""


def compiles_to(tree: ast.FunctionDef, fn: types.FunctionType) -> bool:
    """Whether `tree`, a ``def`` found in a file, compiles to the bytecode of `fn`.
    `source.read_source` asks before the compiler takes `tree` for the source of `fn`.

        class A:                              def _(s):            # `s` is a closure cell of A.f
            def f(self):              →           class A:         # mangles `__x`
                return self.__x + s                   def f(self): return self.__x + s

    `tree` alone would compile to other instructions: a free variable would be loaded as a global,
    and ``__x`` would not be mangled. So it is compiled inside of functions and classes that stand
    for those around it (right), with the ``from __future__`` flags of `fn`; then the code objects
    are compared (`_same`). Decorators, defaults and annotations run outside of the function, so
    they are removed first.
    """
    code = fn.__code__
    body: list[ast.stmt] = [without_annotations(tree)]
    *outer, name = fn.__qualname__.split(".")
    if outer and outer[-1] != "<locals>":
        name = outer[-1]
        body = [_class(name, body)]
    free = [n for n in code.co_freevars if n != "__class__"]
    if name not in free:
        # so that the name of the def itself is no local (a cell, if it is recursive) of the
        # function around
        body.insert(0, ast.Global([name]))
    module = fix_missing_locations(ast.Module([_function("_", free, body)], []))
    flags = code.co_flags & FUTURE
    try:
        with suppress_warnings():
            compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    except failures(SyntaxError, ValueError):
        return False
    return any(_same(c, code) for c in nested_codes(compiled) if c.co_name == code.co_name)


def is_lambda(tree: ast.Lambda, fn: types.FunctionType) -> bool:
    """Whether `tree` itself, and not a lambda inside it, compiles to the bytecode of the lambda
    `fn`: for lambdas what `compiles_to` is for a ``def``. `inline.callees` asks it about each
    lambda on the line of `fn`.
    """
    code = fn.__code__
    body: list[ast.stmt] = [
        ast.Expr(copy_location(ast.Lambda(_plain_arguments(tree.args), tree.body), tree))
    ]
    module = fix_missing_locations(ast.Module([_function("_", code.co_freevars, body)], []))
    flags = code.co_flags & FUTURE
    try:
        with suppress_warnings():
            compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    except failures(SyntaxError, ValueError):
        return False
    outermost = next(c for c in nested_codes(compiled) if c.co_name == code.co_name)
    return _same(outermost, code)


def without_annotations(tree: ast.FunctionDef) -> ast.FunctionDef:
    """`tree` without decorators, defaults and annotations, which are evaluated outside of it."""
    fields = {f: getattr(tree, f) for f in tree._fields} | {"decorator_list": [], "returns": None}
    node = ast.FunctionDef(**fields)
    node.args = _plain_arguments(tree.args)
    return copy_location(node, tree)


def _plain_arguments(a: ast.arguments) -> ast.arguments:
    """`a` without annotations, and with None for each default."""
    constant: ast.expr = ast.Constant(None)
    return ast.arguments(
        posonlyargs=_unannotated(a.posonlyargs),
        args=_unannotated(a.args),
        vararg=a.vararg and ast.arg(a.vararg.arg),
        kwonlyargs=_unannotated(a.kwonlyargs),
        kw_defaults=[d and constant for d in a.kw_defaults],
        kwarg=a.kwarg and ast.arg(a.kwarg.arg),
        defaults=[constant for _ in a.defaults],
    )


def _unannotated(args: Sequence[ast.arg]) -> list[ast.arg]:
    return [ast.arg(a.arg) for a in args]


def _function(name: str, parameters: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """``def name(*parameters): body``"""
    node = ast.parse(f"def {name}({', '.join(parameters)}): pass").body[0]
    assert isinstance(node, ast.FunctionDef)
    node.body = body
    return node


def _class(name: str, body: list[ast.stmt]) -> ast.ClassDef:
    """``class name: body``"""
    node = ast.parse(f"class {name}: pass").body[0]
    assert isinstance(node, ast.ClassDef)
    node.body = body
    return node


def runs_loops(code: types.CodeType) -> bool:
    """Whether it has a loop, a comprehension, or another code object inside, which may have one."""
    jumps = {*dis.hasjrel, *dis.hasjabs}
    return next(nested_codes(code), None) is not None or any(
        i.argval <= i.offset for i in dis.get_instructions(code) if i.opcode in jumps
    )


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code objects nested in `code`, outer ones first."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from nested_codes(constant)


def _same(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two code objects have the same instructions, with equal arguments and targets of
    jumps, and the same handlers of exceptions, `_NEUTRAL` instructions left out.
    """
    if _is_identical(a, b):
        return True
    if _handlers(a) != _handlers(b):
        return False
    x, y = _instructions(a), _instructions(b)
    return len(x) == len(y) and all(
        name_a == name_b and _same_value(value_a, value_b)
        for (name_a, value_a), (name_b, value_b) in zip(x, y, strict=True)
    )


_TABLES = ("co_code", "co_names", "co_varnames", "co_cellvars", "co_freevars")
"""With the constants and the handlers, what the instructions of a code object are."""


def _is_identical(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two code objects are equal byte by byte, which saves to disassemble most of them."""
    return (
        all(getattr(a, table) == getattr(b, table) for table in _TABLES)
        and getattr(a, "co_exceptiontable", b"") == getattr(b, "co_exceptiontable", b"")
        and len(a.co_consts) == len(b.co_consts)
        and all(map(_same_value, a.co_consts, b.co_consts))
    )


def _instructions(code: types.CodeType) -> list[tuple[str, object]]:
    """The name and the argument of each compared instruction; of a jump, its target as a place
    among them.
    """
    compared = [i for i in dis.get_instructions(code) if i.opname not in _NEUTRAL]
    offsets = [i.offset for i in compared]
    jumps = {*dis.hasjrel, *dis.hasjabs}
    return [
        (_SYNONYMS.get(i.opname, i.opname),
         bisect_left(offsets, i.argval) if i.opcode in jumps else i.argval)
        for i in compared
    ]


def _handlers(code: types.CodeType) -> list[tuple[int, ...]]:
    """The handlers of exceptions, from Python 3.11 on, where no instruction begins a ``try``: the
    first and the last compared instruction of each range, its handler, and what is on the stack
    there. Ranges that meet are one.
    """
    offsets = [i.offset for i in dis.get_instructions(code) if i.opname not in _NEUTRAL]
    ranges: list[tuple[int, ...]] = []
    for entry in getattr(dis.Bytecode(code), "exception_entries", ()):
        start, end, target = (
            bisect_left(offsets, at) for at in (entry.start, entry.end, entry.target)
        )
        handler = target, entry.depth, entry.lasti
        if ranges and ranges[-1][1:] == (start, *handler):
            start = ranges.pop()[0]
        if start < end:
            ranges.append((start, end, *handler))
    return ranges


def _same_value(a: object, b: object) -> bool:
    """Whether two arguments of instructions are equal. Constants are compared by type and text:
    ``1 == True``, and a NaN does not equal itself.
    """
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return _same(a, b)
    if isinstance(a, str) and isinstance(b, str):  # Python 3.10: qualified names of inner functions
        return a.rpartition("<locals>")[2] == b.rpartition("<locals>")[2]
    return type(a) is type(b) and repr(a) == repr(b)
