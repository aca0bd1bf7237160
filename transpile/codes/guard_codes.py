"""Diagnostic codes of guards: why a call's arguments, or global bindings, sent it to Python."""
from __future__ import annotations

from .reason_code import Code

__all__ = ["GUARD_ARRAYS", "GUARD_VALUES"]

_ADD = """\
@fuse
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]

"""

_ADD_FIVE = _ADD + "add(np.ones(5), np.ones(5), np.zeros(5))\n"

GUARD_ARRAYS = (
    Code(
        code="GUARD_BOUNDS",
        title="a subscript would leave its array",
        why="The smallest and the largest subscript of every access are tested before the loop. "
            "If one is out of range, Python raises IndexError at that element, after everything "
            "that comes before it.",
        help="let the loop end where the shorter array does, for instance `range(min(len(x), "
             "len(out)))`, or pass arrays of the same length",
        bad="""\
@fuse
def copy(x, out):
    for i in range(len(x)):
        out[i] = x[i]

try:
    copy(np.ones(8), np.zeros(7))
except IndexError:
    pass
""",
        good="""\
@fuse
def copy(x, out):
    for i in range(len(x)):
        out[i] = x[i]

copy(np.ones(7), np.zeros(8))
""",
    ),
    Code(
        code="GUARD_SHAPE",
        title="whole arrays have shapes for which NumPy broadcasts or raises",
        why="Operations on whole arrays are compiled for operands of equal lengths, and for "
            "axes that have length one in the source itself. If lengths differ, NumPy "
            "broadcasts an axis of length one, or raises; it also raises for the minimum of an "
            "empty array. Stores through an index array of several axes, `x[k] = y`, are compiled "
            "for a contiguous one.",
        help="pass arrays of equal lengths; repeat an axis of length one before the call, for "
             "instance `np.repeat(y, len(x))`",
        bad="""\
@fuse
def add(x, y):
    return x + y

add(np.ones(5), np.ones(1))
""",
        good="""\
@fuse
def add(x, y):
    return x + y

add(np.ones(5), np.ones(5))
""",
    ),
    Code(
        code="GUARD_ALIAS",
        title="arrays overlap",
        why="The compiled code is correct for arrays that share no memory, or are the same "
            "array. Views that overlap partially see each other's writes in an order that only "
            "the original loop has.",
        help="pass a copy, for instance `x.copy()`, or write to an array that shares no "
             "memory with the others",
        bad=_ADD + "x = np.arange(9.0)\nadd(x[:-1], x[:-1], x[1:])\n",
        good=_ADD_FIVE,
    ),
    Code(
        code="GUARD_DTYPE",
        title="a value has a type that this call cannot be compiled for",
        why="Arrays of objects, of another byte order, subclasses of ndarray and the like are "
            "left to Python.",
        help="convert the argument before the call, for instance `np.asarray(x, "
             "dtype=np.float64)`, and give all items of a list one type",
        bad=_ADD + "add(np.ones(5, dtype='>f8'), np.ones(5), np.zeros(5))\n",
        good=_ADD_FIVE,
    ),
    Code(
        code="GUARD_LAYOUT",
        title="an array's memory is laid out in a way that is not compiled",
        why="Arrays have five axes at most, of complex numbers four.",
        help="pass a view with fewer axes, for instance `x.reshape(len(x), -1)`",
        bad=_ADD + "x = np.zeros((2,) * 6)\nadd(x, x, x)\n",
        good=_ADD_FIVE,
    ),
    Code(
        code="GUARD_READONLY",
        title="an array that is written is read-only",
        why="Python raises ValueError at the first write, after everything that comes before "
            "it; so the original function runs.",
        help="pass an array that may be written: a copy, or set `out.flags.writeable = True` "
             "before the call",
        bad=_ADD + """\
out = np.zeros(5)
out.flags.writeable = False
try:
    add(np.ones(5), np.ones(5), out)
except ValueError:
    pass
""",
        good=_ADD_FIVE,
    ),
)


GUARD_VALUES = (
    Code(
        code="GUARD_DIVISION",
        title="a division by zero that Python answers with an exception",
        why="Division of Python's integers and floats by zero raises ZeroDivisionError; the "
            "divisor is tested before the loop.",
        help="test the divisor before the loop, for instance `if n == 0: return`, or divide "
             "NumPy floats, which give inf or nan",
        help_outside_loop="test the divisor before, for instance `if n == 0: return`, or divide "
                          "NumPy floats, which give inf or nan",
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
        why="Python's integers are unbounded. If a value cannot be proved to fit in 64 bits, it "
            "is tested, and the call falls back to Python if the test fails.",
        help="compute with floats if 53 bits are enough, or reduce the ints in the loop, for "
             "instance by `% m`; larger exact ints are Python's alone",
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
        title="arithmetic overflowed, divided by zero or was invalid, and Python has to say where",
        why="After the kernel, the hardware's flags show that an overflow, a division by zero "
            "or an invalid operation occurred, but not in which operation. Python then runs the "
            "original function, which issues the correct warning. If this happens again, a "
            "second, slower kernel is compiled that can tell the operations from each other. "
            "Python runs the call, however, if warnings are shown every time (`always`), or if "
            "their order depends on NumPy's implementation.",
        help="keep such values from the operation, for instance `if y[i] != 0:` around a "
             "division by `y[i]`; if inf and nan are meant, call it under "
             '`np.errstate(all="ignore")`',
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
        why="A name that is bound in a loop exists after it. If the loop had no iteration, "
            "Python raises UnboundLocalError, or the name has its previous value.",
        help="bind the name on every path before it is read",
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
        why="Under np.errstate(...='raise'), 'call', 'print' or 'log', each operation reports "
            "its own errors, in order.",
        help='call it under `np.errstate(all="warn")` or `"ignore"`, and look for inf and nan '
             "in the result, for instance with `np.isfinite(out).all()`",
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
        why="Names are read at each call, as in Python. If a name no longer has the value that "
            "the kernel was compiled for, the call falls back to Python, and the next call is "
            "compiled anew.",
        help="bind the name once, before the first call, and pass what changes as an argument",
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
        why="Python raises an exception for these values; so the original function runs and "
            "raises it, after its earlier writes.",
        help="test for such values where they are used, for instance `max(x) if len(x) else "
             "0.0`; nothing needs to be done if the exception is meant",
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
