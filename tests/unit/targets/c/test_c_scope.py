"""Names of the user's may be words that generated C, or a header of its, has for itself; and what
a check does that fails."""
from __future__ import annotations

import keyword
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from loopir.ir_parser import parse
from targets.build.c_compiler import find_compiler
from targets.c.emit_c import emit
from targets.isa.target import Target
from targets.isa.target_registry import TARGETS, runnable_targets
from transpile import fuse

FEW = 28
OTHERS = ("_2x", "_4", "__1", "memcpy", "y0", "j1", "main", "errno", "bool_", "complex", "_Bool")


def exps(x, out):
    for i in range(len(x)):
        out[i] = np.exp(x[i]) * 3.0


def words(target: Target) -> list[str]:
    """What is defined where C is made for `target`, and the words in that."""
    c = fuse(exps, target=target.name).emit("c", np.ones(9), np.ones(9))
    command = [*find_compiler().command, *target.cflags, "-dM", "-E", "-x", "c", "-"]
    run = subprocess.run(command, input=c, text=True, capture_output=True, check=True)
    found = re.findall(r"^#define ([^\W_]\w*)", run.stdout, re.MULTILINE)
    found = [*OTHERS, *found, *re.findall(r"[^\W\d]\w+", re.sub(r"(?s)/\*.*?\*/", "", c))]
    return [w for w in dict.fromkeys(found) if not keyword.iskeyword(w) and w not in ("np", "len")]


@pytest.mark.share(26)
@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("target", runnable_targets(), ids=lambda t: t.name)
def test_words_of_c(
    target: Target, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    found = words(target)[part::6]
    for names in (found[k : k + FEW] for k in range(0, len(found), FEW)):
        lines = [f"def f(X_, Y_, {', '.join(names)}):", " for I_ in np.arange(len(X_)):"]
        lines += [f"  Y_[I_] = {' + '.join(names)}", " for I_ in np.arange(len(X_)):"]
        lines += [f"  {n} = X_[I_] * {k}\n  Y_[I_] += {n}" for k, n in enumerate(names)]
        f = written(tmp_path, "\n".join(["import numpy as np", *lines, " return Y_"])).f
        given = [float(k) for k in range(len(names))]
        wanted = f(np.arange(9.0), np.zeros(9), *given)
        got = fuse(f, target=target.name)(np.arange(9.0), np.zeros(9), *given)
        assert np.array_equal(got, wanted)


COUNTED = """
def k(at: i64[::1], n: mut(i64[::1]), sums: mut(f64[:, ::1])):
    disjoint(at, n)
    disjoint(at, sums)
    disjoint(n, sums)
    for i in loop(0, at.shape[0]):
        inside = at[i] < n.shape[0]
        check(inside, "replay")
        if inside:
            n[at[i]] = n[at[i]] + 1
        for j in loop(0, sums.shape[1]):
            sums[i, j] = sums[i, j] + 1.0
"""


@pytest.mark.parametrize("target", ["scalar", "avx2"])
def test_a_kernel_returns_where_python_must_replay_the_call(target: str) -> None:
    """Though by `Kernel.stops` it may go on: the C compiler then knows that the check holds."""
    c = emit(parse(COUNTED), TARGETS[target])
    assert "return status | 16;" in c
    assert "status |= 16" not in c


def centers(x, labels, sums, counts):
    for i in range(x.shape[0]):
        c = labels[i]
        counts[c] += 1
        for t in range(x.shape[1]):
            sums[c, t] += x[i, t]


@pytest.mark.parametrize("wrong", [0, 150, 299, None])
@pytest.mark.parametrize("label", [-5, -4, 3, 4, 2**40])
def test_what_was_written_before_is_put_back(wrong: int | None, label: int) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(-4, 4, 300)
    if wrong is not None:
        labels[wrong] = label
    args = rng.random((300, 3)), labels, np.zeros((4, 3)), np.zeros(4, np.int64)
    fused = fuse(centers, on_reject="raise")
    for _ in range(2):
        assert_same(outcome(fused, args), outcome(centers, args), "centers", ulps=0)
    assert fused.stats.compiled or fused.stats.replays == {"GUARD_BOUNDS": 2}
