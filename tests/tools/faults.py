"""``python -m tests.tools.faults``: makes each step of first calls fail, with each exception.

The first call of each function of `fault_injection` runs once, in a process that has imported
nothing of the compiler. At the first step of each site the process forks, once for each kind of
exception: the child raises it there, and looks at what is left, as `fault_injection` says; what it
has changed on disk is undone. Where a child would not have what the call needs (a subprocess, a
thread, a folder that is open), and where a trial finds something wrong, the call is made anew in a
process of its own.

A site stands for all steps that can only fail alike (`fault_injection.Site`). With ``--short`` each
site has one full trial, after which later calls compile: what a fault leaves in the compiler
follows from the site. In the trials of the other kinds the failing call is looked at, what is left
open or on disk, and whether a later call and one in another thread begin to compile.

Results of the C compiler are kept by its input, except for trials while it runs. A table of
functions, kinds and outcomes is printed. ``--journal FILE`` adds each trial to a file, and leaves
out those of the same state, site and kind that are in it.
"""
from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import itertools
import json
import os
import pkgutil
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

if __name__ == "__main__":  # the process that pytest starts has the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import fault_injection
from fault_injection import (
    FUNCTIONS,
    KINDS,
    SECONDS,
    Injection,
    environment,
    first_calls,
    in_child,
    keeping_compiler,
    site_of,
    site_text,
    without_fault,
    work_of,
)
from forked_programs import with_bytecode

from targets.abi import thread_pool, trampoline

STATES = {
    "warm": "the kernel is in the disk cache",
    "loaded": "all is imported, and the disk cache has what is the same for all functions",
    "cold": "nothing is imported, and the disk cache is empty",
}

_UNSTEADY = 20_000
"""By how much less the number of a site's first step may be in another process."""

Key: TypeAlias = "tuple[str, str, str]"
"""Whether the cache is warm or cold, a site, and a kind."""

