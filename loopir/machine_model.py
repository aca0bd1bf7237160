"""Machine model: registers, latencies, caches; the tile sizes and interleaving that fit them.

No instruction set is named here: `targets` fills in the numbers, passes choose by them.
"""
from __future__ import annotations

from .lazy_dataclass import record

__all__ = [
    "DEFAULT_MACHINE", "Machine", "RegisterTile", "interleave_count", "best_register_tile",
    "max_tile_columns", "max_row_sums", "strip_length", "register_tiles",
]


@record(frozen=True, slots=True, kw_only=True)
class Machine:
    """A core to plan for. It decides tiles and shapes of loops, never the order of a fold.

    ``registers``: vector registers of ``bytes`` each. ``latency``: cycles until an addition can be
    used; ``pipes``: additions that start in one. ``caches``: bytes of L1, L2 and L3.
    """

    registers: int = 16
    bytes: int = 32
    latency: int = 4
    pipes: int = 2
    caches: tuple[int, int, int] = (32 << 10, 512 << 10, 16 << 20)


DEFAULT_MACHINE = Machine()
"""What most machines have."""


@record(frozen=True, slots=True)
class RegisterTile:
    """``rows`` iterations of an outer loop, each with ``columns`` vectors side by side; ``cost``:
    cycles for a vector of the result and one step of its sum.
    """

    rows: int
    columns: int
    cost: float

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}: {self.cost:.3g}"


def max_tile_columns(machine: Machine, rows: int, *, loads: bool = True) -> int:
    """How many vectors side by side run a loop that carries `rows` of each: as fit in registers.

    Each needs one more for what is loaded; all share one that is broadcast and one in between. More
    than the latency of an addition are not needed; where nothing is loaded, as many for each pipe.
    """
    most = machine.latency if loads else machine.latency * machine.pipes
    beside = 1 << (most.bit_length() - 1)
    while beside > 1 and rows * beside + beside + 2 > machine.registers:
        beside //= 2
    return beside


def interleave_count(machine: Machine, weight: float) -> int:
    """How many vectors to write out side by side of a body without sums that costs `weight`
    additions: enough that something starts while a chain as long as the latency waits.
    """
    beside = max_tile_columns(machine, 0)
    while beside > 1 and beside * weight > machine.latency**2 * machine.pipes:
        beside //= 2
    return beside


def max_row_sums(machine: Machine, each: int) -> int:
    """How many sums of rows, in lanes of `each` bytes, have registers together, four left for what
    is loaded and multiplied.
    """
    return (machine.registers - 4) * machine.bytes // each


def register_tiles(
    machine: Machine, each: int, count: int | None = None
) -> tuple[RegisterTile, ...]:
    """The tiles whose sums, `each` of them in a place, have registers; the cheapest first.

    ``count``: how many rows there are, where that is known.
    """
    most = min(machine.registers // each, count or machine.registers)
    return tuple(sorted(_tiles(machine, each, max(most, 1), count), key=lambda t: t.cost))


def best_register_tile(machine: Machine, each: int, count: int | None = None) -> RegisterTile:
    """The cheapest of ``tiles``: it computes most with what it loads."""
    return register_tiles(machine, each, count)[0]


def _tiles(machine: Machine, each: int, most: int, count: int | None) -> list[RegisterTile]:
    found = []
    for rows in range(1, most + 1):
        beside = max_tile_columns(machine, rows * each)
        fits = rows * each * beside + beside + 2 <= machine.registers
        if fits or rows == 1:
            alone = _cycles_per_step(machine, 1, beside, each)
            whole, rest = divmod(count or rows, rows)
            cycles = whole * _cycles_per_step(machine, rows, beside, each) + rest * alone
            found.append(RegisterTile(rows, beside, cycles / (whole * rows + rest) / beside))
    return found


def _cycles_per_step(machine: Machine, rows: int, beside: int, each: int) -> float:
    """One step of the sums of a tile: its additions and loads, or the wait for the last step."""
    return max((rows * beside * each + rows + beside) / machine.pipes, machine.latency)


def strip_length(cache: int, row: int) -> int:
    """How many rows of `row` bytes stay in a `cache` while other data passes through: as many as
    fill an eighth of it; a power of two.
    """
    return 1 << (max(cache // 8 // row, 1).bit_length() - 1)
