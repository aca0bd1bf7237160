"""Counted appends: whether threads may share a loop that appends to one list.

    for i in pred(0, n, width=W, where=x[i:W] > 0.0, k=0):
        append(out, k, x[i:W])

How many elements an iteration appends depends on nothing that the loop stores. So a part of the
range can be counted first. The number of elements that all parts before it append is the place
where it stores its own: the result is that of the loop, whoever runs which part, and when.
"""
from __future__ import annotations

from ..ir_traversal import kernel_header, walk, walk_statements
from ..nodes import Append, Assign, Check, If, Interval, Kernel, Load, Loop, PredLoop, Var, VecLoop
from .dependence import Alias, alias_table

__all__ = ["append_obstacle"]


def append_obstacle(loop: Loop | VecLoop | PredLoop, kernel: Kernel) -> str | None:
    """Why parts of `loop`, which has appends, cannot be counted before they are run, for a report;
    None if they can be.

        each iteration                                      the answer
        if x[i] > 0.0: append(w, k, x[i])                   None; k is the only accumulator
        if x[i] > 0.0: append(w, k, i); append(v, m, x[i])  it appends to `v` and `w`
        append(w, k, k + i)                                 it reads how many elements `w` has
        append(w, k, w[i])                                  it reads and appends to `w`
        check(x[i] > 0, "over"); append(w, k, x[i])         None, as the loop goes on
        check(x[i] > 0, "replay"); append(w, k, x[i])       it appends to `w`; so for any other
                                                            statement, accumulator, inner loop or
                                                            early end
    """
    statements = [n for part in loop.body for n in walk_statements(part)]
    appends = [s for s in statements if isinstance(s, Append)]
    arrays, counts = sorted({s.array for s in appends}), {s.count for s in appends}
    if len(arrays) > 1:
        return f"it appends to `{arrays[0]}` and `{arrays[1]}`"
    [array] = arrays
    is_plain = all(isinstance(s, Append | Assign | Check | If) for s in statements)
    ends_early = getattr(loop, "until", None) is not None or any(
        isinstance(s, Check) and s.code == "replay" for s in statements
    )
    is_counted = len(loop.accs) == 1 and counts == {loop.accs[0].name}
    if not is_plain or ends_early or not is_counted or not isinstance(loop.range, Interval):
        return f"it appends to `{array}`"
    [count] = loop.accs
    read = [n for part in loop.body for n in walk(part)]
    read += walk(loop.pred) if isinstance(loop, PredLoop) else ()
    if any(isinstance(n, Var) and n.name == count.name for n in read):
        return f"it reads how many elements `{array}` has"
    if not (isinstance(count.step, Var) and count.step.name == count.name):
        return f"it appends to `{array}`"
    aliases = alias_table(kernel_header(kernel))
    for n in read:
        if isinstance(n, Load) and aliases.relation(array, n.array) is not Alias.DISJOINT:
            return (f"it reads and appends to `{array}`" if n.array == array else
                    f"`{array}` and `{n.array}` may be the same array")
    return None
