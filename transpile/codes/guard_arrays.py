"""Why the arrays of a call sent it back to Python."""
from __future__ import annotations

from .code import Code

__all__ = ["ROWS"]

_ADD = """\
@fuse
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]

"""

_ADD_FIVE = _ADD + "add(np.ones(5), np.ones(5), np.zeros(5))\n"

ROWS = (
    Code(
        code="GUARD_BOUNDS",
        title="a subscript would leave its array",
        why="The least and the greatest subscript of every access are tested before the loop "
            "begins. Where one is out of range, Python raises IndexError at that very element, "
            "after everything that comes before it.",
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
        title="the shapes of whole arrays ask for more than one nest of loops",
        why="Operations on whole arrays are compiled for operands of equal lengths, and for axes "
            "that the source itself makes of length one. Where lengths differ, NumPy stretches an "
            "axis of length one, or raises; so it does for a minimum of nothing.",
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
        why="The compiled code is right for arrays that share no memory or are the same array; "
            "views that overlap in part see each other's writes in an order that only the "
            "original loop has.",
        bad=_ADD + "x = np.arange(9.0)\nadd(x[:-1], x[:-1], x[1:])\n",
        good=_ADD_FIVE,
    ),
    Code(
        code="GUARD_DTYPE",
        title="a value has a type that this call cannot be compiled for",
        why="Arrays of objects, of another byte order, subclasses of ndarray and the like run as "
            "Python.",
        bad=_ADD + "add(np.ones(5, dtype='>f8'), np.ones(5), np.zeros(5))\n",
        good=_ADD_FIVE,
    ),
    Code(
        code="GUARD_LAYOUT",
        title="an array's memory is laid out in a way that is not compiled",
        why="Elements that are not aligned to their own size cannot be read by the compiled code.",
        bad=_ADD + """\
raw = np.zeros(41, dtype=np.uint8)[1:].view(np.float64)
add(raw, raw, np.zeros(5))
""",
        good=_ADD_FIVE,
    ),
    Code(
        code="GUARD_READONLY",
        title="an array that is written is read-only",
        why="Python raises ValueError at the first write, after all that comes before it; so the "
            "original runs.",
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
