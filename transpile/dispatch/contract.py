"""What a call must know of a compiled kernel: all of its plan but the code."""
from __future__ import annotations

from loopir.record import record

from ..bindings import Argument, Binding, Captured, Field, Fresh, Held, Part, Taken
from ..plan import Home, Ref, Shape, StatusSource
from ..returned import Returned
from ..types import PARTS, ArrayType, ScalarType

__all__ = [
    "Contract", "Parameter", "alone", "changes_names", "paired", "strided", "weak",
]


@record(frozen=True, slots=True)
class Parameter:
    """A parameter of the kernel, as ``loopir.nodes.Param`` has it."""

    name: str
    dtype: str
    rank: int | None
    unit: int | None
    written: bool
    steps: tuple[int | None, ...] = ()


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
    given: tuple[Ref, ...]
    objects: tuple[Shape, ...]
    writes: tuple[str, ...]
    rewrites: bool
    snapshot: bool
    copied_up_to: int
    sources: tuple[StatusSource, ...]
    told: str | None
    homes: tuple[Home, ...] = ()
    short: str | None = None


def weak(contract: Contract) -> frozenset[str]:
    """Parameters of the kernel that are given as Python scalars."""
    given = (
        (b.name, b.type)
        for b in contract.bindings if isinstance(b, (Argument, Captured, Held, Part))
    )
    return frozenset(name for name, t in given if isinstance(t, ScalarType) and t.weak)


def strided(contract: Contract) -> frozenset[str]:
    """Parameters of the kernel that are given as arrays with no axis of unit stride."""
    given = (b for b in contract.bindings if isinstance(b, (Argument, Captured, Field, Held)))
    types = ((b.name, b.type) for b in given)
    return frozenset(
        n for n, t in types
        if isinstance(t, ArrayType) and t.rank and t.unit is None
    )


def paired(contract: Contract) -> frozenset[str]:
    """Parameters of the kernel that are given as arrays of complex numbers."""
    kinds = (Argument, Captured, Field, Fresh, Held)
    given = (b for b in contract.bindings if isinstance(b, kinds))
    return frozenset(b.name for b in given if b.type.dtype in PARTS)


def alone(contract: Contract) -> bool:
    """Whether no other thread may run meanwhile: it could draw from a generator that has no lock.
    """
    return any(home.family == "python" for home in contract.homes)


def changes_names(contract: Contract) -> bool:
    """Whether a call changes what is no argument: arrays and lists known by name, or the state of a
    generator.
    """
    known = {
        b.name for b in contract.bindings
        if isinstance(b, Captured) or (isinstance(b, (Field, Taken)) and b.captured)
    }
    written = {p.name for p in contract.params if p.written}
    return not known.isdisjoint(written) or any(home.generator for home in contract.homes)
