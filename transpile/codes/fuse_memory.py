"""Why two adjacent loops stay two: the elements that they read and write."""
from __future__ import annotations

from .code import Code

__all__ = ["ROWS"]

ROWS = (
    Code(
        code="FUSE_REJECT_DOMAIN_MISMATCH",
        title="the loops do not run over the same elements",
        why="Loops become one only when they have the same iterations: equal bounds after both "
            "are written as range(0, n), proved from the source or by a guard when the function "
            "is called.",
        bad="""\
@fuse
def ends(a, b, out, tail):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(b)):
        tail[i] = b[i] + 1.0

ends(np.ones(8), np.ones(9), np.zeros(8), np.zeros(9))
""",
        good="""\
@fuse
def ends(a, b, out, tail):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        tail[i] = b[i] + 1.0

ends(np.ones(8), np.ones(9), np.zeros(8), np.zeros(9))
""",
    ),
    Code(
        code="FUSE_REJECT_INDEXMAP_NOT_IDENTITY",
        title="an array that both loops use is walked in two ways",
        why="When the first loop writes t[2 * i] and the second reads t[i], most elements are read "
            "long before or after they are written. All subscripts count, of reads and of writes, "
            "on every axis. A loop that goes the other way is turned, where its iterations may "
            "come in any order.",
        bad="""\
@fuse
def halve(a, t, out):
    n = len(a) // 2
    for i in range(n):
        t[2 * i] = a[i] * 2.0
    for i in range(n):
        out[i] = t[i]

halve(np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def halve(a, t, out):
    n = len(a) // 2
    for i in range(n):
        t[2 * i] = a[i] * 2.0
    for i in range(n):
        out[i] = t[2 * i]

halve(np.ones(8), np.zeros(8), np.zeros(8))
""",
    ),
    Code(
        code="FUSE_REJECT_NOALIAS_MISSING",
        title="two names may be one array that is updated in place",
        why="A different name is not a different array. Arrays that share some memory are told "
            "apart when the function is called; but one that is both read and written by a loop "
            "may well be the very same array, and then the second loop would see elements that "
            "the first has not yet written.",
        bad="""\
@fuse
def shift(x, y, out):
    for i in range(len(x) - 1):
        x[i] = y[i] * 2.0
    for i in range(len(x) - 1):
        out[i] = y[i + 1]

shift(np.ones(8), np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def shift(x, y, out):
    for i in range(len(x) - 1):
        x[i] = y[i] * 2.0
    for i in range(len(x) - 1):
        out[i] = y[i]

shift(np.ones(8), np.ones(8), np.zeros(8))
""",
    ),
    Code(
        code="FUSE_REJECT_BROADCAST_ND",
        title="a loop nest broadcasts an array in a way that is not the identity",
        why="A nest that reads one row for all rows touches an element many times; it joins "
            "another nest only when the broadcast array is not written in either. "
            "allow_broadcast_identity=False refuses all of them.",
        bad="""\
@fuse(allow_broadcast_identity=False)
def centre(x, mean, out):
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            out[i, j] = x[i, j] - mean[j]
    for i in range(n):
        for j in range(m):
            out[i, j] = out[i, j] * 2.0

centre(np.ones((4, 8)), np.ones(8), np.zeros((4, 8)))
""",
        good="""\
@fuse
def centre(x, mean, out):
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            out[i, j] = x[i, j] - mean[j]
    for i in range(n):
        for j in range(m):
            out[i, j] = out[i, j] * 2.0

centre(np.ones((4, 8)), np.ones(8), np.zeros((4, 8)))
""",
    ),
    Code(
        code="FUSE_REJECT_DEPENDENCE",
        title="the second loop would read or write an element too early",
        why="With subscripts i + d1 in the first loop and i + d2 in the second, of what may be "
            "the same memory and at least one of them a write, joining is right only where d2 - "
            "d1 is zero or less. Delaying the second loop helps where nothing is then loaded "
            "right after it was stored.",
        bad="""\
@fuse
def smooth(a, t, out):
    for i in range(len(a) - 1):
        t[i] = a[i] * 0.5
    for i in range(len(a) - 1):
        out[i] = t[i + 1] - t[i]

smooth(np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def smooth(a, t, out):
    for i in range(len(a) - 1):
        t[i + 1] = a[i] * 0.5
    for i in range(len(a) - 1):
        out[i] = t[i + 1] - a[i]

smooth(np.ones(8), np.zeros(8), np.zeros(8))
""",
    ),
    Code(
        code="FUSE_REJECT_UNPROFITABLE",
        title="one loop would take longer than two",
        why="Two loops that take several iterations at once would become one that goes element by "
            "element: what is stored as part of a vector cannot be loaded as part of another one "
            "until both stores have reached the cache. Or one of them waits for its own result in "
            "each iteration, and the other, which filters or divides, would have to wait with it. "
            "Or folds that share what they load, as in a matrix product, would have to go one by "
            "one. Or many arrays would be gone through at once, and none of them once less.",
        bad="""\
@fuse
def step(a, t, out):
    for i in range(1, len(a)):
        t[i] = a[i] * 0.5
    for i in range(1, len(a)):
        out[i] = t[i] - t[i - 1]

step(np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def step(a, t, out):
    for i in range(1, len(a)):
        t[i] = a[i] * 0.5
    for i in range(1, len(a)):
        out[i] = t[i] - a[i - 1] * 0.5

step(np.ones(8), np.zeros(8), np.zeros(8))
""",
    ),
)
