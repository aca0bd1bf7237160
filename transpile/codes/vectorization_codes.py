"""Diagnostic codes of vectorisation: why a loop is scalar machine code (its result is the same)."""
from __future__ import annotations

from .reason_code import Code

__all__ = ["VECTORIZATION"]

VECTORIZATION = (
    Code(
        code="VECTOR_DEPENDENCE",
        title="an iteration needs what one before it wrote",
        why="The lanes of a vector are computed at the same time; a recurrence, such as a "
            "running state, must be computed in order.",
        help="if the values from before the loop are meant, read them from a copy made "
             "before it",
        bad="""\
@fuse
def decay(x, out):
    for i in range(2, len(x)):
        out[i] = out[i - 2] * 0.5 + x[i]

decay(np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def decay(x, out):
    for i in range(2, len(x)):
        out[i] = x[i - 2] * 0.5 + x[i]

decay(np.ones(8), np.zeros(8))
""",
    ),
    Code(
        code="VECTOR_CARRIED",
        title="an iteration needs a value that the one before it computed",
        why="Sums, products, minima, maxima, any, all and counts are folds, of which each lane "
            "can compute a part; so are linear recurrences, which multiply a name by a value "
            "and add another one. The other loop-carried names must be computed one iteration "
            "after the other.",
        help="nothing needs to be done if each iteration needs the one before; what does not "
             "can be computed in a loop of its own",
        bad="""\
@fuse
def grow(x, out):
    level = 0.5
    for i in range(len(x)):
        level = x[i] * level * (1.0 - level)
        out[i] = level

grow(np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def grow(x, out):
    level = 0.5
    for i in range(len(x)):
        level = x[i] * level + 1.0
        out[i] = level

grow(np.ones(8), np.zeros(8))
""",
    ),
    Code(
        code="VECTOR_REASSOCIATE",
        title="a fold of floats must keep its order",
        why="Lanes add in another order than Python, so the last bits of a sum of floats would "
            "differ. With reassociate=False the order is kept, and the loop is scalar.",
        help="permit another order with `reassociate=True`, if the last bits may differ",
        bad="""\
@fuse(reassociate=False)
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s

total(np.ones(8))
""",
        good="""\
@fuse
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s

total(np.ones(8))
""",
    ),
    Code(
        code="VECTOR_SUBSCRIPT",
        title="a subscript does not move evenly along one axis",
        why="The lanes of a vector are elements with a constant stride: x[i], x[2 * i], x[n - "
            "i]. A subscript that is an element of an array, a quotient, or on a diagonal is "
            "not.",
        help="walk along one axis with a constant step, or, if the loop runs again or computes "
             "much with each element, collect the elements in an array first",
        bad="""\
@fuse
def trace(x, out):
    for i in range(len(out)):
        out[i] = x[i, i]

trace(np.ones((8, 8)), np.zeros(8))
""",
        good="""\
@fuse
def trace(x, out):
    for i in range(len(out)):
        out[i] = x[0, i]

trace(np.ones((8, 8)), np.zeros(8))
""",
    ),
    Code(
        code="VECTOR_SMALL",
        title="the loop runs too few times",
        why="A loop of a few iterations ends before a vector is full.",
        help="make the loop with the most iterations the innermost one",
        bad="""\
@fuse
def any_large(x):
    return any(x[i] > 2.0 for i in range(3))

any_large(np.ones(8))
""",
        good="""\
@fuse
def any_large(x):
    return any(x[i] > 2.0 for i in range(len(x)))

any_large(np.ones(8))
""",
    ),
    Code(
        code="VECTOR_CONTROL_FLOW",
        title="the lanes would have to go different ways",
        why="Branches that select values or stores become masks, and any and all stop after a "
            "vector. A loop with an early exit must not have visible effects in iterations "
            "after it.",
        help="split the loop in two: one that finds where to stop, and one that computes",
        bad="""\
@fuse
def any_near(x):
    return any(1.0 / v > 2.0 for v in x)

any_near(np.ones(8))
""",
        good="""\
@fuse
def any_near(x):
    return any(v < 0.5 for v in x)

any_near(np.ones(8))
""",
    ),
)
