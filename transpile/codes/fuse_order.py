"""Why two adjacent loops stay two: what must have happened before the second begins."""
from __future__ import annotations

from .code import Code

__all__ = ["ROWS"]

ROWS = (
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
