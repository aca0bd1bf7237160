"""The page of functions is what the tables say, and what it lists is compiled."""
from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from paths import ROOT
from written import written

from transpile import fuse
from transpile.cli.supported_functions import supported_functions

PAGE = ROOT / "transpile" / "README.md"

EXAMPLES = dict(line.split(": ", 1) for line in """\
.all: x.all()
.any: x.any()
.argmax: x.argmax()
.argmin: x.argmin()
.astype: x.astype(np.float32)
.clip: x.clip(0.0, 1.0)
.conj: x.conj()
.conjugate: x.conjugate()
.copy: x.copy()
.cumprod: x.cumprod()
.cumsum: x.cumsum()
.diagonal: X.diagonal() * 1.0
.dot: x.dot(y)
.fill: x.fill(s)
.flatten: X.flatten()
.item: x.sum() * x[0].item()
.max: X.max(axis=0)
.mean: x.mean()
.min: x.min()
.nonzero: x.nonzero()
.prod: x.prod()
.ravel: X.ravel() * 1.0
.repeat: x.repeat(2)
.reshape: x.reshape(-1, 1) * 2.0
.round: x.round(1)
.squeeze: X[:1].squeeze() * 1.0
.std: x.std()
.sum: X.sum(axis=1)
.swapaxes: X.swapaxes(0, 1) * 1.0
.take: x.take(k)
.trace: X.trace()
.transpose: X.transpose() * 1.0
.var: x.var()
append: np.append(x, y)
arange: np.arange(n) * s
broadcast_to: np.broadcast_to(x, (3, len(x))) * 2.0
column_stack: np.column_stack((x, y))
concatenate: np.concatenate((x, y))
copyto: np.copyto(x, y)
cross: np.cross(x[:3], y[:3])
diag: np.diag(X) * 1.0
diagflat: np.diagflat(x)
diagonal: np.diagonal(X) * 1.0
dot: np.dot(x, y)
dstack: np.dstack((X, X))
einsum: np.einsum("i,i->", x, y)
empty: np.empty(n).size + x.sum()
empty_like: np.empty_like(x).size + x.sum()
eye: np.eye(n) * s
fill_diagonal: np.fill_diagonal(X, s)
finfo: x * np.finfo(np.float64).eps
flatnonzero: np.flatnonzero(x)
fromiter: np.fromiter((v * v for v in x), np.float64)
full: np.full(n, s) * x[0]
full_like: np.full_like(x, s) + x
geomspace: np.geomspace(1.0, 8.0, n) * s
hstack: np.hstack((x, y))
identity: np.identity(n) * s
iinfo: k + np.iinfo(np.int16).max
inner: np.inner(x, y)
linspace: np.linspace(0.0, s, n) * s
logspace: np.logspace(0.0, 1.0, n) * s
matmul: np.matmul(X, x)
ndarray: np.ndarray(n).size + x.sum()
ones: np.ones(n) * s
ones_like: np.ones_like(x) + x
outer: np.outer(x, y)
place: np.place(x, x > s, 0.0)
put: np.put(x, k, s)
putmask: np.putmask(x, x > s, s)
select: np.select([x > s], [x], y)
squeeze: np.squeeze(X[:1], 0) * 1.0
stack: np.stack((x, y))
tensordot: np.tensordot(X, X, 1)
trace: np.trace(X)
tri: np.tri(n) * s
vdot: np.vdot(x, y)
vstack: np.vstack((x, y))
zeros: np.zeros(n) + s
zeros_like: np.zeros_like(x) + x
""".splitlines())
"""For each method, and each function whose arguments no table has, a call that is compiled."""


def section(title: str) -> str:
    return PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_page_is_what_the_code_says(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, supported_functions())


def test_each_function_without_arguments_has_an_example() -> None:
    listed = re.findall(r"`np\.([\w.]+)\(…\)`", section("NumPy: further functions"))
    listed += re.findall(r"`(\.\w+)`", section("Methods of arrays"))
    assert sorted(listed) == sorted(EXAMPLES)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", EXAMPLES)
def test_what_the_page_lists_is_compiled(name: str, tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(x, y, X, k, n, s):\n    return {EXAMPLES[name]}\n"
    vectors = np.arange(1.0, 6.0), np.arange(2.0, 7.0)
    arguments = *vectors, np.arange(25.0).reshape(5, 5), np.array([1, 2]), 5, 2.5
    fused = fuse(written(tmp_path, text).f, on_reject="raise")
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    expected = fused.__wrapped__(*copies)
    found = fused(*arguments)
    if expected is None:  # it writes to an argument
        found, expected = arguments, copies
    are_several = isinstance(found, tuple)
    pairs = zip(found, expected, strict=True) if are_several else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-14)
    assert fused.stats.compiled == 1
