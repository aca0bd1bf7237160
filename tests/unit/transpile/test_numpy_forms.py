"""Functions of whole arrays, form by form: compiled, and what NumPy gives, in value and in kind."""
from __future__ import annotations

import ast
import copy
import linecache
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from whole_forms import FORMS

from transpile import fuse

NAMES = ("x", "y", "z", "z0", "X", "Y", "A", "k", "m", "M", "s", "e", "c", "n", "j")
DTYPES = ("f8", "f4", "i8", "i4", "u1", "?", "f2")
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "dense": lambda a: a,
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, axis=0), 2, axis=-1)[::2, ..., ::2]
    if a.ndim > 1 else np.repeat(a, 2)[::2],
    "backwards": lambda a: np.flip(np.ascontiguousarray(np.flip(a))),
}


def arguments(
    dtype: str, n: int = 5, special: bool = False, layout: str = "dense"
) -> dict[str, Any]:
    """Small whole numbers and halves; with `special`, NaN, infinities and zeros among floats."""
    rng = np.random.default_rng(n)
    lay = LAYOUTS[layout]

    def some(*shape: int, dtype: str = dtype) -> np.ndarray:
        a = rng.integers(0 if dtype == "u1" else -4, 9, shape)
        if np.dtype(dtype).kind == "f":
            a = a + 0.5 * rng.integers(0, 2, shape)
            if special:
                a = np.where(rng.random(shape) < 0.4, rng.choice(SPECIAL, shape), a)
        return lay(a.astype(dtype))

    x, y = some(n), some(n)
    y[y == 0] = 1 if n == 5 else 0  # else quotients warn, which is Python's to do
    return {
        "x": x, "y": y, "z": some(4), "z0": some(n), "X": some(4, n), "Y": some(4, n),
        "A": some(2, 4, 3), "k": rng.integers(0, max(n, 1), n), "m": rng.random(n) > 0.4,
        "M": lay(rng.random((4, n)) > 0.4), "s": some(1)[0], "e": np.sort(some(4)),
        "c": rng.integers(-4, 9, n) + 1j * rng.integers(-4, 9, n), "n": n, "j": 2,
    }  # fmt: skip


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)


@cache
def function(*forms: str) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """What gives all of `forms`, and the names that it takes; statements come before "; "."""
    used = {n.id for f in forms for n in ast.walk(ast.parse(f)) if isinstance(n, ast.Name)}
    names = tuple(n for n in NAMES if n in used)
    *first, value = forms[0].split("; ") if len(forms) == 1 else ("", f"({', '.join(forms)})")
    lines = "".join(f"    {line}\n" for line in [*filter(None, first), f"return {value}"])
    text = f"def f({', '.join(names)}):\n{lines}"
    file = f"<forms {forms[0]} and {len(forms)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space["f"], names


def kind(value: Any, args: Sequence[Any]) -> Any:
    """Of each array how it lies, and whose memory it is."""
    if isinstance(value, (tuple, list)):
        return [kind(v, args) for v in value]
    if not isinstance(value, np.ndarray):
        return type(value)
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    lies = value.flags.c_contiguous, value.flags.f_contiguous
    return lies, value.flags.writeable, [np.shares_memory(value, a) for a in arrays]


