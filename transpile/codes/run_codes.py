"""Diagnostic codes of calls: why Python serves a call whose signature could be compiled."""
from __future__ import annotations

from .reason_code import Code

__all__ = ["RUN"]

RUN = (
    Code(
        code="RUN_PYTHON_FASTER",
        title="Python is measured to be faster for such calls",
        why="A call of compiled code has a cost of its own: about 0.1 µs, more where a list has to "
            "be converted, which takes the longer the longer it is, however early the loop stops. "
            "So the first calls are timed, some compiled and some as Python, and calls of that "
            "size go to the faster one. After a while it is measured again.",
        help="nothing needs to be done; compiled code pays where one call does more: decorate "
             "the function that has the outer loop, and pass arrays in place of lists",
        bad="""\
# with TRANSPILE_SELECT=time
@fuse
def contains(xs, v):
    for x in xs:
        if x == v:
            return True
    return False

numbers = list(range(100_000))
for _ in range(100):
    contains(numbers, 0)
""",
        good="""\
# with TRANSPILE_SELECT=time
@fuse
def contains(xs, v):
    for x in xs:
        if x == v:
            return True
    return False

numbers = np.arange(1_000_000)
for _ in range(20):
    contains(numbers, 999_999)
""",
    ),
    Code(
        code="RUN_REBOUND",
        title="a global that the function uses is bound to something else again and again",
        why="A function, a class, a str or a tuple outside of the function decides what is "
            "compiled, so that the function is compiled anew where the name is bound to another "
            "one: 8 times, and once more for every 100 calls that compiled code has served, 64 "
            "times at most. After that Python serves the calls with further values. Numbers and "
            "arrays are read at each call, and may change.",
        help="pass the value as an argument, or keep numbers that change in names or arrays of "
             "their own",
        bad="""\
@fuse(on_reject="silent")
def weighted(x):
    s = 0.0
    for v in x:
        s += v * WEIGHTS[0] + WEIGHTS[1]
    return s

for k in range(20):
    WEIGHTS = (k, 1.0)
    weighted(np.arange(4.0))
""",
        good="""\
@fuse(on_reject="silent")
def weighted(x, weights):
    s = 0.0
    for v in x:
        s += v * weights[0] + weights[1]
    return s

for k in range(20):
    weighted(np.arange(4.0), (k, 1.0))
""",
    ),
    Code(
        code="RUN_REDEFINED",
        title="the function is defined again and again, and Python serves its first calls",
        why="A decorated function inside another function, or in a loop, is another function at "
            "each definition, and each needs about a millisecond until it has its compiled code. "
            "From the third one on, Python serves the calls until they have taken as long.",
        help="where each function has few calls, nothing needs to be done; else define it once, "
             "outside, and pass what changes as an argument",
        bad="""\
# with TRANSPILE_SELECT=time
def scaling(factor):
    @fuse
    def scaled(xs):
        return [factor * v for v in xs]
    return scaled

for k in range(20):
    scaled = scaling(float(k))
    scaled([1.0, 2.0])
""",
        good="""\
# with TRANSPILE_SELECT=time
@fuse
def scaled(xs, factor):
    return [factor * v for v in xs]

for k in range(20):
    scaled([1.0, 2.0], float(k))
""",
    ),
    Code(
        code="RUN_SIGNATURES",
        title="the function was called with too many signatures",
        why="Each combination of argument types is compiled by itself, 64 of them at most. Calls "
            "with others run as Python.",
        help="convert arguments to a few types before the call, for instance by `float(a)` or "
             "`np.asarray(x, dtype=np.float64)`",
        bad="""\
@fuse(on_reject="silent")
def count(a, b, word):
    n = 0
    for c in word:
        n += c.isdigit()
    return n

kinds = (int, float, bool, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64)
for kind in kinds:
    for other in kinds:
        count(kind(1), other(1), "word")
""",
        good="""\
@fuse(on_reject="silent")
def count(a, b, word):
    n = 0
    for c in word:
        n += c.isdigit()
    return n

for kind in (int, np.int8, np.int16, np.int32, np.int64):
    count(int(kind(1)), int(kind(1)), "word")
""",
    ),
)
