"""``python -m tests.tools.mutants [name …]``: mutation testing of fusion, with one error at a time.

For each error it prints which tests fail; exit status 1 if none does for some error. Loaded as a
plugin of pytest, this module is what plants the error.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from loopir.fusion import (
    equal_lengths,
    filter_fusion,
    fuse_loops,
    fusion_dependences,
    fusion_legality,
    fusion_profit,
    iteration_domains,
    loop_pairs,
    shift_and_peel,
)
from loopir.ir_names import rename_names
from loopir.lazy_dataclass import replace
from loopir.nodes import Loop

TESTS = (
    "unit/loopir/fusion/test_loop_pairs.py", "unit/loopir/fusion/test_fuse_loops.py",
    "unit/loopir/fusion/test_fusion_legality.py", "fuzz/test_random_fusion.py",
    "fuzz/test_random_sequences.py",
)
_NAME = "TRANSPILE_TEST_MUTANT"


class Mutant(NamedTuple):
    """A wrong function, or table of functions, in the place of a right one."""

    owner: Any  # a module or a class
    name: str  # in it
    wrong: Any

    def plant(self) -> None:
        setattr(self.owner, self.name, self.wrong)


def without(condition: str) -> Mutant:
    """The condition of legality is not checked."""
    kept = tuple(c for c in fusion_legality.CONDITIONS if c.__name__ != condition)
    return Mutant(fusion_legality, "CONDITIONS", kept)


def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Mutant:
    """What `make` makes of the function ``owner.name`` takes its place.

    Raises AttributeError, when this module is imported, where there is no such function.
    """
    return Mutant(owner, name, make(getattr(owner, name)))


def returning(owner: Any, name: str, value: Any) -> Mutant:
    """As `replaced`, by a function that returns `value` whatever its arguments are."""
    return replaced(owner, name, lambda right: lambda *args, **kwargs: value)


def _one_less(shift: Any) -> Any:
    """The second loop comes an iteration too early."""

    def mutant(*args: Any) -> Any:
        s = shift(*args)
        return replace(s, delay=s.delay - 1) if s and s.delay else s

    return mutant


def _only_variable(with_names_of: Any) -> Any:
    """Names that both loops bind are not made different."""
    return lambda self, first, second: rename_names(second, {second.var: first.var})


def _no_rest(shift_and_peel: Any) -> Any:
    """The iterations after the common ones are left out."""

    def mutant(*args: Any) -> Any:
        before, loop, _ = shift_and_peel(*args)
        return before, loop, ()

    return mutant


def _no_lead(shift_and_peel: Any) -> Any:
    """The iterations before the common ones are left out."""

    def mutant(*args: Any) -> Any:
        _, loop, after = shift_and_peel(*args)
        return (), loop, after

    return mutant


def _whole_range(shift_and_peel: Any) -> Any:
    """The joined loop has the range of the first one."""

    def mutant(loop: Loop, *args: Any) -> Any:
        before, _, after = shift_and_peel(loop, *args)
        return before, loop, after

    return mutant


MUTANTS: dict[str, Mutant] = {
    **{c.__name__: without(c.__name__) for c in fusion_legality.CONDITIONS},
    "one iteration early is in order": replaced(
        fusion_dependences, "_is_reversed",
        lambda right: lambda distance: right(distance) and distance < -1,
    ),
    "what must be disjoint is not guarded": returning(fuse_loops._LoopFuser, "tighten", None),
    "a fold's step reads late": replaced(
        fuse_loops._LoopFuser, "first_loop_loads",
        lambda right: lambda self, p: ([], [*p.first.accs]),
    ),
    "names of the second are not new": replaced(
        fuse_loops._LoopFuser, "with_names_of", _only_variable
    ),
    "lengths are equal outside of the loops, too": replaced(
        equal_lengths, "_without_alternatives", lambda right: lambda e: (right(e)[0], frozenset())
    ),
    "ranges are equal if their starts are": returning(
        iteration_domains, "trip_count_difference", 0
    ),
    "what stands between goes up": returning(loop_pairs, "_order_cause", None),
    "delayed by one less": replaced(shift_and_peel, "_shift", _one_less),
    "any loop may be reversed": returning(shift_and_peel, "_is_reversible", True),
    "reversed loops are not": replaced(
        shift_and_peel, "_reversed_loop", lambda right: lambda loop: loop
    ),
    "the rest is left out": replaced(fuse_loops, "shift_and_peel", _no_rest),
    "the lead is left out": replaced(fuse_loops, "shift_and_peel", _no_lead),
    "the joined loop runs on": replaced(fuse_loops, "shift_and_peel", _whole_range),
    "what is filtered again may be overwritten": returning(
        filter_fusion, "_may_overwrite", False
    ),
    "the place of what is appended may be read": returning(
        filter_fusion, "_uses_filter_details", False
    ),
    "no loop can be vectorised alone": returning(fusion_profit, "is_vectorizable_alone", False),
    "vectors are given up": returning(fusion_legality, "keeps_vectors", ()),
}


def pytest_configure(config: Any) -> None:
    MUTANTS[os.environ[_NAME]].plant()


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
