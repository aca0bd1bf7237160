"""The pass list: all passes in order, each with the reason for its position.

`transpile.pipeline.run_stages` runs each row as a stage, and verifies the kernel after it under
``TRANSPILE_CHECK`` (`loopir.ir_verifier`). `optimise` runs the list alone, for tests.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

from ..ir_traversal import contains, contains_nest
from ..lazy_dataclass import record
from ..machine_model import DEFAULT_MACHINE, Machine
from ..nodes import Check, If, Kernel, Loop, PredLoop, Store, VecLoop, While
from ..process.lazy_function import lazy_function
from .pass_conditions import (
    alternates,
    branches_in_loops,
    carries_bools,
    carries_indices,
    carries_low_bits,
    carries_values,
    chooses,
    contains_groups,
    converts_in_nests,
    counts_bits_in_nests,
    counts_in_lanes,
    divides,
    has_checks_or_roots,
    has_constant_trips,
    has_exits,
    has_vector_maps_in_loops,
    in_branches,
    masks_integers,
    owns_bools,
    reads_integers,
    selects,
    shifts_or_masks,
    stores_in_loops,
    widens_elements,
)

__all__ = ["PASS_LIST", "Pass", "numbered", "optimise", "pass_names", "run_pass"]


# -- The passes. Each is imported when it first runs

canonicalize_loops = lazy_function(__package__, "canonical.canonicalize_loops")
delinearize = lazy_function(__package__, "canonical.delinearize")
promote_f16 = lazy_function(__package__, "canonical.promote_f16")
simplify = lazy_function(__package__, "canonical.simplify")
check_elimination = lazy_function(__package__, "checks.check_elimination")
defer_overflow = lazy_function(__package__, "checks.defer_overflow")
demanded_bits = lazy_function(__package__, "checks.demanded_bits")
hoist_capacity = lazy_function(__package__, "checks.hoist_capacity")
hoist_checks = lazy_function(__package__, "checks.hoist_checks")
hoist_overflow = lazy_function(__package__, "checks.hoist_overflow")
inductive_ranges = lazy_function(__package__, "checks.inductive_ranges")
nest_ranges = lazy_function(__package__, "checks.nest_ranges")
range_checks = lazy_function(__package__, "checks.range_checks")
repeated_checks = lazy_function(__package__, "checks.repeated_checks")
version_small_elements = lazy_function(__package__, "checks.version_small_elements")
block_cache = lazy_function(__package__, "loops.block_cache")
block_rows = lazy_function(__package__, "loops.block_rows")
distribute = lazy_function(__package__, "loops.distribute")
fission = lazy_function(__package__, "loops.fission")
interchange_reductions = lazy_function(__package__, "loops.interchange_reductions")
jam = lazy_function(__package__, "loops.jam")
jam_rows = lazy_function(__package__, "loops.jam_rows")
partition_loops = lazy_function(__package__, "loops.partition_loops")
permute_loops = lazy_function(__package__, "loops.permute_loops")
permute_reductions = lazy_function(__package__, "loops.permute_reductions")
popcount_loops = lazy_function(__package__, "loops.popcount_loops")
split_at_pivot = lazy_function(__package__, "loops.split_at_pivot")
split_on_flag = lazy_function(__package__, "loops.split_on_flag")
unroll = lazy_function(__package__, "loops.unroll")
carry_indexed = lazy_function(__package__, "memory.carry_indexed")
compress_stores = lazy_function(__package__, "memory.compress_stores")
conditional_stores = lazy_function(__package__, "memory.conditional_stores")
dead_stores = lazy_function(__package__, "memory.dead_stores")
fixed_order_recurrences = lazy_function(__package__, "memory.fixed_order_recurrences")
load_elimination = lazy_function(__package__, "memory.load_elimination")
pack_bools = lazy_function(__package__, "memory.pack_bools")
pack_gathers = lazy_function(__package__, "memory.pack_gathers")
pack_operands = lazy_function(__package__, "memory.pack_operands")
promote = lazy_function(__package__, "memory.promote")
tabulate = lazy_function(__package__, "memory.tabulate")
unconditional_stores = lazy_function(__package__, "memory.unconditional_stores")
parallelize = lazy_function(__package__, "parallel.parallelize")
flatten_groups = lazy_function(__package__, "parallel.flatten_groups")
arg_reduction = lazy_function(__package__, "reduce.arg_reduction")
blocked_summation = lazy_function(__package__, "reduce.blocked_summation")
keep_fold_order = lazy_function(__package__, "reduce.keep_fold_order")
minmax_split = lazy_function(__package__, "reduce.minmax_split")
peel_store_forward = lazy_function(__package__, "reduce.peel_store_forward")
skip_blocks = lazy_function(__package__, "reduce.skip_blocks")
version_short_reductions = lazy_function(__package__, "reduce.version_short_reductions")
back_substitution = lazy_function(__package__, "scalar.back_substitution")
common_subexpressions = lazy_function(__package__, "scalar.common_subexpressions")
alternating_values = lazy_function(__package__, "scalar.alternating_values")
exit_values = lazy_function(__package__, "scalar.exit_values")
hoist = lazy_function(__package__, "scalar.hoist")
if_convert_scalar = lazy_function(__package__, "scalar.if_convert_scalar")
lower_selects = lazy_function(__package__, "scalar.lower_selects")
narrow_integers = lazy_function(__package__, "scalar.narrow_integers")
plain_subscripts = lazy_function(__package__, "scalar.plain_subscripts")
predictive_commoning = lazy_function(__package__, "scalar.predictive_commoning")
sink = lazy_function(__package__, "scalar.sink")
version_narrow_integers = lazy_function(__package__, "scalar.version_narrow_integers")
if_convert = lazy_function(__package__, "vector.if_convert")
narrow_counts = lazy_function(__package__, "vector.narrow_counts")
narrow_lanes = lazy_function(__package__, "vector.narrow_lanes")
vectorize = lazy_function(__package__, "vector.vectorize")
vectorize_divergent = lazy_function(__package__, "vector.vectorize_divergent")
vectorize_outer = lazy_function(__package__, "vector.vectorize_outer")
vectorize_search = lazy_function(__package__, "vector.vectorize_search")
version_dependences = lazy_function(__package__, "vector.version_dependences")


@record(frozen=True, slots=True, kw_only=True)
class Pass:
    """One invocation of a pass."""

    run: Callable[..., Kernel]  # returns the same object where it changes nothing
    reason: str  # why it stands at this position
    reorders: bool = False  # takes `reassociate`, since it may change the order of folds
    takes_machine: bool = False  # takes `machine`: registers and caches determine its tile sizes
    vectorizes: bool = False  # its result may have vector loops
    takes_private: bool = False  # takes `private`: the call's own arrays, unseen if it replays
    takes_blank: bool = False  # takes `blank`: the call's own arrays that start without values
    needs: tuple[Any, ...] = ()
    """Node types that must all occur in a kernel for the pass to change it; of a union, one of the
    types. The pass is not called for other kernels."""
    when: Callable[[Kernel], bool] | None = None
    """As `needs`: a condition that a kernel must meet for the pass to change it."""

    def may_change(self, kernel: Kernel) -> bool:
        """False if `kernel` contains nothing that the pass rewrites."""
        has_needed_nodes = all(contains(kernel, types) for types in self.needs)
        return has_needed_nodes and (self.when is None or self.when(kernel))

    @property
    def name(self) -> str:
        return self.run.__name__


PASS_LIST: tuple[Pass, ...] = (
    # From the kernel that lowering and fusion have made to vector code of abstract width (`W`).
    # A pass may stand here more than once; its invocations are called NAME@1, NAME@2 …
    Pass(
        run=canonicalize_loops,
        reason="all later passes assume loops over intervals and unique names",
    ),
    Pass(run=promote_f16, reason="no later pass and no target computes in a storage-only dtype"),
    Pass(
        run=demanded_bits, needs=(Check,), when=masks_integers,
        reason="no pass has concluded from a check yet what the values are; and simplify drops"
        " masks of 64 ones, which tell that higher bits are not used",
    ),
    Pass(
        run=simplify,
        reason="lowering emits redundant code; later passes match the simplest forms",
    ),
    Pass(
        run=hoist_capacity, needs=(Loop, Check, If),
        reason="an element that is appended in each iteration has a position by the iteration, so"
        " that loops may be permuted and vectorised",
    ),
    Pass(
        run=popcount_loops, needs=(Loop,), when=shifts_or_masks,
        reason="before unroll, which would replace short loops over positions of bits",
    ),
    Pass(
        run=unroll, when=has_constant_trips,
        reason="without its short inner loop, the loop around may be vectorised",
    ),
    Pass(run=simplify, reason="subscripts of the unrolled copies become constants"),
    Pass(run=delinearize, when=divides, reason="check_elimination then proves rows and columns"),
    Pass(
        run=check_elimination, when=has_checks_or_roots,
        reason="later passes need not preserve a check that is removed",
    ),
    Pass(
        run=simplify,
        reason="folds the conditions and lengths that check_elimination decided",
    ),
    Pass(
        run=unroll, when=has_constant_trips,
        reason="bodies are smaller without the checks that check_elimination has removed, and trip"
        " counts constant",
    ),
    Pass(run=simplify, reason="as after the first unroll"),
    Pass(
        run=popcount_loops, needs=(While,),
        reason="loops around are innermost once check_elimination has dropped what never fails",
    ),
    Pass(
        run=version_small_elements, needs=(Loop, Check), when=reads_integers,
        reason="bodies have no checks that others imply; before nests are split and permuted",
    ),
    Pass(
        run=nest_ranges, needs=(Check,), when=contains_nest,
        reason="check_elimination has dropped checks of other nests; partition_loops splits nests",
    ),
    Pass(
        run=partition_loops,
        reason="the interior loop has no position tests and is matched by later passes",
    ),
    Pass(
        run=unroll, when=has_constant_trips,
        reason="windows that partition_loops has freed of clamps have a constant length",
    ),
    Pass(run=simplify, reason="as after the first unroll"),
    Pass(
        run=fission, when=contains_nest, reorders=True, reason="permute_loops needs perfect nests",
    ),
    Pass(
        run=permute_loops, when=contains_nest, reorders=True,
        reason="promote keeps a sum in a register only if it is innermost",
    ),
    Pass(
        run=promote, when=stores_in_loops,
        reason="an element that a loop updates in place becomes an accumulator",
    ),
    Pass(
        run=popcount_loops, needs=(Loop,), when=counts_bits_in_nests,
        reason="after promote, a count in an array is an accumulator",
    ),
    Pass(
        run=conditional_stores, needs=(Loop, If), when=lambda k: in_branches(k, Store),
        reason="before load_elimination, which carries what each iteration stores",
    ),
    Pass(
        run=sink, needs=(If,),
        reason="before load_elimination, which takes stores that each iteration makes",
    ),
    Pass(
        run=unconditional_stores, needs=(Loop, If), when=lambda k: in_branches(k, Store),
        takes_private=True, reason="as sink, for elements that keep their value otherwise",
    ),
    Pass(
        run=load_elimination, when=stores_in_loops,
        reason="an element of the previous iteration becomes an accumulator",
    ),
    Pass(
        run=alternating_values, when=alternates,
        reason="as exit_values; branches by the parity are then tests of the position",
    ),
    Pass(
        run=exit_values,
        reason="an accumulator used only after its loop would block vectorisation",
    ),
    Pass(
        run=compress_stores, needs=(Loop, If), takes_blank=True,
        reason="an append counter is no recurrence that blocks vectorisation",
    ),
    Pass(
        run=common_subexpressions,
        reason="what a condition and the sides of its branch compute gets one name before it",
    ),
    Pass(
        run=check_elimination, needs=(Loop, Check, If), when=lambda k: in_branches(k, Check),
        reason="after common_subexpressions, a branch may tell of the value that it checks",
    ),
    Pass(
        run=repeated_checks, needs=(Check,),
        reason="equal values have one name by now; later passes match loops with one check of one",
    ),
    Pass(
        run=hoist_checks, needs=(Loop, Check),
        reason="equal checks share a name by now; later passes vectorise loops that only check",
    ),
    Pass(
        run=carry_indexed, when=carries_indices,
        reason="the loaded element has a name by now; arg_reduction wants no indexed loads",
    ),
    Pass(run=sink, needs=(If,), reason="a yielded value needs no masked store after if_convert"),
    Pass(
        run=split_on_flag, when=carries_bools, reorders=True,
        reason="an extremum guarded by a first-term flag is a reduction only after that term",
    ),
    Pass(
        run=minmax_split, needs=(Loop, If),
        reason="an `elif` chain is no reduction; arg_reduction then matches each extremum",
    ),
    Pass(
        run=arg_reduction, when=chooses, reorders=True,
        reason="an extremum whose mask updates other accumulators would block vectorisation",
    ),
    Pass(
        run=skip_blocks, when=chooses,
        reason="takes the extrema that arg_reduction has not matched",
    ),
    Pass(
        run=split_at_pivot, when=stores_in_loops,
        reason="an element that a loop may overwrite would block vectorisation",
    ),
    Pass(
        run=fixed_order_recurrences, when=carries_values, reorders=True,
        reason="after exit_values; before if_convert, which leaves loops that cannot be vectorised",
    ),
    Pass(run=if_convert, needs=(Loop, If), reason="vector loops have no branches", reorders=True),
    Pass(
        run=dead_stores,
        reason="after if_convert, stores that a branch overwrites are masked stores",
    ),
    Pass(run=simplify, reason="combines masks of nested branches, removes values of dead stores"),
    Pass(
        run=range_checks, needs=(Loop, Check),
        reason="before hoist_overflow, which splits the same loops once more",
    ),
    Pass(
        run=hoist_overflow, needs=(Loop, Check),
        reason="the loops that it creates are optimised by all later passes",
    ),
    Pass(
        run=tabulate, when=converts_in_nests,
        reason="after if_convert; before inductive_ranges, which makes no copies of these nests",
    ),
    Pass(
        run=inductive_ranges, needs=(Loop, Check),
        reason="after passes that need no copy of the loop, which may be vectorised without checks",
    ),
    Pass(
        run=version_dependences, when=stores_in_loops, reorders=True,
        reason="after inductive_ranges, whose copies have affine subscripts",
    ),
    Pass(
        run=if_convert, needs=(Loop, If), reorders=True,
        reason="the branches of loops that inductive_ranges has copied without checks",
    ),
    Pass(
        run=interchange_reductions, when=contains_nest,
        reason="blocking and vectorisation need loops with unit stride",
    ),
    Pass(
        run=permute_reductions, when=contains_nest, reorders=True,
        reason="after if_convert, conditional sums are reductions; hoist then sees the final loops",
    ),
    Pass(run=hoist, reason="invariant scalar code is cheaper than vector code in the loop"),
    Pass(
        run=common_subexpressions,
        reason="after if_convert, both sides of a branch are in one block",
    ),
    Pass(
        run=version_narrow_integers, needs=(Loop,), when=widens_elements,
        reason="before narrow_integers, which narrows the version for small values",
    ),
    Pass(
        run=narrow_integers,
        reason="the widest lanes determine a loop's width; proves many overflow checks redundant",
    ),
    Pass(
        run=vectorize_divergent, when=contains_nest, takes_machine=True, vectorizes=True,
        reason="takes nests with inner exits, which no other vectorising pass accepts",
    ),
    Pass(
        run=narrow_lanes, needs=(VecLoop,),
        reason="the widest lanes determine a loop's width; needs vectorised counters",
    ),
    Pass(
        run=predictive_commoning, needs=(While,),
        reason="after the lanes of divergent loops are final, their loop-carried values are, too",
    ),
    Pass(
        run=version_short_reductions, reorders=True, vectorizes=True,
        reason="decides which reductions one lane runs, before later passes reorder reductions",
    ),
    Pass(
        run=vectorize_outer, when=contains_nest, reorders=True, vectorizes=True,
        reason="before blocked_summation, which would split the reductions of these loops",
    ),
    Pass(
        run=vectorize_search, when=has_exits, vectorizes=True,
        reason="takes searches that are no reductions; vectorize takes the loops over its blocks",
    ),
    Pass(
        run=peel_store_forward, when=contains_nest, reorders=True,
        reason="the outer vector loops are chosen; before blocked_summation splits the sums",
    ),
    Pass(
        run=distribute, reorders=True, takes_machine=True,
        reason="the loops that remain scalar are known only now",
    ),
    Pass(
        run=defer_overflow, needs=(Loop, Check),
        reason="leaves reductions without checks for blocked_summation and vectorize",
    ),
    Pass(
        run=keep_fold_order, needs=(Loop,), reorders=True,
        reason="before blocked_summation, so that short sums are in no blocks; the loops that later"
        " passes leave alone are known",
    ),
    Pass(
        run=blocked_summation, reorders=True,
        reason="reductions are still scalar, so loops over blocks are ordinary scalar loops",
    ),
    Pass(
        run=vectorize, reorders=True, vectorizes=True,
        reason="every pass that makes loops vectorisable has run",
    ),
    Pass(
        run=narrow_counts, when=counts_in_lanes,
        reason="the widest lanes determine a loop's width; here its counter's lanes",
    ),
    Pass(
        run=pack_operands, when=contains_nest,
        reason="its row loops are jammed; its sums are too short for block_cache",
    ),
    Pass(
        run=pack_gathers, needs=(Loop, VecLoop), when=contains_nest,
        reason="as pack_operands, for a vector loop around the rows",
    ),
    Pass(
        run=block_cache, needs=(Loop, VecLoop), takes_machine=True,
        reason="jam then works on the rows of one strip",
    ),
    Pass(
        run=block_rows, when=contains_nest, takes_machine=True,
        reason="jam then works on the rows of one block",
    ),
    Pass(
        run=jam, takes_machine=True,
        reason="lanes are final, so fused reductions keep their order",
    ),
    Pass(
        run=jam_rows, when=has_vector_maps_in_loops, takes_machine=True,
        reason="takes rows without reductions, which jam leaves; then their loads are shared",
    ),
    Pass(
        run=back_substitution, needs=(Loop,), when=carries_low_bits,
        reason="the loops that are not vectorised by now remain scalar; their bodies are small yet",
    ),
    Pass(
        run=if_convert_scalar, needs=(If,), when=branches_in_loops,
        reason="the loops that are not vectorised by now remain scalar",
    ),
    Pass(run=common_subexpressions, reason="jammed iterations load the same elements"),
    Pass(run=simplify, reason="removes names that only scalar code used"),
    Pass(
        run=lower_selects, when=selects,
        reason="no other pass matches a blend; the values are final",
    ),
    Pass(
        run=pack_bools, when=owns_bools, takes_machine=True,
        reason="duplicates loops, so no pass after it should process both copies",
    ),
    Pass(
        run=plain_subscripts, needs=(Loop | While, Check),
        reason="simplify would make one condition of two; which loops are scalar is final",
    ),
    Pass(
        run=parallelize, needs=(Loop | VecLoop | PredLoop,), takes_private=True,
        reason="the loops are final: what it marks is what threads run, whatever made the loops",
    ),
    Pass(run=flatten_groups, when=contains_groups, reason="groups that threads share stay loops"),
)


def numbered(passes: Iterable[Pass]) -> list[str]:
    """The unique names of all invocations: ``NAME@N`` for the N-th one of a pass."""
    times: Counter[str] = Counter()
    names = []
    for step in passes:
        times[step.name] += 1
        names.append(f"{step.name}@{times[step.name]}")
    return names


def pass_names(words: Collection[str]) -> frozenset[str]:
    """The invocations of passes that `words` (``NAME`` or ``NAME@N``) mean.

    Raises ValueError for a word that means none.
    """
    invocations = numbered(PASS_LIST)
    names = dict.fromkeys(step.name for step in PASS_LIST)
    known = (*names, *invocations)
    for word in words:
        if word not in known:
            import difflib

            close = difflib.get_close_matches(word, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f" (known: {', '.join(names)})"
            raise ValueError(f"no pass {word!r}{hint}")
    return frozenset(n for n in invocations if n in words or n.partition("@")[0] in words)


def run_pass(
    step: Pass, kernel: Kernel, machine: Machine = DEFAULT_MACHINE, *, reassociate: bool = True,
    threads: int = 0, private: Collection[str] = (), blank: Collection[str] = (),
) -> Kernel:
    """`kernel` after the pass `step`, called with the arguments that its row asks for. The pass is
    not run, and `kernel` itself returned, if no node occurs that the pass could change
    (`Pass.may_change`), which saves the walk; and if the pass is `parallelize`, but only one thread
    may run the kernel. The stages of `transpile.pipeline` and `optimise` call this.

    ``machine``: whose registers and caches determine tile sizes. ``reassociate=False``: no float
    fold may get another order. ``threads``: how many may run the kernel; 0: any number.
    ``private``: the arrays that the call itself makes, which nobody sees if it is replayed.
    ``blank``: those of them whose elements have no values before the kernel stores to them.
    """
    if not step.may_change(kernel):
        return kernel
    if step.run is parallelize and threads == 1:
        return kernel
    given: tuple[tuple[str, bool, object], ...] = (
        ("reassociate", step.reorders, reassociate), ("machine", step.takes_machine, machine),
        ("private", step.takes_private, private), ("blank", step.takes_blank, blank),
    )
    arguments = {name: value for name, is_taken, value in given if is_taken}
    return step.run(kernel, **arguments)


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
        new = run_pass(step, kernel, machine, reassociate=reassociate)
        if new is not kernel and on_pass is not None:
            on_pass(step.name, new)
        kernel = new
    return kernel
