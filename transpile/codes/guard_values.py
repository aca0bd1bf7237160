"""Why the values of a call, or what its names mean, sent it back to Python."""
from __future__ import annotations

from .code import Code

__all__ = ["ROWS"]

ROWS = (
    Code(
        code="GUARD_DIVISION",
        title="a division by zero that Python answers with an exception",
        why="Python's own integers and floats raise ZeroDivisionError; the divisor is tested "
            "before the loop begins.",
        bad="""\
@fuse
def steps(x, out, n):
    for i in range(len(x)):
        out[i] = x[i] + i // n

try:
    steps(np.ones(8), np.zeros(8), 0)
except ZeroDivisionError:
    pass
""",
        good="""\
@fuse
def steps(x, out, n):
    for i in range(len(x)):
        out[i] = x[i] + i // n

steps(np.ones(8), np.zeros(8), 2)
""",
    ),
    Code(
        code="GUARD_INT_RANGE",
        title="an integer does not fit",
        why="Python's integers have no end. Where one cannot be proved to fit in 64 bits, it is "
            "tested, and Python goes on where the test fails.",
        bad="""\
@fuse
def scale(x, out, k):
    for i in range(len(x)):
        out[i] = x[i] + k * i

scale(np.ones(8), np.zeros(8), 2 ** 62)
""",
        good="""\
@fuse
def scale(x, out, k):
    for i in range(len(x)):
        out[i] = x[i] + k * i

scale(np.ones(8), np.zeros(8), 1000)
""",
    ),
    Code(
        code="GUARD_FLOAT_STATUS",
        title="the arithmetic raised a condition that Python has to place",
        why="The hardware's flags tell after the kernel that an overflow, a division by zero or an "
            "invalid operation happened, but not which of several operations it was. Python then "
            "runs the original, which warns of the right one. If it comes to that again, a second "
            "kernel is made, slower than the first, which can tell; Python stays where warnings "
            "are shown at every turn (`always`), or in an order that only NumPy knows.",
        bad="""\
@fuse
def relative(x, y, out):
    for i in range(len(x)):
        out[i] = (x[i] - y[i]) / y[i]

relative(np.ones(2), np.array([0.0, np.inf]), np.zeros(2))
""",
        good="""\
@fuse
def relative(x, y, out):
    for i in range(len(x)):
        out[i] = (x[i] - y[i]) / y[i]

relative(np.ones(2), np.array([2.0, 4.0]), np.zeros(2))
""",
    ),
    Code(
        code="GUARD_EMPTY",
        title="a name has no value, because a loop did not run",
        why="A name that is bound in a loop lives on after it; where there was no iteration, "
            "Python raises UnboundLocalError, or the name is what it was before.",
        bad="""\
@fuse
def last(x):
    for v in x:
        doubled = v * 2.0
    return doubled

try:
    last(np.zeros(0))
except UnboundLocalError:
    pass
""",
        good="""\
@fuse
def last(x):
    for v in x:
        doubled = v * 2.0
    return doubled

last(np.ones(5))
""",
    ),
    Code(
        code="GUARD_ERRSTATE",
        title="NumPy's error state asks for more than a warning",
        why="Under np.errstate(...='raise'), 'call', 'print' or 'log' each operation reports on "
            "its own, in order.",
        bad="""\
@fuse
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]

with np.errstate(over="raise"):
    try:
        add(np.full(5, 1e308), np.full(5, 1e308), np.zeros(5))
    except FloatingPointError:
        pass
""",
        good="""\
@fuse
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]

add(np.ones(5), np.ones(5), np.zeros(5))
""",
    ),
    Code(
        code="GUARD_REBOUND",
        title="a global or builtin that the function uses has been bound to something else",
        why="Names are read at each call, as Python does; a name that no longer means what was "
            "compiled sends the call back to Python, and the next one is compiled anew.",
        bad="""\
root = np.sqrt

@fuse
def roots(x, out):
    for i in range(len(x)):
        out[i] = root(x[i])

roots(np.ones(5), np.zeros(5))
root = np.cbrt
roots(np.ones(5), np.zeros(5))
""",
        good="""\
root = np.sqrt

@fuse
def roots(x, out):
    for i in range(len(x)):
        out[i] = root(x[i])

roots(np.ones(5), np.zeros(5))
roots(np.ones(5), np.zeros(5))
""",
    ),
    Code(
        code="GUARD_RAISES",
        title="Python raises an exception here",
        why="The values are such that Python raises; the original runs and raises it, with what "
            "it had written before.",
        bad="""\
@fuse
def largest(x):
    return max(v * 2.0 for v in x)

try:
    largest(np.zeros(0))
except ValueError:
    pass
""",
        good="""\
@fuse
def largest(x):
    return max(v * 2.0 for v in x)

largest(np.ones(5))
""",
    ),
)
