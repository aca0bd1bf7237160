"""Chunk plan: what a function does with chunks of its arguments, and what its results are.

The function is compiled up to fused Loop IR for the types of the arguments, and
`loopir.analysis.decomposition` says of each axis how the kernel goes through it. Here the results
are found in the call plan: which kernel arrays they are, with which axes.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from types import FunctionType
from typing import Any

import numpy as np

from loopir.analysis.decomposition.chunk_axes import ChunkAxis, ChunkSummary
from loopir.analysis.decomposition.chunk_summary import chunk_summary
from loopir.lazy_dataclass import record, replace
from loopir.process.signal_exceptions import failures

from ..call_plan import Allocated, Argument, Plan, ResultSlot
from ..diagnostics import Refused, Rejection
from ..frontend.ast_walk import walk_nodes
from ..frontend.source import read_source
from ..host_nodes import host_source
from ..options import Options, chosen_target
from ..pipeline import Compilation, run_stages
from ..report.user_terms import user_terms
from ..result_spec import ObjectResult, ResultSpec, ScalarResult, SelectResult, TupleResult
from ..types.value_types import ELEMENTS, ArgType, GeneratorType

__all__ = ["ChunkPlan", "Output", "Sized", "chunk_plan", "not_in_chunks",
           "plan_stages"]

_UNNAMED = "an intermediate value"
"""What the compiler made, and has no name in the source."""

HELP = "let it take arrays, and return new arrays and numbers"


@record(frozen=True, slots=True)
class Output:
    """One result of the function."""

    name: str
    """The array of the kernel, or the slot of a number."""
    dtype: np.dtype[Any]
    rank: int
    chosen: tuple[bool, bool] | None = None
    """Of what a search returns: the result where it has found something, and the other one."""
    weak: bool = False
    """Whether it is a number of Python's."""


@record(frozen=True, slots=True)
class ChunkPlan:
    """What a function does with chunks of its arguments."""

    summary: ChunkSummary
    outputs: tuple[Output, ...]
    is_tuple: bool
    arrays: frozenset[str]
    """The parameters that are arrays."""
    allocations: tuple[tuple[str, str], ...]
    """For each array that a call makes, its name and the Python expression that makes it."""

    def __str__(self) -> str:
        return "\n".join(f"   {line}" for line in str(self.summary).splitlines())

    def axes_of(self, name: str, rank: int) -> tuple[ChunkAxis | None, ...]:
        """The chunk axes of an array; None for an axis that is in none."""
        return tuple(self.summary.axis_of(name, k) for k in range(rank))

    def result_shapes(
        self, arguments: Mapping[str, Any], namespace: Mapping[str, Any]
    ) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays that a call with these arguments makes; arrays among them may be
        `Sized`. ``namespace``: the globals. Raises Refused where a shape alone does not tell.
        """
        known = {name: _without_memory(value) for name, value in namespace.items()}
        known |= {f"_{name}": value for name, value in _HELPERS.items()} | dict(arguments)
        shapes: dict[str, tuple[int, ...]] = {}
        for name, source in self.allocations:
            try:
                made = eval(source, known)
            except failures(Exception) as error:  # it asks for more than a shape
                raise not_in_chunks(
                    "the length of a result depends on more than the lengths of the arguments"
                ) from error
            known[name] = made
            shapes[name] = made.shape
        return shapes


_CREATION = frozenset(
    f"{name}{like}" for name in ("empty", "full", "ones", "zeros") for like in ("", "_like")
)


def _without_memory(value: object) -> Any:
    """`value`; of NumPy, and of its functions that make arrays, what makes arrays of a shape only.
    """
    if value is np:
        return _SHAPES
    name = getattr(value, "__name__", "")
    is_creation = name in _CREATION and value is getattr(np, name)
    return getattr(_SHAPES, name) if is_creation else value


class Sized:
    """Stands for an array of which only the shape is known."""

    def __init__(self, shape: Any) -> None:
        self.shape: tuple[int, ...] = (shape,) if isinstance(shape, int) else tuple(shape)
        self.ndim, self.size = len(self.shape), prod(self.shape)
        self.dtype = np.dtype(np.int8)

    def __len__(self) -> int:
        return self.shape[0]


class _Shapes:
    """NumPy, but for functions that make arrays: these give `Sized`."""

    def __getattr__(self, name: str) -> Any:
        if name not in _CREATION:
            return getattr(np, name)
        is_like = name.endswith("_like")
        return lambda of, *args, **keywords: Sized(of.shape if is_like else of)


_SHAPES = _Shapes()
_HELPERS = {"np": _SHAPES, "max": max, "min": min, "abs": abs, "int": int, "bool": bool}


def not_in_chunks(message: str, help: str | None = None) -> Refused:
    """Why a function is not run chunk by chunk."""
    return Refused(Rejection("LOWER_TYPE", message, help=help))


def chunk_plan(
    function: FunctionType, types: Mapping[str, ArgType], options: Options
) -> ChunkPlan:
    """The chunk plan of `function` for arguments of these types. Raises Refused where it is not
    compiled for them, or does anything besides returning arrays and numbers.
    """
    state = plan_stages(function, types, options)
    plan = state.plan
    flags = {*_flags(plan.returned)}
    summary = _in_terms_of_source(chunk_summary(state.plain, flags), function, types)
    outputs = _outputs(plan.returned, plan, dict(summary.constants))
    return ChunkPlan(
        summary=summary,
        outputs=outputs,
        is_tuple=isinstance(plan.returned, TupleResult),
        arrays=frozenset(b.name for b in plan.bindings if isinstance(b, Argument)),
        allocations=tuple(
            (b.name, host_source(b.expr)) for b in plan.bindings if isinstance(b, Allocated)
        ),
    )


def _in_terms_of_source(
    summary: ChunkSummary, function: FunctionType, types: Mapping[str, ArgType]
) -> ChunkSummary:
    """`summary`, in which the reasons speak of variables of the user's."""
    if not any(axis.reason for axis in summary.axes):
        return summary
    terms = user_terms(read_source(function), types)
    reasons = (axis.reason and terms.sentence(axis.reason, _UNNAMED) for axis in summary.axes)
    axes = tuple(
        replace(axis, reason=reason) for axis, reason in zip(summary.axes, reasons, strict=True)
    )
    return replace(summary, axes=axes)


