"""Outlined regions: the records of a refused function, of its regions, and of their calls."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from loopir.lazy_dataclass import record

from ...types.value_types import ArgType

if TYPE_CHECKING:
    import ast

    from loopir.nodes import Span

    from ...frontend.inline.inlining_state import CompileBudget
    from ...options import Options
    from ...report.loop_report import Report
    from ...report.source_listing import Listing
    from .refusal_warnings import RefusalWarnings

__all__ = [
    "ForwardedCalls", "FusedRegion", "OutlinedFunction", "OutlinedRegion", "RegionRole",
    "Stats", "total_stats",
]


@record(frozen=True, slots=True)
class Stats:
    """Calls so far."""

    compiled: int = 0  # calls answered by machine code
    replays: dict[str, int] = field(default_factory=dict)  # calls that Python answered, by code
    seconds: float = 0.0  # time spent compiling

    def as_dict(self) -> dict[str, object]:
        """As shown in a Report."""
        return {
            "compiled": self.compiled,
            "replays": dict(self.replays),
            "seconds compiling": self.seconds,
        }


def total_stats(stats: list[Stats]) -> Stats:
    """The sum of several Stats."""
    replays: Counter[str] = Counter()
    for s in stats:
        replays.update(s.replays)
    return Stats(sum(s.compiled for s in stats), dict(replays), sum(s.seconds for s in stats))


@record(frozen=True, slots=True)
class RegionRole:
    """What is known of an outlined region from the function that it is cut out of. For a function
    that is no region all fields are False.
    """

    is_in_loop: bool = False
    """Whether it is called in a loop that stays Python, directly or as part of another region."""
    can_be_python: bool = False
    """Whether its compiled code gives the bits of Python, for arguments of any types and sizes."""
    is_selected_with_caller: bool = False
    """Whether a function around it selects for each call, as a whole, between all its regions and
    Python (`outlined_selection`), so that no single region need be dropped.
    """


class FusedRegion(Protocol):
    """The interface of an outlined region's fused function (`fuse_decorator.Fused`)."""

    is_region: bool
    role: RegionRole
    budget: CompileBudget | None
    options: Options
    warnings: RefusalWarnings

    def __init__(self, function: FunctionType, options: Options) -> None: ...

    @property
    def signatures(self) -> tuple[tuple[ArgType, ...], ...]: ...

    @property
    def stats(self) -> Stats: ...

    @property
    def is_refused(self) -> bool: ...

    @property
    def prefers_python(self) -> bool: ...

    def outlined_in_all_calls(self) -> OutlinedFunction | None: ...

    @property
    def has_python_bits(self) -> bool: ...

    @property
    def original_share(self) -> float: ...

    @property
    def original_test(self) -> CellType: ...

    @property
    def calls(self) -> int: ...

    @property
    def is_backing_off(self) -> bool: ...

    @property
    def useful_entries(self) -> int: ...

    def try_kernels_again(self) -> None: ...

    def report_for(self, types: tuple[ArgType, ...]) -> Report: ...

    def emit_for(self, stage: str, types: tuple[ArgType, ...]) -> str: ...

    def listing_for(self, types: tuple[ArgType, ...]) -> Listing: ...


@record(frozen=True, slots=True)
class OutlinedRegion:
    """A region of a refused function that is compiled as a function of its own."""

    helper: str  # the name by which the outlined function calls it
    tree: ast.FunctionDef
    fused: FusedRegion
    types: tuple[ArgType, ...] | None  # of its parameters; None: known only at run time
    loops: tuple[Span, ...]  # the loops in it
    run: tuple[ast.stmt, ...]  # the consecutive statements of the refused function that it is

    @property
    def latest(self) -> tuple[ArgType, ...] | None:
        """The types of its last call; before the first one, ``types``."""
        return self.fused.signatures[-1] if self.fused.signatures else self.types


