"""Machine model: registers, latencies, caches; the tile sizes and interleaving that fit them.

No instruction set is named here: `targets` fills in the numbers; passes marked ``fits`` in
`passes.pass_list` use them.
"""
from __future__ import annotations

from .lazy_dataclass import record

__all__ = [
    "DEFAULT_MACHINE", "Machine", "RegisterTile", "interleave_count", "best_register_tile",
    "max_tile_columns", "max_row_sums", "strip_length", "register_tiles",
]


@record(frozen=True, slots=True, kw_only=True)
class Machine:
    """The parameters of a core. They decide tile sizes and loop shapes, never the order of a fold.

    ``registers``: vector registers of ``bytes`` each. ``latency``: cycles from an addition to its
    use; ``pipes``: additions issued per cycle. ``caches``: bytes of L1, L2 and L3.
    """

    registers: int = 16
    bytes: int = 32
    latency: int = 4
    pipes: int = 2
    caches: tuple[int, int, int] = (32 << 10, 512 << 10, 16 << 20)


DEFAULT_MACHINE = Machine()
"""Typical values of current cores."""


@record(frozen=True, slots=True)
class RegisterTile:
    """``rows`` iterations of an outer loop, each with ``columns`` vectors side by side.

    ``cost``: cycles for one vector of the result and one step of its sum.
    """

    rows: int
    columns: int
    cost: float

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}: {self.cost:.3g}"


def max_tile_columns(machine: Machine, rows: int, *, loads: bool = True) -> int:
    """How many vectors side by side fit in registers, in a loop with `rows` accumulators for each.

    Each column needs one more register for its load; all columns share one for a broadcast and one
    for a temporary. At most as many columns as the latency of an addition are used; without loads,
    as many for each pipe.
    """
    most = machine.latency if loads else machine.latency * machine.pipes
    vectors = 1 << (most.bit_length() - 1)
    while vectors > 1 and rows * vectors + vectors + 2 > machine.registers:
        vectors //= 2
    return vectors


def interleave_count(machine: Machine, weight: float) -> int:
    """How many vectors to interleave in a body without sums that costs `weight` additions.

    Enough to fill the pipes while a dependence chain waits for its latency.
    """
    vectors = max_tile_columns(machine, 0)
    while vectors > 1 and vectors * weight > machine.latency**2 * machine.pipes:
        vectors //= 2
    return vectors


def max_row_sums(machine: Machine, each: int) -> int:
    """How many row sums, in lanes of `each` bytes, fit in registers; four are left for operands."""
    return (machine.registers - 4) * machine.bytes // each


def register_tiles(
    machine: Machine, each: int, count: int | None = None
) -> tuple[RegisterTile, ...]:
    """The tiles whose accumulators (`each` per element) fit in registers, the cheapest first.

    ``count``: the number of rows, where it is constant.
    """
    most = min(machine.registers // each, count or machine.registers)
    return tuple(sorted(_tiles(machine, each, max(most, 1), count), key=lambda t: t.cost))


def best_register_tile(machine: Machine, each: int, count: int | None = None) -> RegisterTile:
    """The cheapest of `register_tiles`: it computes most per load."""
    return register_tiles(machine, each, count)[0]


def _tiles(machine: Machine, each: int, most: int, count: int | None) -> list[RegisterTile]:
    found = []
    for rows in range(1, most + 1):
        vectors = max_tile_columns(machine, rows * each)
        fits = rows * each * vectors + vectors + 2 <= machine.registers
        if fits or rows == 1:
            alone = _cycles_per_step(machine, 1, vectors, each)
            whole, rest = divmod(count or rows, rows)
            cycles = whole * _cycles_per_step(machine, rows, vectors, each) + rest * alone
            found.append(RegisterTile(rows, vectors, cycles / (whole * rows + rest) / vectors))
    return found


def _cycles_per_step(machine: Machine, rows: int, vectors: int, each: int) -> float:
    """Cycles of one step of a tile's sums: its additions and loads, or the latency of the last
    step.
    """
    return max((rows * vectors * each + rows + vectors) / machine.pipes, machine.latency)


def strip_length(cache: int, row: int) -> int:
    """How many rows of `row` bytes fill an eighth of `cache`, as a power of two.

    An eighth stays resident while other data streams through.
    """
    return 1 << (max(cache // 8 // row, 1).bit_length() - 1)