class Place:
    """Folders of a call, which a trial changes, and which are put back."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._before = self._now()

    def _now(self) -> dict[Path, bytes | None]:
        found: dict[Path, bytes | None] = {}
        for folder in self._folders:
            for path in sorted(folder.rglob("*")):
                found[path] = None if path.is_dir() else path.read_bytes()
        return found

    def restore(self) -> None:
        """What there was at first."""
        now = self._now()
        if now == self._before:
            return
        for path in sorted(now.keys() - self._before.keys(), reverse=True):
            path.rmdir() if now[path] is None else path.unlink()
        for path, content in self._before.items():
            if path not in now and content is None:
                path.mkdir(mode=0o700)
            elif content is not None and now.get(path) != content:
                path.write_bytes(content)
                path.chmod(0o600)


class Remaining(NamedTuple):
    """A trial that is to be made in a process of its own. ``is_compiling``: the C compiler runs
    there; ``since``, ``is_short``: as for `Injection`.
    """

    site: Any
    kind: str
    is_compiling: bool = False
    since: int = 0
    is_short: bool = False


class Walk(Injection):
    """A profile function that forks at sites. In a child that raises, `trial` is its report."""

    def __init__(self, chosen: Choice, folders: tuple[Path, Path]) -> None:
        super().__init__(0, "")
        self.trial: Path | None = None
        self.results: list[tuple[Any, str, list[str]]] = []
        self.left: list[Remaining] = []
        self.seen: set[Any] = set()
        self._chosen = chosen
        self._folders = folders
        self._fork = ctypes.PyDLL(None).fork
        """Without Python's hooks, which would renew locks: the child goes on as if it were the
        parent."""

    def see(self, frame: Any, event: str, arg: Any) -> None:
        """Fork here, if it is to be tried."""
        site = site_of(frame, event, arg)
        if self._chosen.steps is None:
            if site in self.seen:
                return
            kinds, full = self._chosen.kinds_at(site, len(self.seen))
        else:
            kinds = full = self._chosen.steps.get(self.count, [])
        self.seen.add(site)
        if not kinds:
            return
        obstacle = self._obstacle()
        if obstacle:
            is_compiling, since = obstacle == "process", max(0, self.count - _UNSTEADY)
            self.left += (
                Remaining(site, kind, is_compiling, since, is_short=kind not in full)
                for kind in kinds
            )
            return
        place = Place(*self._folders)
        for kind in kinds:
            self._try(site, kind, place, is_short=kind not in full)

    def _obstacle(self) -> str:
        """What a child would lack."""
        if Path("/proc/thread-self/children").read_text().strip():
            return "process"
        deadline = time.monotonic() + 1
        while len(os.listdir("/proc/self/task")) > 1:
            if time.monotonic() > deadline:
                return "thread"
            time.sleep(0.001)
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                file = os.readlink(f"/proc/self/fd/{name}")
                is_lock = file.endswith("/alive")
                if file.startswith(tuple(map(str, self._folders))) and not is_lock:
                    return "file"
        return ""

    def _try(self, site: Any, kind: str, place: Place, *, is_short: bool) -> None:
        """One trial: in the child, raises."""
        report = self._folders[0].parent / "trial"
        report.unlink(missing_ok=True)
        os.ftruncate(2, os.lseek(2, 0, os.SEEK_SET))
        own = os.getpid()
        pid = self._fork()
        if pid == 0:
            os.getpid = lambda: own
            signal.alarm(SECONDS)
            self.trial, self.kind, self.is_short = report, kind, is_short
            self.fail()
        _, status = os.waitpid(pid, 0)
        place.restore()
        said = report.with_name("stderr").read_text()
        if said.startswith("Exception ignored in: <generator"):
            said = ""
        faults = json.loads(report.read_text()) if report.exists() else []
        if status or said:
            faults.append(f"status {status}: {said}")
        self.results.append((site, kind, faults))
        if not faults:
            self._chosen.note(site_text(site), kind, "short" if is_short else "forked", [])

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        before = self.count
        super().__call__(frame, event, arg)
        if self.count > before:
            self.see(frame, event, arg)


class Choice:
    """Which trials of a first call are made."""

    def __init__(
        self, options: argparse.Namespace, state: str, name: str, known: set[Key]
    ) -> None:
        self._options, self.state, self.name, self.known = options, state, name, known
        self.steps: dict[int, list[str]] | None = None
        """The kinds to raise at some steps; None: at the first step of each site."""

    def kinds_at(self, site: Any, number: int) -> tuple[list[str], list[str]]:
        """The kinds to try at a site, the so manieth, and those of them whose trials are full."""
        options, text = self._options, site_text(site)
        since = number - options.start
        if since < 0 or since % options.every or since // options.every >= options.most:
            return [], []
        if not re.search(options.at, text):
            return [], []
        states = {self.state, "loaded"} if self.state == "cold" else {self.state}
        kinds = [
            k for k in options.kinds if not any((s, text, k) in self.known for s in states)
        ]
        full = options.kinds[since // options.every % len(options.kinds)]
        return kinds, [full] if options.short else kinds

    def note(self, site: str, kind: str, way: str, faults: list[str]) -> None:
        """Add a trial to the journal."""
        self.known.add((self.state, site, kind))
        if self._options.journal is None:
            return
        line = {"state": self.state, "name": self.name, "site": site, "kind": kind, "way": way,
                "faults": faults}
        with self._options.journal.open("a") as journal:
            print(json.dumps(line), file=journal)

    def draw(self, rng: random.Random, count: int, steps: int) -> None:
        """Take so many random steps and kinds instead."""
        self.steps = {}
        for _ in range(count):
            self.steps.setdefault(rng.randint(1, steps), []).append(rng.choice(self._options.kinds))


def walk(chosen: Choice, place: Path) -> Any:
    """The results of all trials of one first call, as `in_child` runs it."""
    signal.alarm(0)
    if chosen.state == "loaded":
        load()
    gc.collect()
    gc.freeze()
    injection = Walk(chosen, (place, Path(os.environ["TRANSPILE_CACHE"])))
    try:
        faults = first_calls(chosen.name, [injection], place)
    except BaseException:
        if injection.trial is None:
            raise
        traceback.print_exc()
        os._exit(1)
    if injection.trial is not None:
        injection.trial.write_text(json.dumps(faults))
        os._exit(0)
    if faults:
        injection.results.append((("", "", "no fault", 0, "", ""), "none", faults))
    return len(injection.seen), injection.count, injection.results, injection.left


def load() -> None:
    """Import all that a call may need."""
    for package in map(importlib.import_module, ("loopir", "targets", "transpile")):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and "build_hooks." not in module.name:
                importlib.import_module(module.name)


def build_common() -> None:
    """Build the objects that are the same for all functions."""
    trampoline._build_trampoline()
    thread_pool._build()


def trials(
    chosen: Choice, cache: Path | None, path: str
) -> Iterator[tuple[Any, str, list[str]]]:
    """Site, kind and faults of each trial of a first call."""
    name, real = chosen.name, os.environ["PATH"]
    os.environ["PATH"] = path
    answer = in_child(lambda place: walk(chosen, place), cache)
    os.environ["PATH"] = real
    if len(answer) == 1:
        yield ("", "", "walk", 0, "", ""), "none", answer
        return
    sites, steps, results, left = answer
    print(f"{chosen.state} {name}: {sites} sites, {steps} steps, {len(results)} forked, "
          f"{len(left)} anew", file=sys.stderr)
    for site, kind, faults in results:
        if faults and kind in KINDS:
            left.append(Remaining(site, kind))
            print(f"again: {site_text(tuple(site))} {kind}: {faults}"[:600], file=sys.stderr)
        else:
            chosen.known.add((chosen.state, site_text(tuple(site)), kind))
            yield tuple(site), kind, faults
    for trial in (Remaining(*fields) for fields in left):
        os.environ["PATH"] = real if trial.is_compiling else path
        site: Any = tuple(trial.site)
        work = work_of(name, trial.kind, [site], trial.since, is_short=trial.is_short)
        faults = in_child(work, cache)
        os.environ["PATH"] = real
        chosen.note(site_text(site), trial.kind, "anew", faults)
        yield site, trial.kind, faults


def count_steps(chosen: Choice, cache: Path | None, copy: Path) -> int:
    """How many steps the first call has, with a copy of the cache."""
    if cache is not None:
        shutil.copytree(cache, copy)

    def steps(place: Path) -> int:
        if chosen.state == "loaded":
            load()
        return without_fault(chosen.name, record=False).count

    count: int = in_child(steps, cache and copy)
    shutil.rmtree(copy, ignore_errors=True)
    return count


def known_trials(journal: Path | None) -> set[Key]:
    """The trials that are in a journal."""
    if journal is None or not journal.exists():
        return set()
    lines = map(json.loads, journal.read_text().splitlines())
    return {(line["state"], line["site"], line["kind"]) for line in lines}


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.faults", description=__doc__.partition("\n")[0],
    )
    add = parser.add_argument
    add("functions", nargs="*", default=[*FUNCTIONS], help="of " + ", ".join(FUNCTIONS))
    add("--kinds", nargs="+", choices=[*KINDS], default=[*KINDS])
    add("--states", nargs="+", choices=STATES, default=[*STATES],
        help="; ".join(f"{state}: {text}" for state, text in STATES.items()))
    add("--from", dest="start", type=int, default=0, help="the number of the first site")
    add("--at", default="", help="only sites that match this regular expression")
    add("--every", type=int, default=1, help="take one site in so many")
    add("--most", type=int, default=sys.maxsize, help="take so many sites")
    add("--short", action="store_true",
        help="at each site one kind, in turn, has a full trial, the others short ones")
    add("--random", type=int, help="take so many random steps instead of the first of each site")
    add("--seed", type=int, default=0, help="of the random steps")
    add("--journal", type=Path, help="a file to which each trial is added, and not made again")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    options = parsed(words)
    decorator = Path(fault_injection.fault_subjects.fuse.__code__.co_filename)
    assert decorator.is_relative_to(fault_injection.ROOT)
    known = known_trials(options.journal)
    table: Counter[tuple[str, str, str]] = Counter()
    wrong: list[tuple[str, str, str, str, list[str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = keeping_compiler(Path(folder))
        os.environ["PATH"], real = path, os.environ["PATH"]
        in_child(lambda _: build_common(), Path(folder, "common"))
        os.environ["PATH"] = real
        for state, name in itertools.product(options.states, options.functions):
            cache = Path(folder, f"{state} {name}") if state != "cold" else None
            if cache:
                shutil.copytree(Path(folder, "common"), cache)
            if state == "warm":
                in_child(work_of(name, "memory", []), cache)
            chosen = Choice(options, state, name, known)
            if options.random:
                steps = count_steps(chosen, cache, Path(folder, "counted"))
                chosen.draw(random.Random(f"{options.seed} {state} {name}"), options.random, steps)
            for site, kind, faults in trials(chosen, cache, path):
                outcome = faults[0].splitlines()[0][:60] if faults else "right"
                table[f"{state} {name}", kind, outcome] += 1
                if faults:
                    wrong.append((state, name, site_text(site), kind, faults))
    print_table(table, options.kinds)
    for state, name, text, kind, faults in wrong:
        print(f"{state} {name}, {text}, {kind}:", *faults, sep="\n  ")
    return bool(wrong)


def print_table(table: Counter[tuple[str, str, str]], kinds: list[str]) -> None:
    """Functions × kinds: trials, and those of them with a bad outcome; then bad outcomes."""
    rows = dict.fromkeys(row for row, _, _ in table)
    print(f"{'':16}", *(f"{kind:>16}" for kind in kinds))
    for row in rows:
        cells = []
        for kind in kinds:
            counts = {o: n for (r, k, o), n in table.items() if (r, k) == (row, kind)}
            bad = sum(counts.values()) - counts.get("right", 0)
            cells.append(f"{sum(counts.values())} ({bad} bad)")
        print(f"{row:16}", *(f"{cell:>16}" for cell in cells))
    for (row, kind, outcome), count in sorted(table.items()):
        if outcome != "right":
            print(f"{count:6} {row} {kind}: {outcome}")
    print(f"{table.total()} trials")


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the steps are the same each time
        os.execve(sys.executable, [sys.executable, "-m", "tests.tools.faults", *sys.argv[1:]],
                  with_bytecode(environment()))
    sys.exit(main(sys.argv[1:]))
