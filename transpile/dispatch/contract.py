"""What a call must know of a compiled kernel: all of its plan but the code."""
from __future__ import annotations

from loopir.record import record

from ..plan import Binding, Ref, Returned, StatusSource

__all__ = ["Contract", "Parameter"]


@record(frozen=True, slots=True)
class Parameter:
    """A parameter of the kernel, as ``loopir.nodes.Param`` has it."""

    name: str
    dtype: str
    rank: int | None
    unit: int | None
    written: bool


@record(frozen=True, slots=True)
class Contract:
    """The kernel's side: ``params``, the code of each guard, ``strict`` and ``in_place``: pairs of
    arrays that may be one. The caller's: as in `Plan`.
    """

    params: tuple[Parameter, ...]
    guards: tuple[str, ...]
    in_place: tuple[tuple[str, str], ...]
    strict: tuple[str, ...]
    bindings: tuple[Binding, ...]
    returned: Returned
    refs: tuple[Ref, ...]
    writes: tuple[str, ...]
    rewrites: bool
    snapshot: bool
    sources: tuple[StatusSource, ...]
    told: str | None
