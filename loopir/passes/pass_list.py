"""The pass list: all passes in order, each with the reason why it stands there."""
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
    """One step. ``reorders``: it takes ``reassociate``, since it may change the order of folds.
    ``fits``: it takes ``machine``, by whose registers and caches it cuts loops.
    """

    run: Callable[..., Kernel]
    reason: str
    reorders: bool = False
    fits: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__


PASS_LIST = (
    Pass(canonicalize_loops, "the others know one kind of loop"),
    Pass(promote_f16, "no other pass, and no target, computes in what is merely stored"),
    Pass(simplify, "lowering writes plainly; what it wrote is recognised in its simplest form"),
    Pass(unroll, "a loop around a tiny one can then be vectorised"),
    Pass(simplify, "subscripts of the copies become constants"),
    Pass(check_elimination, "a check that is gone keeps nothing in its place"),
    Pass(simplify, "what it has decided"),
    Pass(partition_loops, "loops without tests are nests like any other to all that follow"),
    Pass(fission, "permute knows only loops directly inside one another", reorders=True),
    Pass(permute_loops, "a sum in memory has a register only where it is inmost", reorders=True),
    Pass(promote, "an element that each iteration updates is a fold once it has a name"),
    Pass(
        load_elimination, "an element of the iteration before is an accumulator once it has a name"
    ),
    Pass(exit_values, "a name that lives on after its loop is no obstacle to vectors"),
    Pass(compress_stores, "a count that nothing asks for is no recurrence"),
    Pass(common_subexpressions, "what both sides of a branch compute is computed before it"),
    Pass(
        hoist_checks,
        "what is checked twice has one name by now; vectors are for loops that only check",
    ),
    Pass(
        carry_indexed,
        "what is loaded anyway has one name by now; an extremum has no loads in the way",
    ),
    Pass(sink, "a value that is chosen needs no mask"),
    Pass(
        split_on_flag,
        "a fold that waits for its first term is none until it has one",
        reorders=True,
    ),
    Pass(minmax_split, "an `elif` is no fold; what it looks at, places may find a place for"),
    Pass(arg_reduction, "an extremum that others follow is none to vectors", reorders=True),
    Pass(skip_blocks, "the extrema that are left are no folds, and nobody waits for their places"),
    Pass(split_at_pivot, "an element that a loop may write keeps it from vectors"),
    Pass(if_convert, "vectors have no branches", reorders=True),
    Pass(dead_stores, "what a branch overwrites is under a mask by now"),
    Pass(simplify, "masks of nested branches, and names of what is not stored"),
    Pass(range_checks, "what it divides a loop by, the next pass divides once more"),
    Pass(hoist_overflow, "its loops are to be the others'"),
    Pass(interchange, "blocks and vectors are for loops that walk memory"),
    Pass(hoist, "scalar code outside a loop is cheaper than vector code in it"),
    Pass(common_subexpressions, "after if-conversion both sides stand in one block"),
    Pass(
        narrow_integers,
        "the width of a loop is that of its widest lanes, and many a check asks nothing",
    ),
    Pass(
        vectorize_divergent,
        "it takes what others leave alone, as each iteration ends by itself",
        fits=True,
    ),
    Pass(narrow_lanes, "the width of a loop is that of its widest lanes, and these count"),
    Pass(
        predictive_commoning,
        "what lanes hold is settled, and with it what is the same a turn later",
    ),
    Pass(
        version_short_reductions,
        "what a fold is left to is settled before its order is",
        reorders=True,
    ),
    Pass(vectorize_outer, "it takes the loops whose folds tile would cut", reorders=True),
    Pass(vectorize_search, "what is left of a search when it is no fold; tile sees its blocks"),
    Pass(
        peel_store_forward,
        "which loops are vectors is settled, and their blocks are not",
        reorders=True,
    ),
    Pass(distribute, "only now is known which loops stay scalar", reorders=True, fits=True),
    Pass(
        defer_overflow,
        "what it leaves are folds without checks, and a loop like any other around them",
    ),
    Pass(
        blocked_summation,
        "folds are still scalar, so blocks of them are loops like any other",
        reorders=True,
    ),
    Pass(vectorize, "everything is in place", reorders=True),
    Pass(narrow_counts, "the width of a loop is that of its widest lanes, which were its count's"),
    Pass(pack_operands, "its rows are for jam, and its sums too short for strips"),
    Pass(pack_gathers, "vectors around a loop have no rows, and here too the sums are short"),
    Pass(block_cache, "jam is for the rows of one strip", fits=True),
    Pass(block_rows, "jam is for the rows of one strip, here too", fits=True),
    Pass(jam, "what the lanes are is settled, so no fold changes its order", fits=True),
    Pass(jam_rows, "these have no folds, which jam is for; the next shares their loads", fits=True),
    Pass(if_convert_scalar, "what lanes hold is settled: the loops that are left stay scalar"),
    Pass(common_subexpressions, "iterations side by side load the same"),
    Pass(simplify, "names that only scalar code needed"),
    Pass(lower_selects, "no other pass knows them, and names are settled"),
    Pass(pack_bools, "no other pass needs to see a loop twice", fits=True),
)


def optimise(
    kernel: Kernel,
    machine: Machine = DEFAULT_MACHINE,
    *,
    reassociate: bool = True,
    on_pass: Callable[[str, Kernel], None] | None = None,
) -> Kernel:
    """`kernel` through all passes: vector code of abstract width, in tiles that fit `machine`.

    ``reassociate=False`` keeps float folds in Python's order. ``on_pass(name, kernel)`` is called
    after each pass that changed something.
    """
    for step in PASS_LIST:
        run = partial(step.run, reassociate=reassociate) if step.reorders else step.run
        run = partial(run, machine=machine) if step.fits else run
        new = run(kernel)
        if new is not kernel and on_pass is not None:
            on_pass(step.name, new)
        kernel = new
    return kernel
