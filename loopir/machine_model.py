"""Machine model: registers, latencies, caches; the tile sizes and interleaving that fit them.

No instruction set is named here: `targets` fills in the numbers; passes marked ``takes_machine`` in
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
    """The parameters of a core, as `targets.isa.target.Target.model` fills them in for a target,
    and `targets.build.machine_record.fitted` for the machine at hand. They decide tile sizes and
    loop shapes, never the order of a fold: results have the same bits on every machine.
    """

    registers: int = 16  # vector registers
    bytes: int = 32  # of one vector register
    latency: int = 4  # cycles from an addition to its use
    pipes: int = 2  # additions issued per cycle
    caches: tuple[int, int, int] = (32 << 10, 512 << 10, 16 << 20)  # bytes of L1, L2 and L3

    @property
    def streamed_bytes(self) -> int:
        """Bytes of a result from which on it goes past the caches: half of the last one."""
        return self.caches[2] // 2


DEFAULT_MACHINE = Machine()
"""Typical values of current cores."""


@record(frozen=True, slots=True)
class RegisterTile:
    """A block of results that is computed at once, with its sums in registers.

    `jam` takes ``rows`` from it, `block_cache` also ``columns``. The emitted code may have another
    number of columns: `vector_cost_model.registers_per_group` computes it after all passes, from
    the loop as it is then, by the same formula (`max_tile_columns`).
    """

    rows: int  # iterations of an outer loop
    columns: int  # vectors side by side in each row
    cost: float  # cycles for one vector of the result and one step of its sum

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}: {self.cost:.3g}"


def max_tile_columns(machine: Machine, rows: int, *, loads: bool = True) -> int:
    """The number of columns, vectors side by side, of a tile with `rows` accumulators in each
    column: a power of two.

    It starts as the largest power of two up to ``latency``: while an addition of one column is
    waited for, those of the others are issued, one a cycle. Without loads all pipes issue
    additions, so the limit is ``latency * pipes``. It is halved until the registers suffice: each
    column needs `rows` accumulators and one register for a load; all columns share two, for a
    broadcast and for a temporary.

        16 registers, latency 4, 2 pipes: 4 columns for 2 rows (4 * 3 + 2 = 14 registers); 2 for 6
    """
    limit = machine.latency if loads else machine.latency * machine.pipes
    vectors = 1 << (limit.bit_length() - 1)
    while vectors > 1 and rows * vectors + vectors + 2 > machine.registers:
        vectors //= 2
    return vectors


def interleave_count(machine: Machine, weight: float) -> int:
    """How many vectors to interleave in a body without sums that costs `weight` additions: enough
    to fill the pipes while an operation waits for another one.

    It starts as `max_tile_columns` of no accumulators, and is halved until all pipes can issue the
    additions of the group, ``vectors * weight``, in ``latency**2`` cycles (a rule of thumb: the
    time of a chain of ``latency`` dependent additions). A longer body fills the pipes by itself.

        latency 4, 2 pipes: 4 vectors up to weight 8, 2 up to weight 16, else 1
    """
    vectors = max_tile_columns(machine, 0)
    while vectors > 1 and vectors * weight > machine.latency**2 * machine.pipes:
        vectors //= 2
    return vectors


def max_row_sums(machine: Machine, sum_bytes: int) -> int:
    """How many row sums, in lanes of `sum_bytes` bytes each, fit in registers; four registers are
    kept for operands.
    """
    return (machine.registers - 4) * machine.bytes // sum_bytes


def register_tiles(
    machine: Machine, sums_per_element: int, max_row_count: int | None = None
) -> tuple[RegisterTile, ...]:
    """The tiles whose accumulators, `sums_per_element` for each element, fit in registers, the
    cheapest first. ``max_row_count``: the largest number of rows that the loop may have; None: not
    known.
    """
    max_rows = min(machine.registers // sums_per_element, max_row_count or machine.registers)
    tiles = _tiles(machine, sums_per_element, max(max_rows, 1), max_row_count)
    return tuple(sorted(tiles, key=lambda t: t.cost))


def best_register_tile(
    machine: Machine, sums_per_element: int, max_row_count: int | None = None
) -> RegisterTile:
    """The tile with the fewest cycles for one vector of the result (`RegisterTile.cost`).

        16 registers, latency 4, 2 pipes, one sum an element: 6 rows x 2 columns. Its 12 sums, 2
        loads and a broadcast fit in registers; a step takes (12 additions + 8 loads) / 2 pipes = 10
        cycles for 12 vectors of results

    Each addition to a sum waits for the one before, so a tile must have enough sums to fill the
    pipes meanwhile; and a larger tile shares each load among more sums. If `max_row_count` tells
    how many rows there are, the cost includes the rows that remain after full tiles.
    ``sums_per_element``: how many sums the loop has for one element of the result.
    """
    return register_tiles(machine, sums_per_element, max_row_count)[0]


def _tiles(
    machine: Machine, sums_per_element: int, max_rows: int, max_row_count: int | None
) -> list[RegisterTile]:
    """All tiles of up to `max_rows` rows that fit in registers, and in any case one with one row.
    The cost of the rows that remain after full tiles is included.
    """
    tiles = []
    for rows in range(1, max_rows + 1):
        vectors = max_tile_columns(machine, rows * sums_per_element)
        fits = rows * sums_per_element * vectors + vectors + 2 <= machine.registers
        if fits or rows == 1:
            cycles_of_one_row = _cycles_per_step(machine, 1, vectors, sums_per_element)
            full_tiles, remaining_rows = divmod(max_row_count or rows, rows)
            cycles = (
                full_tiles * _cycles_per_step(machine, rows, vectors, sums_per_element)
                + remaining_rows * cycles_of_one_row
            )
            tiles.append(
                RegisterTile(rows, vectors, cycles / (full_tiles * rows + remaining_rows) / vectors)
            )
    return tiles


def _cycles_per_step(machine: Machine, rows: int, vectors: int, sums_per_element: int) -> float:
    """Cycles of one step of the sums of a tile of `rows` times `vectors`: those in which the pipes
    issue its additions and loads, but at least the latency of an addition, for which the next step
    waits.
    """
    return max(
        (rows * vectors * sums_per_element + rows + vectors) / machine.pipes, machine.latency
    )


def strip_length(cache: int, bytes_per_iteration: int) -> int:
    """The length of a strip: how many iterations, each of which uses `bytes_per_iteration` bytes
    (of a panel, say), fill an eighth of a cache of `cache` bytes, as a power of two, at least 1.

        strip_length(512 << 10, 64) == 1024       65,536 bytes, 64 for each iteration

    An eighth stays in the cache while other data streams through it.
    """
    return 1 << (max(cache // 8 // bytes_per_iteration, 1).bit_length() - 1)
