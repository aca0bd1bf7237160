"""Diagnostic codes of lowering: why a statement, or a whole function, stays Python."""
from __future__ import annotations

from .reason_code import Code

__all__ = [
    "LOWERING", "HELP_FOR_ARGUMENTS", "HELP_FOR_CALLEES", "HELP_FOR_EXCEPTIONS",
    "HELP_FOR_ITERABLES", "HELP_FOR_LENGTHS", "HELP_FOR_LISTS", "HELP_FOR_NONE", "HELP_FOR_NUMPY",
    "HELP_FOR_OPERANDS", "HELP_FOR_UNBOUND", "HELP_WITHOUT_OPTIONS", "HELP_WITHOUT_STARS",
]

HELP_WITHOUT_OPTIONS = "write what it computes as a loop, or call it without the optional arguments"
"""The help for a call of a function that is known, but not with these arguments."""

HELP_FOR_ARGUMENTS = "pass the arguments that it takes"
"""The help for a call of a Python function that raises TypeError, since it takes others."""

HELP_WITHOUT_STARS = "write each argument in the call"
"""The help for a call of a Python function with ``*`` or ``**``."""

HELP_FOR_CALLEES = "give the number another name than the function"
"""The help for a call of a number, for which Python raises TypeError."""

HELP_FOR_LENGTHS = (
    "give each list, dict or set in it a name, by an assignment of its own; or count in a loop"
)
"""The help for ``len`` of something that is no array or collection with a name."""

HELP_FOR_NONE = "put a number in the place of None, such as `0.0` or `math.nan`"
"""The help for None where a number is needed."""

HELP_FOR_LISTS = \
    "in the function itself, append to it, read and store single items, and loop over it"
"""The help for a list that is used in another way."""

HELP_FOR_OPERANDS = \
    "if a call that is not compiled binds an operand in the loop, such as one of `np.linalg`, " \
    "write what it computes as loops"
"""The help for an operation on arrays in a loop of which the macros do not know an operand."""

HELP_FOR_UNBOUND = "assign it on every path before it is read"
"""The help for a local name that may have no value."""

HELP_FOR_NUMPY = "write what it computes as a loop, or with other functions of NumPy"
"""The help for a call of a function of NumPy that has no compiled form."""

HELP_FOR_EXCEPTIONS = "correct that first: the exception is Python's own"
"""The help for what raises an exception, whatever the values are."""

HELP_FOR_ITERABLES = "loop over a range, an array, or a list of numbers"
"""The help for a loop over something else."""

