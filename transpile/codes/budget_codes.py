"""Diagnostic codes of compile time: what a budget has left out, and calls that do not wait."""
from __future__ import annotations

from .reason_code import Code

__all__ = ["BUDGET"]

BUDGET = (
    Code(
        code="BUDGET_EXCEEDED",
        title="a large function is compiled with less effort, or not at all",
        why="The time that a function may take to compile is bounded. Work is counted in units, "
            "not in seconds, so that a function becomes the same code on every machine. Beyond the "
            "budget neighbouring loops are not tried for fusion, and the C compiler optimises "
            "less. A function is left to Python if it would be compiled in too many versions, for "
            "instance one for each order of arrays that are swapped inside a deep nest, or if the "
            "functions that it calls, which are inlined, have more than 8,000 nodes of syntax "
            "(some hundred lines). A function of which parts are compiled has one budget for "
            "all of them, so that its first call takes two or three seconds at most: beyond "
            "it further parts, and calls of them with other types, are left to Python.",
        help="split the function into several, each with a `@fuse` and a budget of its own, "
             "and swap arrays outside of nested loops over a few constants",
        bad="""\
@fuse
def relax(a, b):
    for i in range(2):
        for j in range(2):
            for k in range(2):
                for m in range(2):
                    for n in range(2):
                        for p in range(2):
                            for q in range(2):
                                a[0] = b[0] * 0.5
                                a, b = b, a
    return a[0]

relax(np.ones(8), np.ones(8))
""",
        good="""\
@fuse
def relax(a, b):
    for i in range(128):
        a[0] = b[0] * 0.5
        a, b = b, a
    return a[0]

relax(np.ones(8), np.ones(8))
""",
    ),
    Code(
        code="RUN_BACKGROUND",
        title="Python served the call while a thread compiled it",
        why="With background=True no call waits for the compiler. Once the thread has compiled the "
            "signature, calls of it are compiled code.",
        help="nothing needs to be done; `background=False` makes the first call wait for the "
             "compiler",
        bad="""\
@fuse(background=True, cache=False)
def twice(x):
    return [v * 2.0 for v in x]

twice(np.ones(8))
""",
        good="""\
@fuse
def twice(x):
    return [v * 2.0 for v in x]

twice(np.ones(8))
""",
    ),
)