def kind_of(fn: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    args = copy.deepcopy(given)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            value = fn(*args)
        except Exception as e:
            return type(e)
    return kind(value, args), sorted({str(w.message) for w in raised})


def agree(forms: tuple[str, ...], fused: Callable[..., Any], given: dict[str, Any]) -> None:
    fn, names = function(*forms)
    args = tuple(given[n] for n in names)
    what = f"{forms} of {args}"
    ulps = 4096 if np.asarray(given["x"]).dtype == np.float16 else 64
    assert_same(outcome(fused, args), outcome(fn, args), what, ulps)
    assert kind_of(fused, args) == kind_of(fn, args), what


AT_ONCE = 15  # a kernel has a most of parameters, and each result is one
GROUPS = {
    f"{name}-{k}" if k else name: tuple(forms[k : k + AT_ONCE])
    for name, text in FORMS.items()
    for forms in [[line.strip() for line in text.strip().splitlines() if "; " not in line]]
    for k in range(0, len(forms), AT_ONCE)
}
GROUPS |= {
    line.strip(): (line.strip(),)
    for text in FORMS.values() for line in text.splitlines() if "; " in line
}
EACH = [form for forms in GROUPS.values() for form in forms]


@pytest.mark.share(308)
@pytest.mark.parametrize("name", GROUPS)
def test_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All forms in one function: compiled, and right of few elements and of odd ones, too."""
    forms = GROUPS[name]
    fused = fuse(function(*forms)[0], target="scalar", on_reject="silent")
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    agree(forms, fused, arguments("f8"))
    monkeypatch.setenv("TRANSPILE_FALLBACK", "python")
    for n in (0, 1, 9):
        agree(forms, fused, arguments("f8", n, special=n > 1))


WARNED = pytest.mark.xfail(reason="in what order infinities and NaN are added decides of warnings")


@pytest.mark.long
@pytest.mark.parametrize("form", [
    pytest.param(form, marks=[WARNED] if form == "np.trapezoid(x, y)" else []) for form in EACH
])
def test_alone(form: str) -> None:
    """On every dtype, of every length, however the arrays lie; compiled or not."""
    fused = fuse(function(form)[0], on_reject="silent")
    for dtype in DTYPES:
        for n in (5, 0, 1, 8):
            for layout in LAYOUTS:
                agree((form,), fused, arguments(dtype, n, layout=layout))
        for n in (5, 9):
            agree((form,), fused, arguments(dtype, n, special=True))


SEVERAL = [form for form in EACH if {"X", "Y", "A", "M"} & {*function(form)[1]}]
CUTS = {"row": np.s_[:1], "column": np.s_[:, :1], "element": np.s_[:1, :1]}


@pytest.mark.share(518)
@pytest.mark.parametrize("form", SEVERAL)
def test_of_one_row_or_column(form: str) -> None:
    """Of all arrays, and of each one alone: compiled, but where NumPy raises, or gives an array
    without axes.
    """
    fn, names = function(form)
    whole = arguments("f8")
    arrays = [n for n in names if np.ndim(whole[n]) > 1]
    for cut, index in CUTS.items():
        for chosen in {tuple(arrays), *((n,) for n in arrays)}:
            given = whole | {n: whole[n][index] for n in chosen}
            fused = fuse(fn, target="scalar", on_reject="silent")
            agree((form,), fused, given)
            value, error = outcome(fn, tuple(given[n] for n in names))[:2]
            no_axes = isinstance(value, np.ndarray) and value.ndim == 0
            refused = {code for code in fused.stats.replays if not code.startswith("GUARD_")}
            assert not refused or error or no_axes, (cut, chosen)


AXES = """
    x.reshape(2, None); x.reshape(2, 'C'); x.reshape(shape=4); x.reshape(4, 1, order='F')
    x.reshape(()); x.reshape()
    x.transpose((0, 2, 1)); x.transpose(0, 3); x.transpose(3); x.transpose((3,)); x.transpose(())
    x.transpose(-1, 0); x.transpose((1, -2)); np.transpose(x, (0, 3)); x.transpose(0, 2) * 2
    x.swapaxes(0, 2) * 2; x.swapaxes(0, -3) * 2; np.moveaxis(x, 0, 2) * 2; np.expand_dims(x, 3) * 2
    np.flip(x, 2) * 2; np.flip(x, -3) * 2; np.roll(x, 1, 2) * 2; np.sum(x, 2); np.cumsum(x, -3)
    np.diff(x, axis=2); np.repeat(x, 2, axis=2); np.concatenate((x, x), 2); np.stack((x, x), 3)
    np.argmax(x, 2); np.take(x, [0], axis=2); np.squeeze(x, 2); np.rot90(x, 1, (0, 2))
    np.linalg.norm(x, axis=2); np.mean(x, axis=(0, 2)); np.trapezoid(x, axis=2); np.var(x, axis=-3)
    np.gradient(x, axis=2); np.append(x, x, axis=2); np.insert(x, 0, 1, axis=2)
    np.delete(x, 0, axis=2); np.average(x, axis=2); np.einsum('ijk->i', x); np.tensordot(x, x, 2)
"""


@pytest.mark.parametrize("form", re.findall(r"[^\s;][^;\n]*", AXES))
def test_axes_that_are_not_there(form: str) -> None:
    f, _ = function(form)
    fused = fuse(f, on_reject="silent")
    for x in (np.arange(4.0), np.arange(4.0).reshape(2, 2)):
        assert_same(outcome(fused, (x,)), outcome(f, (x,)), form, ulps=2)


@pytest.mark.parametrize("form", ["np.degrees(x)", "np.radians(x)"])
def test_angles_of_narrow_floats(form: str) -> None:
    f, _ = function(form)
    fused = fuse(f, on_reject="raise")
    for dtype in ("f2", "f4", "f8"):
        x = (np.arange(200) * 0.37).astype(dtype)
        assert fused(x).tobytes() == f(x).tobytes()


@pytest.mark.share(12)
@pytest.mark.parametrize("name", GROUPS)
def test_of_nothing(name: str) -> None:
    f, names = function(*GROUPS[name])
    fused = fuse(f, on_reject="silent")
    given = (None,) * len(names)
    assert outcome(fused, given).error == outcome(f, given).error
    assert "BUILD_FAILED" not in fused.stats.replays
