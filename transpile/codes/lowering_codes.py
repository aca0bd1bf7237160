"""Diagnostic codes of lowering: why a statement, or a whole function, stays Python."""
from __future__ import annotations

from .reason_code import Code

__all__ = ["LOWERING"]

LOWERING = (
    Code(
        code="LOWER_UNSUPPORTED",
        title="a construct that is not compiled",
        why="Only loops over numbers and arrays of numbers are compiled. Statements and "
            "expressions that have no meaning there (a try, an await, a string) stay "
            "Python, exactly as they were. What stands before them, behind them or in their blocks "
            "is compiled all the same, each stretch by itself.",
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
        why="A call is compiled when it names a row of the table of operations: a builtin, a "
            "function of math, or one of NumPy's; or a Python function whose own statements can "
            "be compiled, which stand in its place then. Names are looked up when the function "
            "is called, as Python does.",
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
        code="LOWER_RECURSION",
        title="calls without an end, or of too much code",
        why="A call of a Python function is compiled as the statements of that function. One that "
            "calls itself has an end only where constants tell it: `power(x, 3)`, not "
            "`power(x, n)`. Nor may helpers that call helpers come to more than a few thousand "
            "lines.",
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
        why="Linear systems, inverses and powers of matrices are LAPACK's, Fourier transforms "
            "pocketfft's, and sorts NumPy's own. No loop of ours would be faster or exactly "
            "as accurate, so the call stays; the loops before it and after it are compiled apart "
            "from each other. Under `reassociate=False` sums and products of NumPy's are such "
            "calls, too, for it has an order of its own.",
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
            "those of another array; arrays of integers choose elements of it. One bool adds an "
            "axis to an array, which has a row, or none.",
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
        why="Element types are bool, int8 to int64, uint8 to uint64, float16 to float64; arrays "
            "are numpy.ndarray itself with one to five axes. Lists are taken for arrays where a "
            "`for` goes through them and asks for items and the length alone. Other objects and "
            "strings run as Python; so do arrays of other kinds, under GUARD_DTYPE.",
        bad="""\
@fuse
def double(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2

double(bytearray([1, 2]), np.zeros(2))
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
        why="Complex numbers are compiled as pairs of floats: `+ - * /`, squares, comparisons, "
            "parts, `abs`, conjugates, `np.exp` and some others. What is left would need the very "
            "algorithm that Python or NumPy has, and only floats have an order.",
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
        why="A name may be of one type or another, depending on the data; the elements of a list "
            "have to be of one, as have subscripts, and a number is real or complex.",
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
