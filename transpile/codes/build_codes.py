"""Diagnostic codes of building: no source, no compiler, or a kernel whose results differ."""
from __future__ import annotations

from .reason_code import Code

__all__ = ["BUILD"]

_TWICE = """\
@fuse
def twice(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2.0

twice(np.ones(8), np.zeros(8))
"""

BUILD = (
    Code(
        code="SOURCE_UNAVAILABLE",
        title="the function's source cannot be found",
        why="Compilation starts from source text. Functions made by exec or eval, and lambdas, "
            "have none of their own. Nor has a function whose file was edited after it was "
            "imported, until Python is started again or the module is reloaded: the text is "
            "compared with what Python runs.",
        help="define the function by `def` in a file or a notebook cell",
        bad="""\
names = {}
exec("def twice(x):\\n    return [v * 2.0 for v in x]", names)
twice = fuse(names["twice"])
twice(np.ones(8))
""",
        good=_TWICE,
    ),
    Code(
        code="SOURCE_UNPARSABLE",
        title="the file is not Python",
        why="The file has a syntax error, or is written for another version of Python than the "
            "one that runs the command.",
        help="correct the syntax, or run the command with the version of Python that the file "
             "is for",
        bad="@fuse\ndef twice(x)\n    return [v * 2.0 for v in x]\n",
        good=_TWICE,
    ),
    Code(
        code="BUILD_NO_COMPILER",
        title="there is no C compiler on this machine",
        why="The compilers tried are $CC, cc, gcc, clang, and the one of the ziglang wheel. "
            "`pip install ziglang` (the extra `zig`) installs that one without root access. "
            "Kernels in the cache need no compiler.",
        help="install a C compiler, for instance `pip install ziglang`, or set $CC to one",
        bad="# with CC=/nonexistent\n" + _TWICE,
        good=_TWICE,
    ),
    Code(
        code="BUILD_FAILED",
        title="the C compiler failed",
        why="The report contains the compiler's own message. Usual causes are an unknown flag "
            "in $TRANSPILE_CFLAGS, a full disk, or a killed process; or the call is compiled for "
            "a target that this machine does not run, which the report then says.",
        help="look at the compiler's message, at $CC and at $TRANSPILE_CFLAGS",
        bad="# with TRANSPILE_CFLAGS=--no-such-flag\n" + _TWICE,
        good=_TWICE,
    ),
    Code(
        code="VERIFY_MISMATCH",
        title="machine code and Python do not agree",
        why="With verify=…, a share of the calls runs both as machine code and as Python; the "
            "results of this call differ, and FuseError shows both. Floats may differ by a "
            "relative error of 1e-9 (single precision: 1e-4). A sum whose terms cancel can "
            "differ more, since it is added in another order; reassociate=False keeps Python's "
            "order. Any other difference is a bug of transpile; please report it with the "
            "function and its arguments.",
        help="use `reassociate=False` if a sum of floats differs in its last digits",
        bad="""\
@fuse(verify=1.0)
def total(x):
    s = 0.0
    for v in x:
        s += v
    return s

total(np.tile([1e16, 1.0, -1e16], 100))
""",
        good="""\
@fuse(verify=1.0, reassociate=False)
def total(x):
    s = 0.0
    for v in x:
        s += v
    return s

total(np.tile([1e16, 1.0, -1e16], 100))
""",
    ),
)
