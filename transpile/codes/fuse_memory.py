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
def ends(a, out, tail):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a) - 1):
        tail[i] = a[i] + 1.0

ends(np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def ends(a, out, tail):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        tail[i] = a[i] + 1.0

ends(np.ones(8), np.zeros(8), np.zeros(8))
""",
    ),
    Code(
        code="FUSE_REJECT_INDEXMAP_NOT_IDENTITY",
        title="an array that both loops use is walked in two ways",
        why="When the first loop writes t[i] and the second reads t[n - 1 - i] or t[2 * i], most "
            "elements are read long before or after they are written. All subscripts count, of "
            "reads and of writes, on every axis.",
        bad="""\
@fuse
def mirror(a, t, out):
    n = len(a)
    for i in range(n):
        t[i] = a[i] * 2.0
    for i in range(n):
        out[i] = t[n - 1 - i]

mirror(np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def mirror(a, t, out):
    n = len(a)
    for i in range(n):
        t[i] = a[i] * 2.0
    for i in range(n):
        out[n - 1 - i] = t[i]

mirror(np.ones(8), np.zeros(8), np.zeros(8))
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
            "d1 is zero or less.",
        bad="""\
@fuse
def smooth(a, t, out):
    for i in range(len(a) - 1):
        t[i] = a[i] * 0.5
    for i in range(len(a) - 1):
        out[i] = t[i + 1]

smooth(np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def smooth(a, t, out):
    for i in range(1, len(a)):
        t[i] = a[i] * 0.5
    for i in range(1, len(a)):
        out[i] = t[i - 1]

smooth(np.ones(8), np.zeros(8), np.zeros(8))
""",
    ),
)
