"""``python -m tests.tools.mutants [name …]``: fusion with one thing wrong, and what sees it.

Exit status 1 where one stays unseen. As a plugin of pytest, it is what puts the mutant in.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from loopir.fusion import (
    filter_fusion,
    fuse_loops,
    fusion_dependences,
    fusion_legality,
    fusion_profit,
    iteration_domains,
    loop_pairs,
    shift_and_peel,
)
from loopir.nodes import Loop

TESTS = (
    "unit/loopir/fusion/test_loop_pairs.py", "unit/loopir/fusion/test_fuse_loops.py",
    "unit/loopir/fusion/test_fusion_legality.py", "fuzz/test_random_fusion.py",
    "fuzz/test_random_sequences.py",
)
_NAME = "TRANSPILE_TEST_MUTANT"

Mutant = Callable[[], None]


def without(condition: str) -> Mutant:
    """The condition is not asked."""

    def put() -> None:
        kept = tuple(c for c in fusion_legality.CONDITIONS if c.__name__ != condition)
        assert len(kept) < len(fusion_legality.CONDITIONS)
        fusion_legality.CONDITIONS = kept

    return put


def other(owner: Any, name: str, make: Callable[[Any], Any]) -> Mutant:
    """What `make` gives for it stands in the place of ``owner.name``."""
    return lambda: setattr(owner, name, make(getattr(owner, name)))


def _one_less(shift: Any) -> Any:
    """The second loop comes an iteration too early."""

    def found(*args: Any) -> Any:
        s = shift(*args)
        return replace(s, delay=s.delay - 1) if s and s.delay else s

    return found


def _kept_whole(turned: Any) -> Any:
    return lambda loop: loop


def _no_rest(peeled: Any) -> Any:
    def main(*args: Any) -> Any:
        lead, loop, _ = peeled(*args)
        return lead, loop, ()

    return main


def _no_lead(peeled: Any) -> Any:
    def main(*args: Any) -> Any:
        _, loop, rest = peeled(*args)
        return (), loop, rest

    return main


def _whole_range(peeled: Any) -> Any:
    def main(loop: Loop, way: Any, *args: Any) -> Any:
        lead, _, rest = peeled(loop, way, *args)
        return lead, loop, rest

    return main


MUTANTS: dict[str, Mutant] = {
    **{c.__name__: without(c.__name__) for c in fusion_legality.CONDITIONS},
    "one iteration early is in order": other(
        fusion_dependences, "_is_reversed", lambda f: lambda apart: f(apart) and apart < -1
    ),
    "what must be apart is not guarded": other(
        fuse_loops._LoopFuser, "tighten", lambda f: lambda self, p: None
    ),
    "a fold's step reads late": other(
        fuse_loops._LoopFuser, "early", lambda f: lambda self, p: ([], [*p.first.accs])
    ),
    "names of the second are not new": other(
        fuse_loops, "fresh", lambda f: lambda name, taken: name
    ),
    "ranges are equal if their starts are": other(
        iteration_domains, "more", lambda f: lambda *args: 0
    ),
    "what stands between goes up": other(loop_pairs, "_cause", lambda f: lambda *args: None),
    "delayed by one less": other(shift_and_peel, "_shift", _one_less),
    "any loop may be turned": other(
        shift_and_peel, "_is_reversible", lambda f: lambda kernel, loop: True
    ),
    "turned loops are not": other(shift_and_peel, "_reversed_loop", _kept_whole),
    "the rest is left out": other(fuse_loops, "peeled", _no_rest),
    "the lead is left out": other(fuse_loops, "peeled", _no_lead),
    "the joined loop runs on": other(fuse_loops, "peeled", _whole_range),
    "what is kept is not overwritten": other(
        filter_fusion, "_overwrites", lambda f: lambda *args: False
    ),
    "nobody asks for the place of what is kept": other(
        filter_fusion, "_asks_more", lambda f: lambda *args: False
    ),
    "all loads go in vectors": other(fusion_profit, "in_vectors", lambda f: lambda p, loop: False),
    "vectors are given up": other(fusion_legality, "keeps_vectors", lambda f: lambda p: ()),
}


def pytest_configure(config: Any) -> None:
    MUTANTS[os.environ[_NAME]]()


def main(names: list[str]) -> int:
    unseen = []
    for name in names or MUTANTS:
        seen = _seen_by(name)
        print(f"{name:40} {'; '.join(seen) or 'unseen'}", flush=True)
        unseen += [] if seen else [name]
    print(f"mutants: {len(unseen)} of {len(names or MUTANTS)} unseen", *unseen)
    return int(bool(unseen))


def _seen_by(name: str) -> list[str]:
    tests = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.tools.mutants",
               "-p", "no:cacheprovider", "--tb=no", "--maxfail=3", *(str(tests / t) for t in TESTS)]
    run = subprocess.run(command, env=os.environ | {_NAME: name}, capture_output=True, text=True,
                         check=False, cwd=tests.parent)
    return re.findall(r"^FAILED \S*::(.*?)(?: - |$)", run.stdout, re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
