"""Random sequences of loops: joined or apart, each gives Python's answer, whatever overlaps."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import same
from at_length import at_length
from random_sequences import PARAMETERS, calls, sequence_text
from staged import Replayed, interpreted, through
from written import written

from transpile import fuse
from transpile.diagnostics import Refused
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

FUSED_SHARE = 0.15
"""Of a few functions; of hundreds it is more than a half."""


class Run:
    """Judges sequences one after another, and counts what was joined, and why others were not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def judge(self, text: str, data: bytes) -> None:
        """Raises AssertionError where what is joined gives another answer than Python: as loops,
        as vectors of any width, and each eighth as machine code.
        """
        f = written(self.folder, text).f
        made = calls(data)
        self.counts["functions"] += 1
        types = dict(zip(PARAMETERS, map(type_of, made[-1]()), strict=True))
        try:
            s = compile_stages(f, types, Options(reassociate=False))
        except Refused as refused:
            self.counts["refused"] += 1
            self.refused[refused.rejection.code] += 1
            return
        self.counts["fused"] += s.fusion.fused > 0
        self.counts["joined"] += s.fusion.fused
        self.refused.update(r.code for r in s.fusion.rejections)
        ways = [through(s, s.plan, k, interpreted(k)) for k in (s.fusion.kernel, s.kernel)]
        if self.counts["functions"] % 8 == 0:
            ways.append(fuse(f, on_reject="silent", reassociate=False))
        for make in made:
            wanted = answer(f, make)
            for k, way in enumerate(ways):
                got = answer(way, make)
                self.counts["calls"] += 1
                self.counts["replays"] += got is None
                assert got is None or same(got, wanted), (
                    f"{['loops', 'vectors', 'code'][k]}\n{text}\n{got}\nnot {wanted}"
                )

    def told(self) -> str:
        return f"{dict(self.counts)}, {dict(self.refused.most_common())}"


def answer(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> Any:
    """What a call gives and leaves; None where Python would have to answer."""
    args, value, error = make(), None, None
    with np.errstate(all="ignore"):
        try:
            value = function(*args)
        except Replayed:
            return None
        except Exception as e:
            error = type(e).__name__, str(e)
    return value, error, args


def test_random_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, start: int
) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    run = Run(tmp_path)

    def judge(program: bytes, data: bytes) -> None:
        run.judge(sequence_text(program), data)

    at_length(request, start, 6, (16, 8), judge, run.told)
    assert run.counts["fused"] >= FUSED_SHARE * run.counts["functions"], run.told()
