"""Diagnostic codes of loop fusion: why two adjacent loops are not fused.

`FUSION_MEMORY`: codes about the iterations of the two and the elements that they access, and that
joining them would not pay. `FUSION_ORDER`: codes about what must come before the second loop: an
effect, a guard, a statement between the two, an exit of the first loop or its whole result.
"""
from __future__ import annotations

from .reason_code import Code

__all__ = ["FUSION_MEMORY", "FUSION_ORDER"]

FUSION_MEMORY = (
    Code(
        code="FUSE_REJECT_DOMAIN_MISMATCH",
        title="the loops do not run over the same elements",
        why="Loops are fused only if they have the same iterations: equal bounds, after both "
            "are written as range(0, n). That they are equal is proved from the source, or "
            "tested by a guard when the function is called.",
        help="write both as loops, or nests of loops, over the same ranges",
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
        why="If the first loop writes t[2 * i] and the second one reads t[i], most elements are "
            "read many iterations before or after they are written. This applies to the "
            "subscripts of all reads and writes, on every axis. A loop in the opposite "
            "direction is reversed if its iterations may run in any order.",
        help="use one subscript of the array in both loops",
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
        why="Two names may refer to one array. A guard tests at each call that arrays do not "
            "overlap partially; but an array that a loop reads and writes may be the same array "
            "as another one, and then the second loop would see elements that the first has not "
            "yet written.",
        help="let the function make one of the arrays itself",
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
        why="A nest that reads one row for all rows accesses an element many times; it is fused "
            "with another nest only if neither writes the broadcast array. "
            "allow_broadcast_identity=False refuses all such nests.",
        help="read what is used again from an array that is made before both nests, or keep "
             "both; each is vectorised on its own",
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
        why="With subscripts i + d1 in the first loop and i + d2 in the second, where both may "
            "access the same memory and at least one of them writes, fusion is correct only if "
            "d2 - d1 is zero or less. The second loop may instead be delayed (shifted) by some "
            "iterations, unless it would then load elements right after they are stored.",
        help="compute the element anew in the second loop, or keep both loops; each is vectorised "
             "on its own",
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
        why="There are four cases. Two vectorised loops would become one that is scalar, or "
            "that loads elements that were just stored as part of another vector, which waits "
            "until both stores have reached the cache. One loop waits for its own result in "
            "each iteration, and the other one, which filters or divides, would have to wait, "
            "too. Folds that share loads, as in a matrix product, could no longer be blocked. "
            "Or many arrays would be streamed at once, without any of them being streamed less "
            "often.",
        help="keep the loops apart; together they would take longer",
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
        why="Of two loops that draw, fusion would change the order of the draws, which is a "
            "part of the result, as is the generator's state after the call. A loop that draws "
            "none is vectorised alone: numbers are drawn one after the other.",
        help="draw the random numbers into an array before both loops",
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
        why="An unknown call may print, raise, or change any array that it can reach, so "
            "nothing may be moved across it.",
        help="collect the results in an array, and call the function in a loop behind both",
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
        why="A fused loop has one policy for floating-point errors and guards: both loops must "
            "be under the same np.errstate, and every guard of the second loop must be "
            "decidable before the first one stores.",
        help="run both loops under one `np.errstate`, and check data before the first",
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
        why="Loops are fused only if no statement between them needs the first loop to be "
            "finished.",
        help="move it before the first loop or behind the second one",
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
        why="A branch that only selects values or stores becomes a mask of lanes. An inner "
            "loop, a return or a break does not; allow_control_flow_simple=False refuses every "
            "branch.",
        help="nothing needs to be done if the loops must be left early, or have a `while` or an "
             "inner loop under a condition: each is compiled",
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
        why="The value of a sum, a maximum or a count is known only after its loop; a loop that "
            "uses it in each iteration cannot be part of the same pass.",
        help="keep the loops apart, unless the second one can do without the final value",
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
        why="If the first loop raises in some iteration, Python never starts the second one. A "
            "fused loop would already have stored elements of the second one; it is refused "
            "unless a guard can decide this before the first store.",
        help="write to an array that the function makes itself, and copy it at the end",
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
