"""Random functions: what ``fuse`` gives cannot be told from the function itself.

``pytest --long`` runs 20,000; ``--seed N`` repeats a run. How many were compiled is printed.
"""
from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from at_length import at_length
from random_arguments import arguments
from random_functions import HELPERS, function_text
from traps.trap import Seen, nearly, seen
from written import written

from transpile import Fused, fuse

PARAMETERS = (
    ("x", "vector"), ("y", "vector"), ("m", "matrix"), ("a", "float"), ("k", "int"),
    ("flag", "bool"),
)
COMPILED_SHARE = 0.3
IN_PLACE = re.compile(r"^ *[xym]\[.*=|^ *[xy] .= |scaled\(", re.MULTILINE)
SUMMED = re.compile(r"np\.sum\(")
"""Floats then have an order that is not NumPy's: near values, other infinite partial sums."""


class Run:
    """Judges functions one after another, and counts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.functions, self.compiled, self.parts = folder, 0, 0, 0
        self.python: Counter[str] = Counter()

    def judge(self, text: str, tape: bytes) -> None:
        """Raises AssertionError where a call can be told from one of the function itself; of some,
        calls with arguments of other types follow, and those with the first ones again.
        """
        self.functions += 1
        function = self.function(text)
        fused = fuse(function, on_reject="silent", reassociate=False)
        moods = ["always", "ignore", "default", *(["raise"] if self.functions % 4 == 0 else [])]
        self._agree(fused, function, text, tape, moods)
        if self.functions % 5 == 0:
            self._agree(fused, function, text, tape[::-1], moods[:1])
            self._agree(fused, function, text, tape, moods[:1])
        self.compiled += fused.stats.compiled > 0
        self.python.update(fused.stats.replays.keys())

    def _agree(
        self, fused: Fused, function: Any, text: str, tape: bytes, moods: list[str]
    ) -> None:
        recipe = arguments(tape, PARAMETERS)
        memory: list[Any] = []

        def case() -> tuple[Any, ...]:
            given, memory[:] = recipe.make()
            return given

        names = function.__globals__
        summed = SUMMED.search(text) is not None
        nearly(1e-5 if summed else 0.0)
        for mood in moods:
            wanted, theirs = seen(function, case, mood, names), held(memory)
            loose = mood == "default" and IN_PLACE.search(text)
            wanted = unordered(wanted) if summed else wanted
            wanted = classes(wanted) if loose else wanted
            for again in ("first", "second"):
                got, ours = seen(fused, case, mood, names), held(memory)
                got = unordered(got) if summed else got
                got = classes(got) if loose else got
                if summed and any(_in_sum(of) for of in (got, wanted)):
                    continue
                where = f"{again} call, {mood}, {fused.stats}\n{text}\n{recipe}"
                assert got == wanted, f"{where}\n{differs(got, wanted)}"
                kept = _near(ours, theirs) if summed else _equal(ours, theirs)
                assert kept or mood == "raise", f"{where}\nleaves other memory"
        assert "BUILD_FAILED" not in fused.stats.replays, f"{fused.report(*case())}\n{text}"

    def function(self, text: str) -> Any:
        """`text` as a function of a module of its own."""
        return written(self.folder, f"{HELPERS}\n\n{text}").f

    def told(self) -> str:
        share = self.compiled / max(1, self.functions)
        return (
            f"{self.functions} random functions, {share:.0%} answered by machine code; "
            f"Python had to answer: {dict(self.python.most_common())}"
        )


def held(memory: list[Any]) -> list[np.ndarray]:
    """What arrays hold."""
    return [m.copy() for m in memory]


def _equal(ours: list[np.ndarray], theirs: list[np.ndarray]) -> bool:
    """To the bit; all NaNs are one: what they are is not promised."""
    pairs = zip(ours, theirs, strict=True)
    return all(_bits(a) == _bits(b) for a, b in pairs)


def _bits(m: np.ndarray) -> tuple[bytes, bytes]:
    plain = np.where(m != m, m.dtype.type(0), m) if m.dtype.kind == "f" else m
    return plain.tobytes(), (m != m).tobytes()


def _near(ours: list[np.ndarray], theirs: list[np.ndarray]) -> bool:
    """But for the order of a sum."""
    pairs = zip(ours, theirs, strict=True)
    return all(np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True) for a, b in pairs)


def unordered(of: Seen) -> Seen:
    """Without the warnings of NumPy's sums, which depend on their order."""
    return of._replace(warned=tuple(w for w in of.warned if not w[1].endswith(" in reduce")))


def _in_sum(of: Seen) -> bool:
    """Whether it ended with an error that a sum raised, of the infinities that its order met."""
    return of.error is not None and of.error[1].endswith(" in reduce")


def classes(of: Seen) -> Seen:
    """Which operation of several warns first is not promised where what it read is gone."""
    kinds = {message.partition(" encountered")[0] for _, message, *_ in of.warned}
    return of._replace(warned=tuple(sorted(kinds)))  # type: ignore[arg-type]  # compared only


def differs(got: Seen, wanted: Seen) -> str:
    pairs = zip(Seen._fields[:-1], got, wanted, strict=False)
    return "\n".join(f"{name}: {a}\nnot {b}" for name, a, b in pairs if a != b)


FORMS = (
    r"while .*:", r"\bbreak$", r"\bcontinue$", r"^    else:", r"return .*,", r"= \w+ = ", r":=",
    r"\+= ", r"\[-1\]", r"::-1", r"\[\w+ > .*\] = ", r"\[p\d+\] \+= ", r"= \w+\[p\d+\]", r"axis=",
    r"\bm\.T\b", r"\[0\] \* n", r"append\(", r"is None", r"\bassert\b", r"^    def ", r"lambda",
    r"total\(", r"scaled\(", r"= ends\(", r"PAIR\.low", r"rows, columns", r" for v\d+ in .* if ",
    r"any\(", r"np\.where\(", r"elif ", r"zip\(", r"enumerate\(", r"range\(n - 1, -1, -1\)",
    r"flag", r"m\[i\d+, j\d+\]", r"x\[1:\]", r"x\[p\d+\] = x\[p\d+\]", r"np\.clip\(",
    r"1\.0 / np\.sqrt\(", r"max\(.*, 0\.0\)", r"< 1e-50",
)
"""Each kind of statement that functions may have, as it looks in their text."""


def test_every_form_occurs() -> None:
    rng = random.Random(1)
    texts = [function_text(rng.randbytes(300)) for _ in range(2000)]
    missing = [f for f in FORMS if not any(re.search(f, t, re.MULTILINE) for t in texts)]
    assert not missing, missing


def test_random_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, start: int
) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    run = Run(tmp_path)

    def judge(program: bytes, data: bytes) -> None:
        run.judge(function_text(program), data)

    at_length(request, start, 10, (300, 40), judge, run.told)
    assert run.compiled >= COMPILED_SHARE * run.functions, run.told()
