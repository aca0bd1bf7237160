"""Outlined functions: Python that calls outlined regions, each compiled on its own.

A region is compiled for the types that its names have when it runs; a refused region is outlined in
turn. `dispatcher` uses this where a whole function is refused.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import CellType, CodeType, FunctionType

from ..diagnostics import Rejection
from ..frontend.ast_names import bound_names, names_used
from ..frontend.ast_walk import walk_nodes
from ..frontend.bytecode_check import FUTURE, without_annotations
from ..frontend.core_nodes import fix_missing_locations
from ..frontend.name_resolution import Scope
from ..frontend.source import Source, read_source, remember_text, span_of
from ..frontend.suppress_warnings import suppress_warnings
from ..options import Options
from ..types.value_types import ArgType
from .outline.outline_regions import OutlinedTree, Region, hoist_numpy_call, outline_regions
from .outline.region_facts import RegionFacts
from .specialization import FusedRegion, OutlinedFunction, OutlinedRegion

__all__ = ["function_from_tree", "outline_function"]


def function_from_tree(
    tree: ast.FunctionDef, function: FunctionType, helpers: Mapping[str, CellType]
) -> FunctionType:
    """`tree` as a function that replaces `function`; it can access the cells `helpers`."""
    own = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells = own | dict(helpers)
    outer = ast.parse(f"def _tp_outer({', '.join(cells)}): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    inner = without_annotations(tree)
    inner.name = "_tp_call"  # recursion must find the original name
    inner.body = [*inner.body, *_keep_locals(inner, function.__code__)]
    outer.body = [inner]
    module = fix_missing_locations(ast.Module([outer], []))
    flags = function.__code__.co_flags & FUTURE
    with suppress_warnings():
        code = compile(module, function.__code__.co_filename, "exec", flags, dont_inherit=True)
    new = _nested_code(_nested_code(code)).replace(co_name=function.__name__)
    closure = tuple(cells[name] for name in new.co_freevars)
    made = FunctionType(new, function.__globals__, function.__name__, None, closure)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


def _keep_locals(tree: ast.FunctionDef, code: CodeType) -> list[ast.stmt]:
    """Dead code that keeps names local that are local in `code` but are now only bound in regions.

    From Python 3.12 on `code` also has the variables of comprehensions; a global may have the same
    name.
    """
    local = ({*code.co_varnames, *code.co_cellvars} - {*code.co_names}) & names_used(tree)
    given = {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
    names = sorted(local - bound_names(*tree.body) - given)
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    never = ast.Assign(targets, ast.Constant(None))
    return [ast.If(ast.Constant(False), [never], [])] if names else []


def _nested_code(code: CodeType) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType))


def outline_function(
    function: FunctionType,
    types: Mapping[str, ArgType],
    rejection: Rejection,
    options: Options,
    region_type: type[FusedRegion],
) -> OutlinedFunction | None:
    """`function` with regions around what `rejection` blames; None if nothing remains to compile.
    """
    if rejection.span is None or rejection.code.startswith(("SOURCE_", "BUILD_")):
        return None
    source = read_source(function)
    scope = Scope.of(function)
    known = RegionFacts(source.tree, types, scope, rejection.span)
    if not any(map(known.refused, source.tree.body)):
        return None  # the blamed code is in no statement
    tree = hoist_numpy_call(source.tree, known.resolve, rejection.span)
    if tree is not source.tree:
        known = RegionFacts(tree, types, scope, rejection.span)
    found = outline_regions(tree, known)
    if found is None:
        return None

    def fused(inner: FunctionType) -> FusedRegion:
        made = region_type(inner, options)
        made.rests = True
        return made

    return _fuse_regions(found, known, source, function, fused)


def _fuse_regions(
    found: OutlinedTree,
    known: RegionFacts,
    source: Source,
    function: FunctionType,
    fused: Callable[[FunctionType], FusedRegion],
) -> OutlinedFunction:
    made = [_fuse_region(region, known, source, function, fused) for region in found.regions]
    cells: dict[str, CellType] = {part.helper: CellType(part.fused) for part in made}
    around = function_from_tree(found.tree, function, cells)
    around.__defaults__, around.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return OutlinedFunction(around, found.tree, tuple(made), found.loops)


def _fuse_region(
    region: Region,
    known: RegionFacts,
    source: Source,
    function: FunctionType,
    fused: Callable[[FunctionType], FusedRegion],
) -> OutlinedRegion:
    tree = region.tree
    inner = function_from_tree(tree, function, {})
    line = tree.lineno
    remember_text(inner, replace(source, tree=tree, line=line, decorators=(), function=inner))
    names = [a.arg for a in tree.args.args]
    types = known.types(names, region.first)
    given = None if types is None else tuple(types[n] for n in names)
    loops = (n for n in walk_nodes(*tree.body) if isinstance(n, (ast.For, ast.While)))
    spans = tuple(span for n in loops if (span := span_of(n)) is not None)
    return OutlinedRegion(region.helper, tree, fused(inner), given, spans)