LOWERING = (
    Code(
        code="LOWER_UNSUPPORTED",
        title="a construct that is not compiled",
        why="Only loops over numbers and arrays of numbers are compiled. Other statements and "
            "expressions (a try, an await, a string) stay Python, unchanged. The code before, "
            "after and inside them is compiled, each part separately.",
        help="move it before or behind the loop; the statements around it are compiled",
        help_outside_loop="write it with numbers, arrays of numbers and loops over them",
        bad="""\
@fuse
def count(x):
    seen = {}
    for i in range(len(x)):
        seen[f"{i}"] = x[i]
    return seen

count(np.ones(3))
""",
        good="""\
@fuse
def count(x, seen):
    for i in range(len(x)):
        seen[i] = x[i]
    return seen

count(np.ones(3), np.zeros(3))
""",
    ),
    Code(
        code="LOWER_CALL",
        title="a call of a function that is not known",
        why="A call is compiled if it is in the table of operations: a builtin, a function of "
            "math, or one of NumPy's. A call of a Python function whose statements can be "
            "compiled is inlined. Names are looked up when the function is called, as in "
            "Python.",
        help="call it before or after the loop; functions of NumPy and math are compiled, and "
             "Python functions of your own",
        help_outside_loop="call it outside of the function; functions of NumPy and math are "
                          "compiled, and Python functions of your own",
        bad="""\
def helper(v):
    return hash(v)

@fuse
def apply(x, out):
    for i in range(len(x)):
        out[i] = helper(x[i])

apply(np.ones(8), np.zeros(8))
""",
        good="""\
@fuse
def apply(x, out):
    for i in range(len(x)):
        out[i] = np.sqrt(x[i])

apply(np.ones(8), np.zeros(8))
""",
    ),
    Code(
        code="LOWER_UNDEFINED",
        title="a name that is not defined",
        why="The name has no value when the function is called: it is misspelt, its import is "
            "missing, or the module has nothing of that name. Python raises the exception.",
        help="define or import the name before the function is called",
        bad="""\
@fuse
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * FACTOR
    return s

try:
    total(np.ones(3))
except NameError:
    pass
""",
        good="""\
FACTOR = 2.0

@fuse
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * FACTOR
    return s

total(np.ones(3))
""",
    ),
    Code(
        code="LOWER_RECURSION",
        title="calls without an end",
        why="A call of a Python function is inlined. A recursive one can be inlined only if "
            "constants determine its depth: `power(x, 3)`, not `power(x, n)`.",
        help="write the recursion as a loop",
        bad="""\
def power(v, n):
    return 1.0 if n == 0 else v * power(v, n - 1)

@fuse
def powers(x, n, out):
    for i in range(len(x)):
        out[i] = power(x[i], n)

powers(np.ones(8), 3, np.zeros(8))
""",
        good="""\
def power(v, n):
    return 1.0 if n == 0 else v * power(v, n - 1)

@fuse
def cubes(x, out):
    for i in range(len(x)):
        out[i] = power(x[i], 3)

cubes(np.ones(8), np.zeros(8))
""",
    ),
    Code(
        code="LOWER_LIBRARY",
        title="a computation that a library does",
        why="LAPACK computes solutions of linear systems, inverses and powers of matrices; "
            "pocketfft computes Fourier transforms; NumPy sorts. A compiled loop would be "
            "neither faster nor exactly as accurate, so the call stays; the loops before and "
            "after it are compiled separately. Under `reassociate=False`, NumPy's sums and "
            "products are such calls, too, since their order is part of the result.",
        help="leave the call to the library, and keep it out of loops; the code around it "
             "is compiled",
        bad="""\
@fuse
def solved(X, y):
    for i in range(len(y)):
        y[i] = y[i] * 2.0
    return np.linalg.solve(X, y)

solved(np.eye(3), np.ones(3))
""",
        good="""\
@fuse
def doubled(y):
    for i in range(len(y)):
        y[i] = y[i] * 2.0

def solved(X, y):
    doubled(y)
    return np.linalg.solve(X, y)

solved(np.eye(3), np.ones(3))
""",
    ),
    Code(
        code="LOWER_SUBSCRIPT",
        title="a subscript that does not name one element",
        why="Loops are compiled element by element: every subscript is an integer, one for each "
            "axis, and is proved or tested to be in range. Slices are views, whose elements are "
            "those of another array; arrays of integers select elements of it. A single bool "
            "adds an axis of length one or zero.",
        help="use ints, slices or an array of ints as subscripts",
        bad="""\
@fuse
def kept(x, keep, out):
    out[:] = x[keep]

kept(np.ones(10), True, np.zeros(10))
""",
        good="""\
@fuse
def kept(x, keep, out):
    if keep:
        out[:] = x

kept(np.ones(10), True, np.zeros(10))
""",
    ),
    Code(
        code="LOWER_TYPE",
        title="a value whose type is not compiled",
        why="Element types are bool, int8 to int64, uint8 to uint64, float16 to float64, "
            "complex64, complex128 and records of these; arrays are of the class numpy.ndarray, "
            "with one to five axes. A list that is an argument is compiled as an array if its "
            "items are numbers of one type, or lists of such. Other objects and strings are left "
            "to Python; arrays of other kinds also, under GUARD_DTYPE.",
        help="pass numbers, arrays of numbers or lists of numbers in its place",
        bad="""\
from collections import UserList

@fuse
def double(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2

double(UserList([1, 2]), np.zeros(2))
""",
        good="""\
@fuse
def double(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2

double(np.array([1.0, 2.0]), np.zeros(2))
""",
    ),
    Code(
        code="LOWER_COMPLEX",
        title="an operation on complex numbers that is not compiled",
        why="Complex numbers are compiled as pairs of floats: `+ - * /`, powers, comparisons "
            "for equality, parts, `abs`, conjugates, `np.exp` and some other functions. The "
            "remaining operations would need the same algorithm as Python's or NumPy's; and "
            "only floats are ordered.",
        help="compute with the real and imaginary parts as two floats",
        bad="""\
@fuse
def turned(phase, out):
    for i in range(len(phase)):
        out[i] = np.expm1(1j * phase[i])

turned(np.ones(8), np.zeros(8, dtype=complex))
""",
        good="""\
@fuse
def turned(phase, out):
    for i in range(len(phase)):
        out[i] = np.exp(1j * phase[i]) - 1

turned(np.ones(8), np.zeros(8, dtype=complex))
""",
    ),
    Code(
        code="LOWER_JOIN",
        title="a value of two types where one is needed",
        why="A name may have one of several types, depending on the data; but the elements of a "
            "list must have one type, and so must subscripts. A number cannot be real or "
            "complex depending on the data.",
        help="give it one type on every path: convert it, by `float(...)` or `complex(...)`, or "
             "start with `0.0` where floats follow",
        bad="""\
@fuse
def larger(x, y):
    out = []
    for i in range(len(x)):
        out.append(x[i] if x[i] > y[i] else y[i])
    return out

larger(np.ones(8, dtype=np.float32), np.zeros(8))
""",
        good="""\
@fuse
def larger(x, y):
    out = []
    for i in range(len(x)):
        out.append(float(x[i] if x[i] > y[i] else y[i]))
    return out

larger(np.ones(8, dtype=np.float32), np.zeros(8))
""",
    ),
)
