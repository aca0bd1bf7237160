"""Undoable stores: which elements a loop is going to store, known before its body runs.

    for i: check(x[i] > 0); out[2 * i] = log(x[i])     undoable: iteration i stores out[2 * i]
    for i: check(b[i] < n); out[b[i]] = x[i]           not: a subscript is read from memory

Before an undoable loop runs, the elements that it is going to store can be saved; they are put back
if a check fails. No other elements are put back, since other threads of the process may meanwhile
write to the elements between them.
"""
from __future__ import annotations

from ..algebra.may_raise import may_replay
from ..ir_names import bound_names, names_read
from ..ir_traversal import contains, walk
from ..nodes import Kernel, Load, Loop, Node, PredLoop, RangeDesc, Store
from .parallelism import Splittable, arrays_reduced_by

__all__ = ["may_stop", "stores_to_undo", "undo_obstacle"]


def may_stop(loop: Node, kernel: Kernel) -> bool:
    """Whether a failed check in `loop` ends `kernel` at once (`Kernel.stops`)."""
    return kernel.stops and may_replay(loop)


def stores_to_undo(loop: Splittable, kernel: Kernel) -> tuple[Store, ...]:
    """The stores of `loop` to parameters of `kernel`. The subscripts of a vector store are those of
    its first lane; lane k stores the element that they have k iterations later.
    """
    parameters = {p.name for p in kernel.params}
    return tuple(n for n in walk(loop) if isinstance(n, Store) and n.array in parameters)


def undo_obstacle(loop: Splittable, kernel: Kernel) -> str | None:
    """Why the stores of the parallel `loop` cannot be undone if a check fails, for the report; None
    if they can be. `parallelize` asks this of a loop with checks: if there is an obstacle, one
    thread runs it. `c_regions` makes the code that saves and undoes.

    Before a chunk of iterations runs, the elements that it is going to store are saved, by a loop
    that runs nothing else. So for each iteration it must be known beforehand what it stores:

        out[2 * i] = …                      None: the subscript depends on the variable alone
        out[b[i]] = …                       an obstacle: the subscript is loaded
        if x[i] > 0: out[i] = …             an obstacle: some iterations do not store
        h[i // 2] = h[i // 2] + 1           an obstacle: several iterations add to one element

    A loop that ends early or runs backwards has an obstacle, too. Assumes that `parallel_obstacle`
    has found no obstacle: apart from such additions, no element is touched by two iterations.
    """
    if isinstance(loop, PredLoop):
        return "it may raise, and stores under a condition"
    if loop.accs:
        return f"it may raise, and each iteration needs `{loop.accs[0].name}` of the one before"
    if isinstance(loop, Loop) and loop.until is not None:
        return "it may raise, and end before its last iteration"
    if isinstance(loop.range, RangeDesc) and loop.range.step < 0:
        return "it may raise, and runs backwards"
    if reduced := arrays_reduced_by(loop, kernel):
        # several iterations add to one element: its value before a chunk is known to no iteration
        return f"it may raise, and adds to elements of `{min(reduced)}`"
    computed_in_body = bound_names(loop) - {loop.var}
    made_each_time = {id(s) for s in loop.body}
    for store in stores_to_undo(loop, kernel):
        if id(store) not in made_each_time:
            return f"it may raise, and stores to `{store.array}` in an inner loop or a branch"
        if store.mask is not None:
            return f"it may raise, and stores to `{store.array}` under a condition"
        reads_memory = any(contains(e, Load) or e.lanes != 1 for e in store.index)
        if reads_memory or not computed_in_body.isdisjoint(names_read(*store.index)):
            return f"it may raise, and computes at which place it stores to `{store.array}`"
    return None