def plan_stages(
    function: FunctionType, types: Mapping[str, ArgType], options: Options
) -> Compilation:
    """The compilation of `function` up to fused Loop IR. Raises Refused where it is not compiled
    for these types, or does anything besides computing results.
    """
    from .. import knobs

    settings = knobs.read()
    if any(isinstance(ty, GeneratorType) for ty in types.values()):
        raise not_in_chunks("the function draws random numbers, in the order of the elements")
    target = chosen_target(options, settings)
    state = run_stages(
        Compilation(function=function, types=types, options=options, machine=target.model),
        stop_after="fuse", skip=settings.skip,
    )
    _refuse_questions(state.source.tree, types)
    if state.plan.writes:
        names = " and ".join(f"`{n}`" for n in state.plan.writes)
        raise not_in_chunks(f"the function writes to {names}", "return a new array")
    if any(c.generator for c in state.plan.captures):
        raise not_in_chunks("the function draws random numbers, in the order of the elements")
    return state


_KIND_FUNCTIONS = frozenset((
    "callable", "dir", "getattr", "hasattr", "id", "isinstance", "issubclass", "type", "vars",
))
_KIND_ATTRIBUTES = frozenset((
    "__class__", "__module__", "base", "ctypes", "data", "flags", "strides",
))


def _refuse_questions(tree: ast.FunctionDef, types: Mapping[str, ArgType]) -> None:
    """Raises Refused if the function asks what kind of object an array is: the answer is another
    one for a chunk than for an array in chunks.
    """
    for n in walk_nodes(tree):
        match n:
            case ast.Call(func=ast.Name(id=name)) if name in _KIND_FUNCTIONS:
                raise not_in_chunks(f"the function calls `{name}`, and a chunk has another type")
            case ast.Attribute(value=ast.Name(id=of), attr=name) if (
                name in _KIND_ATTRIBUTES and of in types
            ):
                raise not_in_chunks(f"the function reads `{of}.{name}`, which a chunk has, too")


def _flags(spec: ResultSpec) -> Iterator[str]:
    """The slots that only tell the Python type of a number."""
    match spec:
        case ScalarResult(flag=str(flag)):
            yield flag
        case TupleResult(items=items):
            for item in items:
                yield from _flags(item)


def _outputs(spec: ResultSpec, plan: Plan, constants: Mapping[str, bool]) -> tuple[Output, ...]:
    """The results that `spec` is made of. Raises Refused if there are others than new arrays,
    numbers, and what a search returns.
    """
    items: Sequence[ResultSpec] = (spec,)
    if isinstance(spec, TupleResult) and spec.display is tuple:
        items = spec.items
    if not items:
        raise not_in_chunks("the function returns nothing", HELP)
    fresh = {b.name: b for b in plan.bindings if isinstance(b, Allocated)}
    slots = {b.name: b for b in plan.bindings if isinstance(b, ResultSlot)}
    found = []
    for item in items:
        match item:
            case ObjectResult(name=name) if name in fresh:
                ty = fresh[name].type
                found.append(Output(name, ELEMENTS[ty.dtype].numpy, ty.rank))
            case ScalarResult(slot=slot, weak=weak, flag=flag):
                weak = weak and flag is None
                found.append(Output(slot, ELEMENTS[slots[slot].dtype].numpy, 0, weak=weak))
            case SelectResult(
                flag=flag, then=ScalarResult(slot=a), orelse=ScalarResult(slot=b)
            ) if a in constants and b in constants:
                chosen = constants[a], constants[b]
                found.append(Output(flag, np.dtype(bool), 0, chosen))
            case _:
                raise not_in_chunks(f"the function returns {_described(item)}", HELP)
    return tuple(found)


def _described(spec: ResultSpec) -> str:
    """What a result is that chunks have no part of."""
    kind = type(spec).__name__.removesuffix("Result")
    return {
        "None": "nothing", "Object": "one of its arguments", "View": "a view of an array",
        "List": "a list", "Zipped": "a list", "Tuple": "a container that is no tuple",
        "Array": "an array whose length depends on the data",
        "Select": "now one result, now another",
    }.get(kind, f"a result of another kind ({kind.lower()})")
