"""Chunked function: the chunk plans of a fused function, and what of it goes to the tasks."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from loopir.lazy_dataclass import record

from ..diagnostics import Refused
from ..errors import call_signature_text, source_location
from ..frontend.names_read import identities_read
from ..types.typeof import argument_types, parameter_names
from .chunk_plan import ChunkPlan, chunk_plan
from .dask_calls import DaskCall, LazyNumber, dask_call, is_lazy, one_chunk, stand_ins
from .fold_stages import FoldStages, fold_stages

if TYPE_CHECKING:
    from ..options import Options
    from ..types.value_types import ArgType

__all__ = ["AnyCall", "ChunkedFunction", "StagedCall", "describe_plan", "results_of"]

_MOST_KEPT = 8
_Found = TypeVar("_Found")


@record(frozen=True, slots=True)
class StagedCall:
    """A call whose folds are computed chunk by chunk, and then what follows from them."""

    folds: tuple[AnyCall, ...]
    rest: AnyCall

    def __str__(self) -> str:
        folds = "\n".join(map(str, self.folds))
        return f"{folds}\n   then, with what these folds give:\n{self.rest}"


AnyCall: TypeAlias = "DaskCall | StagedCall"


def results_of(call: AnyCall) -> Any:
    """The results of a call, as Dask arrays: one, or a tuple."""
    from .dask_graphs import dask_results

    return results_of(call.rest) if isinstance(call, StagedCall) else dask_results(call)


class ChunkedFunction:
    """A fused function that is called with arrays in chunks."""

    def __init__(self, fused: Any) -> None:
        self._fused = fused
        self._plans: dict[tuple[ArgType, ...], tuple[object, ChunkPlan]] = {}
        self._stages: dict[tuple[ArgType, ...], tuple[object, _Stages | None]] = {}
        self._copies: dict[str, ChunkedFunction] = {}

    def plan(self, types: tuple[ArgType, ...]) -> ChunkPlan:
        """The chunk plan for arguments of these types, as long as what the function reads from
        outside is the same. Raises Refused.
        """
        return self._kept(self._plans, types, chunk_plan)

    def _kept(
        self, known: dict[tuple[ArgType, ...], tuple[object, _Found]], types: tuple[ArgType, ...],
        find: Callable[[FunctionType, Mapping[str, ArgType], Options], _Found],
    ) -> _Found:
        """What `find` finds for arguments of these types, as long as what the function reads from
        outside is the same.
        """
        function = self._fused.__wrapped__
        found, names = known.get(types), identities_read(function)
        if found is not None and found[0] == names:
            return found[1]
        by_name = dict(zip(parameter_names(function.__code__), types, strict=True))
        made = find(function, by_name, self._fused.options)
        known[types] = names, made
        return made

    def call(
        self, types: tuple[ArgType, ...], values: Sequence[Any], copied: Callable[[], Any] | None
    ) -> ChunkPlan | AnyCall:
        """How a call with Dask arrays runs chunk by chunk; with no such arrays the plan alone.
        Raises Refused if it does not.

        What a function reads from outside counts as it is when the graph is made, as it would
        without `fuse`: ``copied`` makes a copy with these values for the tasks; None: it reads
        nothing that may change.
        """
        if not any(map(is_lazy, values)):
            return self.plan(types)
        if copied is not None:
            return self._copy(copied).call(types, values, None)
        try:
            return dask_call(
                self._fused, self.plan(types), values, self._fused.__wrapped__.__globals__)
        except Refused as refused:
            stages = self._kept(self._stages, types, partial(_chunked_stages, self._fused))
            try:
                staged = self._staged(stages, values)
            except Refused:  # for a reason that is about values of a stage
                staged = None
            if staged is None:
                raise refused from None
            return staged

    def _staged(self, stages: _Stages | None, values: Sequence[Any]) -> AnyCall | None:
        """The call in stages; None if there is nothing to divide. Raises Refused where a stage does
        not run chunk by chunk.
        """
        if stages is None:
            return None
        given = dict(zip(parameter_names(self._fused.__wrapped__.__code__), values, strict=True))
        given |= stages.found.lengths_of(given)
        folds: list[AnyCall] = []
        for stage, chunked in zip(stages.found.stages, stages.chunked, strict=True):
            arguments = [given[name] for name in stage.parameters]
            if not any(map(is_lazy, arguments)):
                arguments = [one_chunk(v) for v in arguments]
            own = argument_types(stand_ins(arguments), stage.fused.__wrapped__)
            call = chunked.call(own, arguments, None)
            if isinstance(call, ChunkPlan):  # of lists and numbers
                return None
            if not stage.results:
                return StagedCall(tuple(folds), call) if folds else call
            folds.append(call)
            given |= _lazy_values(call, stage.results)
        return None

    def _copy(self, make: Callable[[], Any]) -> ChunkedFunction:
        """What `make` returns, or what it has returned when the function read the same values."""
        from dask.base import tokenize

        token = tokenize(self._fused)
        if token not in self._copies:
            if len(self._copies) >= _MOST_KEPT:
                self._copies.clear()
            self._copies[token] = ChunkedFunction(make())
        return self._copies[token]


@record(frozen=True, slots=True)
class _Stages:
    """The stages of a function, and each as a function of arrays in chunks."""

    found: FoldStages
    chunked: tuple[ChunkedFunction, ...]


def _chunked_stages(
    fused: Any, function: FunctionType, types: Mapping[str, ArgType], options: Options
) -> _Stages | None:
    """The stages of `fused`, which wraps `function`; None if there is nothing to divide."""
    found = fold_stages(fused, types)
    if found is None:
        return None
    return _Stages(found, tuple(ChunkedFunction(s.fused) for s in found.stages))


def _lazy_values(call: AnyCall, names: tuple[str, ...]) -> dict[str, Any]:
    """The results of a call by name, as arguments of the next one."""
    last = call
    while isinstance(last, StagedCall):
        last = last.rest
    results = results_of(call) if last.plan.is_tuple else (results_of(call),)
    return {
        name: result if output.rank else LazyNumber(result, output.weak)
        for name, result, output in zip(names, results, last.plan.outputs, strict=True)
    }


def describe_plan(
    fused: Any, values: Sequence[Any], plan: Callable[[], ChunkPlan | AnyCall]
) -> str:
    """What a call of `fused` with these arguments does with chunks, for people. ``plan``: finds it,
    or raises Refused.
    """
    function = fused.__wrapped__
    head = f"{function.__qualname__}  {source_location(function)}"
    try:
        types = argument_types(stand_ins(values), function)
        head = f"{call_signature_text(function, types)}  {source_location(function)}"
        return f"{head}\n{plan()}"
    except Refused as refused:
        reason = refused.rejection
        advice = f"\n   help: {reason.help}" if reason.help else ""
        return f"{head}\n   not in chunks: {reason.message}{advice}"
