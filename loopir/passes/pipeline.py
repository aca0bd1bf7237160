"""The passes in order, each with the reason why it stands there."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..machine import COMMON, Machine
from ..nodes import Kernel
from ..record import record
from .abreast import abreast
from .ahead import ahead
from .appends import appends
from .bits import bits
from .blends import blends
from .block import block
from .branchless import branchless
from .canonical import canonical
from .carry import carry
from .counts import counts
from .dead_stores import dead_stores
from .distribute import distribute
from .escape import escape
from .extremes import extremes
from .fission import fission
from .gathered import gathered
from .halves import halves
from .hoist import hoist
from .if_convert import if_convert
from .interchange import interchange
from .interior import interior
from .jam import jam
from .last_value import last_value
from .leader import leader
from .narrow import narrow
from .pack import pack
from .permute import permute
from .pivot import pivot
from .places import places
from .promote import promote
from .proved import proved
from .recall import recall
from .recent import recent
from .reuse import reuse
from .room import room
from .rows import rows
from .search import search
from .short_folds import short_folds
from .simplify import simplify
from .sink import sink
from .split import split
from .sums import sums
from .thin import thin
from .tile import tile
from .two_sided import two_sided
from .unbeaten import unbeaten
from .unroll import unroll
from .vectorize import vectorize
from .vectorize_outer import vectorize_outer

__all__ = ["PIPELINE", "Pass", "optimise"]


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


PIPELINE = (
    Pass(canonical, "the others know one kind of loop"),
    Pass(halves, "no other pass, and no target, computes in what is merely stored"),
    Pass(simplify, "lowering writes plainly; what it wrote is recognised in its simplest form"),
    Pass(unroll, "a loop around a tiny one can then be vectorised"),
    Pass(simplify, "subscripts of the copies become constants"),
    Pass(proved, "a check that is gone keeps nothing in its place"),
    Pass(simplify, "what it has decided"),
    Pass(interior, "loops without tests are nests like any other to all that follow"),
    Pass(fission, "permute knows only loops directly inside one another", reorders=True),
    Pass(permute, "a sum in memory has a register only where it is inmost", reorders=True),
    Pass(promote, "an element that each iteration updates is a fold once it has a name"),
    Pass(carry, "an element of the iteration before is an accumulator once it has a name"),
    Pass(last_value, "a name that lives on after its loop is no obstacle to vectors"),
    Pass(appends, "a count that nothing asks for is no recurrence"),
    Pass(reuse, "what both sides of a branch compute is computed before it"),
    Pass(ahead, "what is checked twice has one name by now; vectors are for loops that only check"),
    Pass(leader, "what is loaded anyway has one name by now; an extremum has no loads in the way"),
    Pass(sink, "a value that is chosen needs no mask"),
    Pass(split, "a fold that waits for its first term is none until it has one", reorders=True),
    Pass(two_sided, "an `elif` is no fold; what it looks at, places may find a place for"),
    Pass(places, "an extremum that others follow is none to vectors", reorders=True),
    Pass(unbeaten, "the extrema that are left are no folds, and nobody waits for their places"),
    Pass(pivot, "an element that a loop may write keeps it from vectors"),
    Pass(if_convert, "vectors have no branches", reorders=True),
    Pass(dead_stores, "what a branch overwrites is under a mask by now"),
    Pass(simplify, "masks of nested branches, and names of what is not stored"),
    Pass(extremes, "what it divides a loop by, the next pass divides once more"),
    Pass(room, "its loops are to be the others'"),
    Pass(interchange, "blocks and vectors are for loops that walk memory"),
    Pass(hoist, "scalar code outside a loop is cheaper than vector code in it"),
    Pass(reuse, "after if-conversion both sides stand in one block"),
    Pass(thin, "the width of a loop is that of its widest lanes, and many a check asks nothing"),
    Pass(escape, "it takes what others leave alone, as each iteration ends by itself", fits=True),
    Pass(narrow, "the width of a loop is that of its widest lanes, and these count"),
    Pass(recall, "what lanes hold is settled, and with it what is the same a turn later"),
    Pass(short_folds, "what a fold is left to is settled before its order is", reorders=True),
    Pass(vectorize_outer, "it takes the loops whose folds tile would cut", reorders=True),
    Pass(search, "what is left of a search when it is no fold; tile sees its blocks"),
    Pass(recent, "which loops are vectors is settled, and their blocks are not", reorders=True),
    Pass(distribute, "only now is known which loops stay scalar", reorders=True, fits=True),
    Pass(sums, "what it leaves are folds without checks, and a loop like any other around them"),
    Pass(tile, "folds are still scalar, so blocks of them are loops like any other", reorders=True),
    Pass(vectorize, "everything is in place", reorders=True),
    Pass(counts, "the width of a loop is that of its widest lanes, which were its count's"),
    Pass(pack, "its rows are for jam, and its sums too short for strips"),
    Pass(gathered, "vectors around a loop have no rows, and here too the sums are short"),
    Pass(block, "jam is for the rows of one strip", fits=True),
    Pass(rows, "jam is for the rows of one strip, here too", fits=True),
    Pass(jam, "what the lanes are is settled, so no fold changes its order", fits=True),
    Pass(abreast, "these have no folds, which jam is for; the next shares their loads", fits=True),
    Pass(branchless, "what lanes hold is settled: the loops that are left stay scalar"),
    Pass(reuse, "iterations side by side load the same"),
    Pass(simplify, "names that only scalar code needed"),
    Pass(blends, "no other pass knows them, and names are settled"),
    Pass(bits, "no other pass needs to see a loop twice", fits=True),
)


def optimise(
    kernel: Kernel,
    machine: Machine = COMMON,
    *,
    reassociate: bool = True,
    on_pass: Callable[[str, Kernel], None] | None = None,
) -> Kernel:
    """`kernel` through all passes: vector code of abstract width, in tiles that fit `machine`.

    ``reassociate=False`` keeps float folds in Python's order. ``on_pass(name, kernel)`` is called
    after each pass that changed something.
    """
    for step in PIPELINE:
        run = partial(step.run, reassociate=reassociate) if step.reorders else step.run
        run = partial(run, machine=machine) if step.fits else run
        new = run(kernel)
        if new is not kernel and on_pass is not None:
            on_pass(step.name, new)
        kernel = new
    return kernel
