"""Names of the user's may be words that generated C, or a header of its, has for itself."""
from __future__ import annotations

import keyword
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from written import written

from targets.build.c_compiler import find_compiler
from targets.isa.target import Target
from targets.isa.target_registry import runnable_targets
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
