"""Names of arrays that are bound to new ones, again and again: memory that nothing else holds."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

UPDATES = (
    "u = u + x", "u = u * 0.5 + 1.0", "u = np.maximum(u, x)", "u = np.where(u > 1, u, x)",
    "u = -u", "u = A @ u", "u = np.dot(A, u)", "u = u - x * np.sum(u)",
    "u = np.sqrt(np.abs(u)) + u", "u = u[::-1] + u", "u = u.astype(np.float32) + x",
    "u = x - u\n        u = u * 2 if k > 1 else u + 1", "w = u * 2\n        u = w + u",
    "u = np.clip(u, 0, 1)", "u = u + u[0]", "u = u.copy() + u[::-1]", "u = np.roll(u, 1)",
)
STARTS = ("np.zeros(n)", "x.copy()", "x * 1.0", "np.ones_like(x)", "np.dot(A, x)", "x",
          "x[:]", "np.arange(n)")
PASSING = (
    "s += u[0] if n else 1", "s += u.sum()", "out[i] = u", "s += len(u)", "out[i] = u.copy()",
    "s += np.dot(u, x)", "out[i] += u[::-1]", "x[0:1] = u[0:1]", "out[i] = u * 2",
    "for v in u:\n            s += v", "s += max(u) if n else 2", "if u[0:1].sum() > 3: break",
)
HELD = (
    "w = u", "kept.append(u)", "w = u[1:]", "kept.append(u[::2])", "w = (u, 1)",
    "w = np.asarray(u)", "w = u.reshape(-1)", "w = np.ravel(u)", "w = u if k else x", "w = [u, u]",
    "w, s = u, 1", "w = u.T", "f = lambda: u\n        w = f", "w = z = u", "w = u or x",
    "d = {1: u}",
    "w = [u[1:] for _ in range(2)]", "kept += [u]", "w = np.real(u)", "kept.insert(0, u)",
    "w = u.view()", "w = np.broadcast_to(u, (2, n))", "w = iter(u)", "(w := u)", "w = zip(u, x)",
    "p = slice(1, None)\n        w = u[p]", "w = (v for v in u)", "w = x.clip(-9, 9, u)",
    "w = u[...]", "w = max(u, u) if n < 2 else 0", "w = np.multiply(x, 2, u)", "w = u[None]",
    "w = np.cumsum(x, 0, None, u)", "w = u[(np.s_[1:],)]", "w = np.add(x, 1, out=u)",
)
WHOLE = ("w = u", "w = np.asarray(u)", "w, s = u, 1", "w = z = u", "w = np.real(u)", "(w := u)")
"""Those that are compiled as they are."""

TEXT = """
import numpy as np
def f(x, A, k):
    n, s, out = len(x), 0.0, np.zeros((4, len(x)))
    {}
    for i in range(k):
        {}
        {}
    return {}
"""


SLICED = """
def f(x, part):
    u, v, s = x * 1.0, x, 0.0
    for i in range(4):
        s = s + v.sum()
        v = u[part]
        u = u + x
    return u, s, v
"""


def arguments(n: int, k: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    return rng.integers(-3, 4, n) * 1.0, rng.integers(-3, 4, (n, n)) * 0.5, k


def judged(tmp_path: Path, *parts: str) -> Any:
    text = TEXT.format(*parts)
    plain = written(tmp_path, text).f
    fused = fuse(plain, on_reject="silent")
    for n, k in ((5, 3), (1, 1), (4, 0), (0, 2)):
        wanted, got = outcome(plain, arguments(n, k)), outcome(fused, arguments(n, k))
        wanted, got = (o._replace(value=shown(o.value)) for o in (wanted, got))
        assert_same(got, wanted, f"{text} {n} {k}")
    return fused


def shown(value: Any) -> Any:
    """What is returned, with the elements of what goes through some, and of what gives it."""
    if isinstance(value, tuple):
        return tuple(map(shown, value))
    return [*value] if hasattr(value, "__next__") else value() if callable(value) else value


@pytest.mark.share(250)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("update", UPDATES)
def test_bound_again(update: str, start: str, tmp_path: Path) -> None:
    deeper = update.replace("\n", "\n    ")
    for lines in (("s += 1", update), (f"if s < 2:\n            {deeper}", "s += 1")):
        fused = judged(tmp_path, f"u = {start}", *lines, "u, s")
        if start in STARTS[:4] and not any(w in update for w in ("roll", "float32")):
            assert fused.stats.compiled > 1
            assert not in_parts(fused)


@pytest.mark.share(96)
@pytest.mark.parametrize("passing", PASSING)
@pytest.mark.parametrize("start", STARTS[:5])
def test_read_on_the_way(start: str, passing: str, tmp_path: Path) -> None:
    update = "u = A @ u" if "A" in start else "u = u * 0.5 + x"
    for lines in ((passing, update), (update, passing)):
        fused = judged(tmp_path, f"u = {start}", *lines, "u, s, out")
        text = fused.emit("python", *arguments(5, 3))
        assert len(re.findall(r"\bu = ", text)) == 1
        assert fused.stats.compiled > 1
        assert not in_parts(fused)


@pytest.mark.share(116)
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("start", STARTS[:2])
def test_held(start: str, held: str, tmp_path: Path) -> None:
    """What is held stays as it was."""
    for update in ("u = u * 0.5 + x", "u = A @ u"):
        for lines in ((held, update), (update, held)):
            judged(tmp_path, f"w, kept, u = None, [], {start}", *lines, "u, w, s, kept")
    if "kept" not in held:
        update = "u = u * 0.5 + x\n        s += 1"
        for lines in ((held, update), (update, held)):
            fused = judged(tmp_path, f"w, u = x.copy(), {start}", *lines, "u, w, s")
            assert fused.stats.compiled == 4
            assert not in_parts(fused) or held not in WHOLE


def test_what_others_may_see(tmp_path: Path) -> None:
    for line in ("w = u[0:1]", "s += u.sum()", "g = lambda: u"):
        judged(tmp_path, "global u\n    u = x * 1.0", line, "u = u + x", "u, s")
    plain = written(tmp_path, SLICED).f
    fused = fuse(plain, on_reject="silent")
    for part in (slice(1, None), 2, np.array([1, 2]), Ellipsis, None, (slice(2),)):
        args = (np.arange(5.0), part)
        assert_same(outcome(fused, args), outcome(plain, args), f"{part}")


@pytest.mark.share(12)
@pytest.mark.parametrize("body", [
    "    s += v\n            u = u + v",
    "    s += v\n            if v > 0:\n                u = u * 2",
], ids=["bound", "in a branch"])
@pytest.mark.parametrize("head", [
    "for v in u:", "for j, v in enumerate(u):", "for v, z in zip(u, x):", "for v in reversed(u):",
    "for v in u[1:]:", "for v in [*u]:",
])
def test_what_is_gone_through_stays(head: str, body: str, tmp_path: Path) -> None:
    judged(tmp_path, "u = x * 1.0", head, body, "u, s")
