"""Outlined functions: Python that calls outlined regions, each compiled on its own.

Where a function is refused as a whole, `outline.outline_regions` finds the runs of statements that
may compile. Here they become `Fused` functions, and the rest becomes a Python function that calls
them. A region is compiled for the types that its names have when it runs; a refused region is
outlined in turn. `dispatcher` uses this.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
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
    own_cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells = own_cells | dict(helpers)
    outer = ast.parse(f"def _tp_outer({', '.join(cells)}): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    renamed = without_annotations(tree)
    renamed.name = "_tp_call"  # recursion must find the original name
    renamed.body = [*renamed.body, *_keep_locals(renamed, function.__code__)]
    outer.body = [renamed]
    module = fix_missing_locations(ast.Module([outer], []))
    flags = function.__code__.co_flags & FUTURE
    with suppress_warnings():
        code = compile(module, function.__code__.co_filename, "exec", flags, dont_inherit=True)
    new = _nested_code(_nested_code(code)).replace(co_name=function.__name__)
    closure = tuple(cells[name] for name in new.co_freevars)
    result = FunctionType(new, function.__globals__, function.__name__, None, closure)
    result.__qualname__, result.__module__ = function.__qualname__, function.__module__
    return result


def _keep_locals(tree: ast.FunctionDef, code: CodeType) -> list[ast.stmt]:
    """Dead code that keeps names local that are local in `code` but are now only bound in regions.

    From Python 3.12 on `code` also has the variables of comprehensions; a global may have the same
    name.
    """
    local = ({*code.co_varnames, *code.co_cellvars} - {*code.co_names}) & names_used(tree)
    parameters = {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
    names = sorted(local - bound_names(*tree.body) - parameters)
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    dead_assign = ast.Assign(targets, ast.Constant(None))
    return [ast.If(ast.Constant(False), [dead_assign], [])] if names else []


def _nested_code(code: CodeType) -> CodeType:
    """The code of the function defined in `code`."""
    return next(c for c in code.co_consts if isinstance(c, CodeType))


def outline_function(
    function: FunctionType,
    types: Mapping[str, ArgType],
    rejection: Rejection,
    options: Options,
    region_type: type[FusedRegion],
    known: OutlinedFunction | None = None,
    dropped: frozenset[str] = frozenset(),
) -> OutlinedFunction | None:
    """`function` with regions around what `rejection` blames; None if nothing remains to compile.

    The regions of ``known`` are used again; those whose helpers are `dropped` stay Python.
    """
    if rejection.span is None or rejection.code.startswith(("SOURCE_", "BUILD_")):
        return None
    source = read_source(function)
    scope = Scope.of(function)
    facts = RegionFacts(source.tree, types, scope, rejection.span)
    if not any(map(facts.refused, source.tree.body)):
        return None  # the blamed code is in no statement
    tree = hoist_numpy_call(source.tree, facts.resolve, rejection.span)
    if tree is not source.tree:
        facts = RegionFacts(tree, types, scope, rejection.span)
    outlined = outline_regions(tree, facts, dropped)
    if outlined is None:
        return None
    known_regions = {r.helper: r for r in known.regions} if known is not None else {}

    def fused(inner: FunctionType) -> FusedRegion:
        """`inner` as a region's fused function."""
        region = region_type(inner, options)
        region.is_region = True
        return region

    regions = [
        known_regions.get(region.helper) or _fuse_region(region, facts, source, function, fused)
        for region in outlined.regions
    ]
    return _with_regions(outlined, regions, function, dropped)


def _with_regions(
    outlined: OutlinedTree, regions: Sequence[OutlinedRegion], function: FunctionType,
    dropped: frozenset[str],
) -> OutlinedFunction:
    """The function of `outlined`, which calls the fused functions of its regions."""
    cells = {region.helper: CellType(region.fused) for region in regions}
    calling_function = function_from_tree(outlined.tree, function, cells)
    calling_function.__defaults__, calling_function.__kwdefaults__ = (
        function.__defaults__,
        function.__kwdefaults__,
    )
    return OutlinedFunction(
        calling_function, outlined.tree, tuple(regions), outlined.loops, dropped
    )


def _fuse_region(
    region: Region,
    facts: RegionFacts,
    source: Source,
    function: FunctionType,
    fused: Callable[[FunctionType], FusedRegion],
) -> OutlinedRegion:
    """The region as a fused function, whose source is that of `function`."""
    tree = region.tree
    inner = function_from_tree(tree, function, {})
    line = tree.lineno
    remember_text(inner, replace(source, tree=tree, line=line, decorators=(), function=inner))
    names = [a.arg for a in tree.args.args]
    types = facts.types(names, region.first)
    known_types = None if types is None else tuple(types[n] for n in names)
    loops = (n for n in walk_nodes(*tree.body) if isinstance(n, (ast.For, ast.While)))
    spans = tuple(span for n in loops if (span := span_of(n)) is not None)
    return OutlinedRegion(region.helper, tree, fused(inner), known_types, spans)
