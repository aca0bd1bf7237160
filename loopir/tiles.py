"""How much of a nest a machine takes at once: register tiles, and strips that fit a cache."""
from __future__ import annotations

from .machine import Machine
from .record import record

__all__ = ["Tile", "abreast", "best_tile", "columns", "rows_abreast", "strip_length", "tiles"]


@record(frozen=True, slots=True)
class Tile:
    """``rows`` iterations of an outer loop, each with ``columns`` vectors side by side; ``cost``:
    cycles for a vector of the result and one step of its sum.
    """

    rows: int
    columns: int
    cost: float

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}: {self.cost:.3g}"


def columns(machine: Machine, rows: int, *, loads: bool = True) -> int:
    """How many vectors side by side run a loop that carries `rows` of each: as fit in registers.

    Each needs one more for what is loaded; all share one that is broadcast and one in between. More
    than the latency of an addition are not needed; where nothing is loaded, as many for each pipe.
    """
    most = machine.latency if loads else machine.latency * machine.pipes
    beside = 1 << (most.bit_length() - 1)
    while beside > 1 and rows * beside + beside + 2 > machine.registers:
        beside //= 2
    return beside


def abreast(machine: Machine, weight: float) -> int:
    """How many vectors to write out side by side of a body without sums that costs `weight`
    additions: enough that something starts while a chain as long as the latency waits.
    """
    beside = columns(machine, 0)
    while beside > 1 and beside * weight > machine.latency**2 * machine.pipes:
        beside //= 2
    return beside


def rows_abreast(machine: Machine, each: int) -> int:
    """How many sums of rows, in lanes of `each` bytes, have registers together, four left for what
    is loaded and multiplied.
    """
    return (machine.registers - 4) * machine.bytes // each


def tiles(machine: Machine, each: int, count: int | None = None) -> tuple[Tile, ...]:
    """The tiles whose sums, `each` of them in a place, have registers; the cheapest first.

    ``count``: how many rows there are, where that is known.
    """
    most = min(machine.registers // each, count or machine.registers)
    return tuple(sorted(_tiles(machine, each, max(most, 1), count), key=lambda t: t.cost))


def best_tile(machine: Machine, each: int, count: int | None = None) -> Tile:
    """The cheapest of ``tiles``: it computes most with what it loads."""
    return tiles(machine, each, count)[0]


def _tiles(machine: Machine, each: int, most: int, count: int | None) -> list[Tile]:
    found = []
    for rows in range(1, most + 1):
        beside = columns(machine, rows * each)
        fits = rows * each * beside + beside + 2 <= machine.registers
        if fits or rows == 1:
            alone = _cycles(machine, 1, beside, each)
            whole, rest = divmod(count or rows, rows)
            cycles = whole * _cycles(machine, rows, beside, each) + rest * alone
            found.append(Tile(rows, beside, cycles / (whole * rows + rest) / beside))
    return found


def _cycles(machine: Machine, rows: int, beside: int, each: int) -> float:
    """One step of the sums of a tile: its additions and loads, or the wait for the last step."""
    return max((rows * beside * each + rows + beside) / machine.pipes, machine.latency)


def strip_length(cache: int, row: int) -> int:
    """How many rows of `row` bytes stay in a `cache` while other data passes through: as many as
    fill an eighth of it; a power of two.
    """
    return 1 << (max(cache // 8 // row, 1).bit_length() - 1)
