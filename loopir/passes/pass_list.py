"""The pass list: all passes in order, each with the reason for its position.

`optimise` runs it; the stages around it are in `transpile.pipeline`.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..lazy_dataclass import record
from ..machine_model import DEFAULT_MACHINE, Machine
from ..nodes import Kernel
from .canonical.canonicalize_loops import canonicalize_loops
from .canonical.promote_f16 import promote_f16
from .canonical.simplify import simplify
from .checks.check_elimination import check_elimination
from .checks.defer_overflow import defer_overflow
from .checks.hoist_checks import hoist_checks
from .checks.hoist_overflow import hoist_overflow
from .checks.range_checks import range_checks
from .loops.block_cache import block_cache
from .loops.block_rows import block_rows
from .loops.distribute import distribute
from .loops.fission import fission
from .loops.interchange import interchange
from .loops.jam import jam
from .loops.jam_rows import jam_rows
from .loops.partition_loops import partition_loops
from .loops.permute_loops import permute_loops
from .loops.split_at_pivot import split_at_pivot
from .loops.split_on_flag import split_on_flag
from .loops.unroll import unroll
from .memory.carry_indexed import carry_indexed
from .memory.compress_stores import compress_stores
from .memory.dead_stores import dead_stores
from .memory.load_elimination import load_elimination
from .memory.pack_bools import pack_bools
from .memory.pack_gathers import pack_gathers
from .memory.pack_operands import pack_operands
from .memory.promote import promote
from .reduce.arg_reduction import arg_reduction
from .reduce.blocked_summation import blocked_summation
from .reduce.minmax_split import minmax_split
from .reduce.peel_store_forward import peel_store_forward
from .reduce.skip_blocks import skip_blocks
from .reduce.version_short_reductions import version_short_reductions
from .scalar.common_subexpressions import common_subexpressions
from .scalar.exit_values import exit_values
from .scalar.hoist import hoist
from .scalar.if_convert_scalar import if_convert_scalar
from .scalar.lower_selects import lower_selects
from .scalar.narrow_integers import narrow_integers
from .scalar.predictive_commoning import predictive_commoning
from .scalar.sink import sink
from .vector.if_convert import if_convert
from .vector.narrow_counts import narrow_counts
from .vector.narrow_lanes import narrow_lanes
from .vector.vectorize import vectorize
from .vector.vectorize_divergent import vectorize_divergent
from .vector.vectorize_outer import vectorize_outer
from .vector.vectorize_search import vectorize_search

__all__ = ["PASS_LIST", "Pass", "optimise"]


@record(frozen=True, slots=True)
class Pass:
    """One step of the pass list.

    ``reason``: why it stands at this position. ``reorders``: it takes ``reassociate``, since it may
    change the order of folds. ``fits``: it takes ``machine``, whose registers and caches determine
    tile sizes.
    """

    run: Callable[..., Kernel]
    reason: str
    reorders: bool = False
    fits: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__


PASS_LIST = (
    Pass(canonicalize_loops, "all later passes assume loops over [0, n) and unique names"),
    Pass(promote_f16, "no later pass and no target computes in a storage-only dtype"),
    Pass(simplify, "lowering emits redundant code; later passes match the simplest forms"),
    Pass(unroll, "without its short inner loop, the loop around may be vectorised"),
    Pass(simplify, "subscripts of the unrolled copies become constants"),
    Pass(check_elimination, "later passes need not preserve a check that is removed"),
    Pass(simplify, "folds the conditions that check_elimination decided"),
    Pass(partition_loops, "the interior loop has no position tests and is matched by later passes"),
    Pass(fission, "permute_loops needs perfect nests", reorders=True),
    Pass(permute_loops, "promote keeps a sum in a register only if it is innermost", reorders=True),
    Pass(promote, "an element that every iteration updates becomes an accumulator"),
    Pass(load_elimination, "an element of the previous iteration becomes an accumulator"),
    Pass(exit_values, "an accumulator used only after its loop would block vectorisation"),
    Pass(compress_stores, "an append counter is no recurrence that blocks vectorisation"),
    Pass(common_subexpressions, "what both sides of a branch compute is computed before it"),
    Pass(
        hoist_checks,
        "after common_subexpressions, equal checks share a name; later passes vectorise loops that"
        " only check",
    ),
    Pass(
        carry_indexed,
        "after common_subexpressions, the loaded element has a name; arg_reduction needs extrema"
        " without indexed loads",
    ),
    Pass(sink, "a yielded value needs no masked store after if_convert"),
    Pass(
        split_on_flag,
        "an extremum guarded by a first-term flag is a reduction only after that term",
        reorders=True,
    ),
    Pass(minmax_split, "an `elif` chain is no reduction; arg_reduction then matches each extremum"),
    Pass(
        arg_reduction,
        "an extremum whose mask updates other accumulators would block vectorisation",
        reorders=True,
    ),
    Pass(skip_blocks, "takes the extrema that arg_reduction has not matched"),
    Pass(split_at_pivot, "an element that a loop may overwrite would block vectorisation"),
    Pass(if_convert, "vector loops have no branches", reorders=True),
    Pass(dead_stores, "after if_convert, stores that a branch overwrites are masked stores"),
    Pass(simplify, "combines masks of nested branches, removes values of dead stores"),
    Pass(range_checks, "before hoist_overflow, which splits the same loops once more"),
    Pass(hoist_overflow, "the loops that it creates are optimised by all later passes"),
    Pass(interchange, "blocking and vectorisation need loops with unit stride"),
    Pass(hoist, "invariant scalar code is cheaper than vector code in the loop"),
    Pass(common_subexpressions, "after if_convert, both sides of a branch are in one block"),
    Pass(
        narrow_integers,
        "the widest lanes determine a loop's width; proves many overflow checks redundant",
    ),
    Pass(
        vectorize_divergent,
        "takes nests with inner exits, which no other vectorising pass accepts",
        fits=True,
    ),
    Pass(narrow_lanes, "the widest lanes determine a loop's width; needs vectorised counters"),
    Pass(
        predictive_commoning,
        "after the lanes of divergent loops are final, their loop-carried values are, too",
    ),
    Pass(
        version_short_reductions,
        "decides which reductions one lane runs, before later passes reorder reductions",
        reorders=True,
    ),
    Pass(
        vectorize_outer,
        "before blocked_summation, which would split the reductions of these loops",
        reorders=True,
    ),
    Pass(
        vectorize_search,
        "takes searches that are no reductions; vectorize then takes the loops over its blocks",
    ),
    Pass(
        peel_store_forward,
        "the outer vector loops are chosen; before blocked_summation splits the sums",
        reorders=True,
    ),
    Pass(distribute, "the loops that remain scalar are known only now", reorders=True, fits=True),
    Pass(
        defer_overflow,
        "leaves reductions without checks for blocked_summation and vectorize",
    ),
    Pass(
        blocked_summation,
        "reductions are still scalar, so loops over blocks are ordinary scalar loops",
        reorders=True,
    ),
    Pass(vectorize, "every pass that makes loops vectorisable has run", reorders=True),
    Pass(narrow_counts, "the widest lanes determine a loop's width; here its counter's lanes"),
    Pass(pack_operands, "its row loops are jammed; its sums are too short for block_cache"),
    Pass(pack_gathers, "as pack_operands, for a vector loop around the rows"),
    Pass(block_cache, "jam then works on the rows of one strip", fits=True),
    Pass(block_rows, "jam then works on the rows of one block", fits=True),
    Pass(jam, "lanes are final, so fused reductions keep their order", fits=True),
    Pass(
        jam_rows,
        "takes rows without reductions, which jam leaves; common_subexpressions shares their loads",
        fits=True,
    ),
    Pass(if_convert_scalar, "the loops that are not vectorised by now remain scalar"),
    Pass(common_subexpressions, "jammed iterations load the same elements"),
    Pass(simplify, "removes names that only scalar code used"),
    Pass(lower_selects, "no other pass matches a blend; the values are final"),
    Pass(pack_bools, "duplicates loops, so no pass after it should process both copies", fits=True),
)


def optimise(
    kernel: Kernel,
    machine: Machine = DEFAULT_MACHINE,
    *,
    reassociate: bool = True,
    on_pass: Callable[[str, Kernel], None] | None = None,
) -> Kernel:
    """Run all passes on `kernel`: the result is vector code of abstract width, tiled for `machine`.

    ``reassociate=False`` keeps float folds in Python's order. ``on_pass(name, kernel)`` is called
    after each pass that changed the kernel.
    """
    for step in PASS_LIST:
        run = partial(step.run, reassociate=reassociate) if step.reorders else step.run
        run = partial(run, machine=machine) if step.fits else run
        new = run(kernel)
        if new is not kernel and on_pass is not None:
            on_pass(step.name, new)
        kernel = new
    return kernel