@record(frozen=True, slots=True)
class OutlinedFunction:
    """A refused function that calls its compilable regions."""

    function: FunctionType  # equivalent to the original
    tree: ast.FunctionDef
    regions: tuple[OutlinedRegion, ...]
    loops: tuple[ast.stmt, ...]  # the loops that it runs as Python
    dropped: frozenset[str] = frozenset()
    """The helpers of regions that are no more, as they are refused or Python runs them faster:
    their statements are part of `function`."""
    too_short: tuple[ast.stmt, ...] = ()
    """Loops that would be regions, but take less time as Python than a call of compiled code."""
    calling_tree: ast.FunctionDef | None = None  # of `function`, if that has more than `tree`
    cells: Mapping[str, CellType] = field(default_factory=dict)  # of `function`, by their names
    in_place: frozenset[str] = frozenset()
    """The helpers of regions whose statements are in `function`, too, for the calls that Python
    serves (`outline.original_in_place`).
    """
    inlined: Mapping[str, OutlinedFunction] = field(default_factory=dict)
    """By their helpers, the regions that are refused in all calls, outlined in turn: `function` has
    their statements in place of the call (`outline.inline_refused_regions`).
    """

    @property
    def has_python_bits(self) -> bool:
        """Whether it gives the same bits as the original, whatever its regions are called with."""
        return all(region.fused.has_python_bits for region in self.regions)

    @property
    def may_be_skipped(self) -> bool:
        """Whether calls of the original give the bits that calls of `function` would give now: each
        region has Python's, or Python serves it as its guards fail (`Fused.is_backing_off`).
        """
        return all(r.fused.has_python_bits or r.fused.is_backing_off for r in self.regions)

    def regions_to_drop(self, *, by_time: bool) -> frozenset[str]:
        """The helpers of the regions that are to be Python again: those that are refused for every
        signature that they were called with, and have no regions that compile; and, ``by_time``,
        those that Python runs faster, for all signatures and sizes that they were called with. Each
        region has measured that itself, in its calls from `function` (`Fused.prefers_python`).
        """
        return frozenset(
            r.helper for r in self.regions
            if r.fused.is_refused or (by_time and r.fused.prefers_python)
        )

    def as_measured(self, *, may_drop: bool) -> OutlinedFunction:
        """`self` if its regions are to stay as they are. Else a copy with other ``dropped``,
        ``in_place`` and ``inlined``, of which `bind_plan` makes the function:

        - dropped are the regions of `regions_to_drop`, by time if that is allowed (``may_drop``);
        - in place are others of whose calls Python has served at least half
          (`Fused.original_share`);
        - inlined are others that were refused in all calls, and have regions of their own
          (`Fused.outlined_in_all_calls`).
        """
        found = ((r.helper, r.fused.outlined_in_all_calls()) for r in self.regions)
        inlined = {helper: outlined for helper, outlined in found if outlined is not None}
        dropped = self.regions_to_drop(by_time=may_drop)
        in_place = frozenset(r.helper for r in self.regions if r.fused.original_share >= 0.5)
        is_known = all(self.inlined.get(h) is outlined for h, outlined in inlined.items())
        if not dropped and in_place == self.in_place and is_known:
            return self
        inlined = {h: outlined for h, outlined in inlined.items() if h not in dropped}
        return replace(
            self, dropped=dropped | self.dropped, in_place=in_place - dropped, inlined=inlined
        )

    @property
    def calls(self) -> int:
        """How many calls of its regions there were."""
        return sum(region.fused.calls for region in self.regions)


@record(slots=True)
class ForwardedCalls:
    """Calls that rows of the inline cache forward to Python for one reason, counted in C."""

    counters: np.ndarray = field(default_factory=lambda: np.zeros(2, np.int64))
    """How many so far, and how many more before the dispatcher decides again (`CacheRow`)."""
    code: str | None = None
    """The code of the reason; None: they are no replays, as all loops are in compiled regions."""
    _before: int = 0  # how many before `start` was called last

    def start(self, code: str | None, allowance: int, replays: Counter[str]) -> np.ndarray:
        """Begin to count the next `allowance` calls, for the reason `code`. Returns the counters
        for the row. The calls so far are added to `replays`.
        """
        replays.update(self.replays())
        self._before = self.total
        self.counters[:], self.code = (0, allowance), code
        return self.counters

    @property
    def total(self) -> int:
        """How many calls there were, whatever the reasons."""
        return self._before + int(self.counters[0])

    def replays(self) -> dict[str, int]:
        """The number of replays since `start`, by their code (there is one code at most)."""
        forwarded = int(self.counters[0])
        return {self.code: forwarded} if forwarded and self.code else {}
