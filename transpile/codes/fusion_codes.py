"""Diagnostic codes of loop fusion: why two adjacent loops are not fused.

First those about the elements they read and write, then those about what must precede the second.
"""
from __future__ import annotations

from .reason_code import Code

__all__ = ["FUSION_MEMORY", "FUSION_ORDER"]

FUSION_MEMORY = (
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


FUSION_ORDER = (
    Code(
        code="FUSE_REJECT_EFFECTS_RNG",
        title="a loop draws random numbers",
        why="Fusing would interleave the draws with the other loop's work and change the order in "
            "which a generator is asked. The order and the state after the call are part of the "
            "result.",
        bad="""\
@fuse
def jitter(a, out, noise):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        noise[i] = np.random.gamma(2.0)

jitter(np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def jitter(a, out, noise):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        noise[i] = noise[i] + out[i]

jitter(np.ones(8), np.zeros(8), np.random.random(8))
""",
    ),
    Code(
        code="FUSE_REJECT_EFFECTS_UNKNOWN",
        title="a loop calls something whose effects are not known",
        why="An unknown call may print, raise, or change any array it can reach, so nothing may "
            "move across it.",
        bad="""\
@fuse
def shout(a, out, show):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        show(out[i])

shout(np.ones(2), np.zeros(2), repr)
""",
        good="""\
@fuse
def shout(a, out, show):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        out[i] = out[i] + 1.0

shout(np.ones(2), np.zeros(2), repr)
""",
    ),
    Code(
        code="FUSE_REJECT_GUARD_POLICY",
        title="the loops run under different guards",
        why="One pass over memory can have one policy only: both loops under the same "
            "np.errstate, and every guard of the second loop must be decided before the first one "
            "stores.",
        bad="""\
@fuse
def ratios(a, b, out, safe):
    for i in range(len(a)):
        out[i] = a[i] / b[i]
    with np.errstate(divide="ignore"):
        for i in range(len(a)):
            safe[i] = a[i] / b[i]

ratios(np.ones(8), np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def ratios(a, b, out, safe):
    for i in range(len(a)):
        out[i] = a[i] / b[i]
    for i in range(len(a)):
        safe[i] = a[i] / b[i]

ratios(np.ones(8), np.ones(8), np.zeros(8), np.zeros(8))
""",
    ),
    Code(
        code="FUSE_REJECT_NOT_ADJACENT",
        title="something that cannot be moved stands between the loops",
        why="Loops are joined only where nothing between them needs the first loop to have ended.",
        bad="""\
@fuse
def totals(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    out[0] = 7.0
    for i in range(len(a)):
        out[i] = out[i] + 1.0

totals(np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def totals(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        out[i] = out[i] + 1.0
    out[0] = 7.0

totals(np.ones(8), np.zeros(8))
""",
    ),
    Code(
        code="FUSE_REJECT_CONTROL_FLOW",
        title="a loop's control flow cannot become a mask",
        why="A branch that only chooses values or stores becomes a mask over the lanes. An inner "
            "loop, a return or a way out of the loop does not; allow_control_flow_simple=False "
            "refuses every branch.",
        bad="""\
@fuse(allow_control_flow_simple=False)
def clip(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        if out[i] > 1.0:
            out[i] = 1.0

clip(np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def clip(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        if out[i] > 1.0:
            out[i] = 1.0

clip(np.ones(8), np.zeros(8))
""",
    ),
    Code(
        code="FUSE_REJECT_SCALAR_LIVE",
        title="the second loop needs a value that the whole first loop makes",
        why="A sum, a maximum or a count is known only when the loop that makes it has ended; a "
            "loop that uses it in its elements cannot run in the same pass.",
        bad="""\
@fuse
def share(x, out):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    for i in range(len(x)):
        out[i] = x[i] / total

share(np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def share(x, total, out):
    again = 0.0
    for i in range(len(x)):
        again += x[i]
    for i in range(len(x)):
        out[i] = x[i] / total
    return again

share(np.ones(8), 8.0, np.zeros(8))
""",
    ),
    Code(
        code="FUSE_REJECT_MAY_RAISE",
        title="a loop may raise half-way, with the other loop's work half done",
        why="If the first loop raised at some iteration, Python would not have begun the second. "
            "Fused, the second would already have written; it is refused where no guard can "
            "decide before the first store.",
        bad="""\
@fuse
def table(index, t, out, mark):
    for i in range(len(index)):
        out[i] = t[index[i]]
    for i in range(len(index)):
        mark[i] = 1.0

table(np.arange(8), np.ones(8), np.zeros(8), np.zeros(8))
""",
        good="""\
@fuse
def table(index, t, out, mark):
    for i in range(len(index)):
        out[i] = t[i]
    for i in range(len(index)):
        mark[i] = 1.0

table(np.arange(8), np.ones(8), np.zeros(8), np.zeros(8))
""",
    ),
)
