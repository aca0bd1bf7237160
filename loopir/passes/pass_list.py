"""Pass list: all passes over Loop IR in order, each with the reason for its place."""
from __future__ import annotations

from collections.abc import Callable

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

__all__ = ["PASS_LIST", "Pass", "optimise", "run_pass"]


@record(frozen=True, slots=True, kw_only=True)
class Pass:
    """One invocation of a pass, and the reason why it stands where it does.

    ``reorders``: it takes ``reassociate``, since it may change the order of reductions. ``fits``:
    it takes ``machine``, since it cuts loops to fit registers and caches. ``vectorizes``: its
    result may have vector loops.
    """

    run: Callable[..., Kernel]
    reason: str
    reorders: bool = False
    fits: bool = False
    vectorizes: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__


PASS_LIST = (
    Pass(
        run=canonicalize_loops,
        reason="all other passes handle only loops over [0, n) with step 1",
    ),
    Pass(
        run=promote_f16,
        reason="no other pass and no target computes in a dtype that is only for storage",
    ),
    Pass(
        run=simplify,
        reason="lowering writes every form in full; the other passes match the simplest form",
    ),
    Pass(
        run=unroll,
        reason="a loop around a tiny loop can be vectorized once the tiny one is written out",
    ),
    Pass(run=simplify, reason="subscripts of the unrolled copies become constants"),
    Pass(run=check_elimination, reason="a check that is removed needs no code in the passes below"),
    Pass(
        run=simplify,
        reason="removes the branches whose conditions check_elimination has decided",
    ),
    Pass(
        run=partition_loops,
        reason="the interior loops, without position tests, are plain nests to all passes below",
    ),
    Pass(run=fission, reason="permute_loops handles only perfect nests", reorders=True),
    Pass(
        run=permute_loops, reorders=True,
        reason="a sum kept in memory can be promoted only if its loop is the innermost",
    ),
    Pass(
        run=promote,
        reason="an element that each iteration updates is a reduction once it is a scalar",
    ),
    Pass(
        run=load_elimination,
        reason="the element of the previous iteration is an accumulator once it is a scalar",
    ),
    Pass(
        run=exit_values,
        reason="a scalar that is read only after its loop no longer prevents vectorization",
    ),
    Pass(
        run=compress_stores,
        reason="a store counter that nothing else reads is then no recurrence",
    ),
    Pass(
        run=common_subexpressions,
        reason="moves what both sides of a branch compute to before the branch",
    ),
    Pass(
        run=hoist_checks,
        reason="equal checks are one by now; loops of checks alone can be vectorized",
    ),
    Pass(
        run=carry_indexed,
        reason="equal loads are one by now; arg_reduction needs a loop without indexed loads",
    ),
    Pass(run=sink, reason="a value that both sides write becomes a select, which needs no mask"),
    Pass(
        run=split_on_flag, reorders=True,
        reason="a reduction that waits for its first term is one only in the second loop",
    ),
    Pass(
        run=minmax_split,
        reason="an `elif` is no reduction; arg_reduction can match the two that it becomes",
    ),
    Pass(
        run=arg_reduction, reorders=True,
        reason="an extremum that carries other values along cannot be vectorized",
    ),
    Pass(run=skip_blocks, reason="takes the extrema that are left, whose positions nothing reads"),
    Pass(
        run=split_at_pivot,
        reason="an element that a loop both reads and may write prevents vectorization",
    ),
    Pass(run=if_convert, reason="vector code has no branches", reorders=True),
    Pass(
        run=dead_stores,
        reason="stores that a branch overwrites are masked stores of one block by now",
    ),
    Pass(
        run=simplify,
        reason="simplifies the masks of nested branches, and values that dead stores had used",
    ),
    Pass(
        run=range_checks,
        reason="it divides loops into blocks, which hoist_overflow divides once more",
    ),
    Pass(run=hoist_overflow, reason="the loops that it makes are then handled like all others"),
    Pass(
        run=interchange,
        reason="blocking and vectorization need innermost loops over contiguous memory",
    ),
    Pass(
        run=hoist,
        reason="an invariant costs less as a scalar before the loop than as a vector in it",
    ),
    Pass(
        run=common_subexpressions,
        reason="after if_convert both sides of a branch stand in one block",
    ),
    Pass(
        run=narrow_integers,
        reason="the widest lanes of a loop set how many it has; many checks become trivial",
    ),
    Pass(
        run=vectorize_divergent, fits=True, vectorizes=True,
        reason="takes the loops whose iterations end independently, which no other pass vectorizes",
    ),
    Pass(run=narrow_lanes, reason="the counters of divergent loops would set the number of lanes"),
    Pass(
        run=predictive_commoning,
        reason="which values lanes hold is settled, so equal ones of two iterations show",
    ),
    Pass(
        run=version_short_reductions, reorders=True, vectorizes=True,
        reason="the trip counts of reductions are settled, and their order is not",
    ),
    Pass(
        run=vectorize_outer, reorders=True, vectorizes=True,
        reason="takes loops whose reductions the blocking passes below would cut",
    ),
    Pass(
        run=vectorize_search, vectorizes=True,
        reason="takes searches that are no reductions; the blocking passes see its blocks",
    ),
    Pass(
        run=peel_store_forward, reorders=True,
        reason="which loops become vectors is settled, and how they are blocked is not",
    ),
    Pass(
        run=distribute, reorders=True, fits=True,
        reason="which loops stay scalar is known only now",
    ),
    Pass(
        run=defer_overflow,
        reason="leaves reductions without checks inside an ordinary loop over blocks",
    ),
    Pass(
        run=blocked_summation, reorders=True,
        reason="reductions are still scalar, so their blocks are ordinary loops",
    ),
    Pass(
        run=vectorize, reorders=True, vectorizes=True,
        reason="everything that it needs has been done",
    ),
    Pass(run=narrow_counts, reason="lanes that count would set the number of lanes of the loop"),
    Pass(
        run=pack_operands,
        reason="jam needs its contiguous rows, and its reductions are too short for block_cache",
    ),
    Pass(
        run=pack_gathers,
        reason="vectors along an outer loop have no rows; its reductions are short as well",
    ),
    Pass(run=block_cache, reason="jam works on the rows of one strip", fits=True),
    Pass(
        run=block_rows, fits=True,
        reason="jam works on the rows of one strip, of matrices combined row by row as well",
    ),
    Pass(run=jam, reason="the lanes are settled, so no reduction changes its order", fits=True),
    Pass(
        run=jam_rows, fits=True,
        reason="takes stencil rows, which have no reductions; the next pass merges their loads",
    ),
    Pass(
        run=if_convert_scalar,
        reason="which loops are vectors is settled: the others stay scalar",
    ),
    Pass(
        run=common_subexpressions,
        reason="iterations that jam has put side by side load the same elements",
    ),
    Pass(run=simplify, reason="removes names that only the scalar form needed"),
    Pass(
        run=lower_selects,
        reason="no other pass knows the form that it makes, and names are settled",
    ),
    Pass(
        run=pack_bools, fits=True,
        reason="it makes copies of loops, which no other pass has to see",
    ),
)


def run_pass(
    step: Pass, kernel: Kernel, machine: Machine = DEFAULT_MACHINE, *, reassociate: bool = True
) -> Kernel:
    """`kernel` after one pass, which is given what its row says that it takes."""
    given: dict[str, object] = {}
    if step.reorders:
        given["reassociate"] = reassociate
    if step.fits:
        given["machine"] = machine
    return step.run(kernel, **given)


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
        new = run_pass(step, kernel, machine, reassociate=reassociate)
        if new is not kernel and on_pass is not None:
            on_pass(step.name, new)
        kernel = new
    return kernel
