"""Why a loop compiles to scalar machine code; its result is the same, it is only slower."""
from __future__ import annotations

from .code import Code

__all__ = ["ROWS"]

ROWS = (
    Code(
        code="VECTOR_DEPENDENCE",
        title="an iteration needs what the one before it wrote",
        why="Lanes of a vector run at the same time; a recurrence, such as a running state, has "
            "an order.",
        bad="""\
@fuse
def decay(x, out):
    for i in range(1, len(x)):
        out[i] = out[i - 1] * 0.5 + x[i]

decay(np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def decay(x, out):
    for i in range(1, len(x)):
        out[i] = x[i - 1] * 0.5 + x[i]

decay(np.ones(8), np.zeros(8))
""",
    ),
    Code(
        code="VECTOR_ORDER",
        title="a fold must keep its order",
        why="Lanes sum in another order than Python does, and floating-point sums then differ in "
            "the last bits. With reassociate=False, or for a fold that is not a sum, product, "
            "minimum, maximum, any or all, the order stays.",
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
        code="VECTOR_MEMORY",
        title="elements are too far apart for vector loads",
        why="A vector load takes neighbours in memory. Where the loop walks along an axis whose "
            "elements are not neighbours, or skips some, gathering them one by one costs as much "
            "as the scalar loop.",
        bad="""\
@fuse
def skip(x, out):
    for i in range(len(out)):
        out[i] = x[2 * i]

skip(np.ones(16), np.zeros(8))
""",
        good="""\
@fuse
def skip(x, out):
    for i in range(len(out)):
        out[i] = x[i]

skip(np.ones(16), np.zeros(8))
""",
    ),
    Code(
        code="VECTOR_OPERATION",
        title="an operation has no vector form here",
        why="Some operations exist only for one element at a time, on this machine or at all.",
        bad="""\
@fuse
def reverse(x, out):
    for i in range(len(x)):
        for j in range(int(x[i])):
            out[i] = out[i] + 1.0

reverse(np.ones(8, dtype=np.int64), np.zeros(8))
""",
        good="""\
@fuse
def reverse(x, out):
    for i in range(len(x)):
        out[i] = x[i] + 1.0

reverse(np.ones(8, dtype=np.int64), np.zeros(8))
""",
    ),
    Code(
        code="VECTOR_CONTROL_FLOW",
        title="the loop leaves early or branches in a way that lanes cannot",
        why="Branches that choose values become masks. A way out of the loop, or an inner loop "
            "whose length differs from element to element, does not.",
        bad="""\
@fuse
def triangle(x, out):
    for i in range(len(x)):
        for j in range(i):
            out[i] = out[i] + x[j]

triangle(np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def triangle(x, out):
    for i in range(len(x)):
        if x[i] > 0.0:
            out[i] = x[i]

triangle(np.ones(8), np.zeros(8))
""",
    ),
)
