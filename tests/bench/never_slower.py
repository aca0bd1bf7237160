"""Whether any decorated function is slower than the undecorated one, once it is warm.

    PYTHONPATH=tests/support:tests/programs python -m tests.bench.never_slower [NAME …] [--share 8]
    … --corpus [PACKAGE …]

The promise: 1.05 times the undecorated time and 0.2 µs a call, at most. Measured are the everyday
functions of `everyday.py` and `everyday_sizes.py`, and, one in ``--share`` of them, every program
of `tests/programs/run` at several sizes, the traps, and the bad programs of all diagnostic codes.
Decorated and undecorated calls are timed in turn, in batches of calls with fresh copies of their
arguments; the best time of each counts. What is slower is measured again, as other work on the
machine must not decide. Prints the worst five, and the share above the bound.

``--corpus`` measures functions of packages from PyPI instead, whose authors compile them: on
arguments that `tests.tools.corpus` finds, each in a process of its own.
"""
from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import gc
import importlib.util
import io
import math
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from agree import copied
from program_runs import PROGRAMS, arguments
from traps.trap import TRAPS

from transpile import fuse
from transpile.codes import CODES

from ..tools.corpus.judge import arguments_for
from ..tools.corpus.modules import functions_of
from ..tools.corpus.packages import PACKAGES, corpus_folder, fetched

__all__ = ["Case", "cases", "main", "measure"]

FACTOR, ADDED = 1.05, 0.2e-6
"""The bound: how many times the undecorated time, and how many seconds more."""

BATCH_SECONDS, MAX_CALLS, ROUNDS = 0.004, 400, 9
WARM_CALLS, WARM_SECONDS = 3000, 0.4
COPYING_SECONDS, MAX_BYTES = 0.02, 1 << 26
CORPUS_SECONDS = 60


class Case(NamedTuple):
    """One function, both ways, and what makes its arguments."""

    name: str
    plain: Callable[..., Any]
    fused: Callable[..., Any]
    given: Callable[[], tuple[Any, ...]]


class Times(NamedTuple):
    """Seconds of the best call."""

    plain: float
    fused: float

    @property
    def ratio(self) -> float:
        """Of the decorated call without the time that is allowed in any case."""
        return (self.fused - ADDED) / self.plain


def everyday(stem: str = "everyday") -> Iterator[Case]:
    """The functions of `everyday.py` or `everyday_sizes.py` (its `stem`), of two modules: one has
    all of them decorated, and the methods of its classes.
    """
    plain, fused = _module(stem, "everyday_plain"), _module(stem, "everyday_fused")
    for name, value in [*vars(fused).items()]:
        if getattr(value, "__module__", None) == fused.__name__ and callable(value):
            if isinstance(value, type):
                _decorate_methods(value)
            else:
                setattr(fused, name, fuse(value, on_reject="silent"))
    for k, (name, _) in enumerate(plain.CALLS):
        functions = [_attribute(module, name) for module in (plain, fused)]
        given = plain.CALLS[k][1]
        label = f"{name} {k}"
        yield Case(label, functions[0], functions[1], lambda given=given: copied(given))


def _decorate_methods(decorated: type) -> None:
    for name, value in [*vars(decorated).items()]:
        if callable(value) and not name.startswith("__"):
            setattr(decorated, name, fuse(value, on_reject="silent"))


def _module(stem: str, name: str) -> ModuleType:
    """The file of this stem beside this one, as a module of its own."""
    path = Path(__file__).with_name(f"{stem}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _attribute(module: ModuleType, path: str) -> Any:
    value: Any = module
    for name in path.split("."):
        value = getattr(value, name)
    return value


def of_the_tests() -> Iterator[Case]:
    """Programs and traps."""
    for p in PROGRAMS:
        for n in sorted({p.sizes[len(p.sizes) // 3], min(p.sizes[-1], 65)}):
            fused = fuse(p.function, on_reject="silent")
            yield Case(f"{p.label} {n}", p.function, fused, lambda p=p, n=n: arguments(p, n))
    for t in TRAPS:
        fused = fuse(t.function, on_reject="silent")
        for k, case in enumerate(t.cases[:2]):
            yield Case(f"{t.function.__name__} (trap) {k}", t.function, fused, case)


def of_the_codes() -> Iterator[Case]:
    """The calls in the bad programs of the diagnostic codes."""
    for code, page in CODES.items():
        calls: list[tuple[Any, Any, tuple[Any, ...], Any]] = []
        names = {"np": np, "fuse": functools.partial(_recording, calls), "__name__": "bad"}
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(_compiled(f"{code.lower()}.py", page.bad), names)
        yield from _first_call(code, calls)


def _recording(calls: list[Any], function: Any = None, **options: Any) -> Any:
    """In place of `fuse`: a function that notes its calls, and runs as Python."""
    if function is None:
        return functools.partial(_recording, calls, **options)
    fused = fuse(function, on_reject="silent")

    def noted(*args: Any, **named: Any) -> Any:
        calls.append((function, fused, *copy.deepcopy((args, named))))
        return function(*args, **named)

    return noted


def _first_call(
    code: str, calls: Sequence[tuple[Any, Any, tuple[Any, ...], Any]]
) -> Iterator[Case]:
    """The first of the calls, if it has no keywords."""
    for function, fused, args, named in calls[:1]:
        if not named:
            yield Case(code, function, fused, lambda args=args: copy.deepcopy(args))


def _compiled(name: str, text: str) -> Any:
    """The code of the text, whose source functions can find again."""
    import linecache

    path = f"<{name}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    return compile(text, path, "exec")


def cases() -> Iterator[Case]:
    """All of them, everyday functions first."""
    yield from everyday()
    yield from everyday("everyday_sizes")
    yield from of_the_tests()
    yield from of_the_codes()


def measure(case: Case) -> Times | None:
    """The best times of calls, decorated and not; None where the arguments cannot be copied."""
    case = _with_shared_arguments(case)
    start = perf_counter()
    for k in range(WARM_CALLS):
        _call(case.fused, case.given())
        if k >= 8 and perf_counter() - start > WARM_SECONDS:
            break
    one = min(_batch(case.plain, case.given, 1) for _ in range(3))
    before = perf_counter()
    size = sum(_bytes(a) for a in case.given())
    copying = perf_counter() - before
    calls = min(int(BATCH_SECONDS / one), int(COPYING_SECONDS / copying), MAX_BYTES // max(size, 1))
    calls = max(1, min(MAX_CALLS, calls))
    best = [math.inf, math.inf]
    for _ in range(ROUNDS):
        for k, function in enumerate((case.plain, case.fused)):
            best[k] = min(best[k], _batch(function, case.given, calls))
    return Times(*best)


def _with_shared_arguments(case: Case) -> Case:
    """The case with the same arguments for each call, where calls leave them as they are."""
    try:
        shared = case.given()
        before = pickle.dumps(shared)
        for _ in range(2):
            _call(case.plain, shared)
            if pickle.dumps(shared) != before:
                return case
    except Exception:  # not all objects can be pickled
        return case
    return case._replace(given=lambda: shared)


def _bytes(value: object) -> int:
    """About how much memory a copy takes."""
    if isinstance(value, (list, tuple, dict, str)):
        return 100 + 40 * len(value)
    size = getattr(value, "nbytes", 0)  # of a class of arrays it is no number
    return 100 + (size if isinstance(size, int) else 0)


def _call(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    with contextlib.suppress(Exception):
        function(*given)


def _batch(function: Callable[..., Any], given: Callable[[], Any], calls: int) -> float:
    """Seconds of a call, on the average of so many."""
    copies = [given() for _ in range(calls)]
    gc.collect(0)
    start = perf_counter()
    for args in copies:
        try:  # noqa: SIM105  # a context manager takes longer
            function(*args)
        except Exception:  # noqa: PERF203
            pass
    return (perf_counter() - start) / calls


def of_the_corpus(packages: Sequence[str], scratch: Path) -> Iterator[Case]:
    """The functions of these packages (beginnings of names; none: of all), with arguments that
    Python takes.
    """
    sys.setrecursionlimit(10_000)  # the modules of some packages are nested deeply
    for package in PACKAGES:
        if packages and not package.requirement.startswith(tuple(packages)):
            continue
        place = fetched(package, corpus_folder())
        for name, function in functions_of(package, place, scratch) if place else ():
            yield Case(name, function, fuse(function, on_reject="silent"), lambda: ())


def _measured_apart(case: Case) -> Times | None:
    """`_measured` in a process of its own, which may die or never end: of a function of the corpus,
    with the first arguments found for it.
    """
    receive, send = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if not child:
        try:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            found = arguments_for(case.plain, case.name, 0)
            if found:
                args = found[0]
                times = _measured(case._replace(given=lambda: copy.deepcopy(args)))
                send.send_bytes(pickle.dumps(tuple(times) if times else None))
        finally:
            os._exit(0)
    send.close()
    try:
        if not receive.poll(CORPUS_SECONDS):
            os.kill(child, signal.SIGKILL)
            return None
        times = pickle.loads(receive.recv_bytes())
        return Times(*times) if times else None
    except EOFError:
        return None
    finally:
        receive.close()
        os.waitpid(child, 0)


def _measured(case: Case) -> Times | None:
    """The times of a case, those above the bound measured again."""
    with contextlib.redirect_stdout(io.StringIO()):
        times = measure(case)
        for _ in range(2):
            if times and times.ratio > FACTOR and (again := measure(case)):
                times = min(times, again, key=lambda t: t.ratio)
    return times


def _chosen(options: argparse.Namespace, scratch: Path) -> Iterator[tuple[Case, Times | None]]:
    """The cases to measure, with their times."""
    if options.corpus is not None:
        for case in of_the_corpus(options.corpus, scratch):
            if not options.names or any(part in case.name for part in options.names):
                yield case, _measured_apart(case)
        return
    number = 0
    for case in cases():
        is_everyday = case.plain.__module__ == "everyday_plain"
        number += not is_everyday
        if options.names:
            if any(part in case.name for part in options.names):
                yield case, _measured(case)
        elif is_everyday or number % options.share == 0:
            yield case, _measured(case)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the results; returns 1 if a function is slower than promised."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.never_slower", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="parts of the names of cases; all if none")
    parser.add_argument("--share", type=int, default=8, help="one in so many programs of the tests")
    parser.add_argument("--corpus", nargs="*", metavar="PACKAGE", help="functions of packages")
    parser.add_argument("--verbose", action="store_true", help="print each case")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    found: list[tuple[Times, Case]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for case, times in _chosen(options, Path(scratch)):
            if times is not None:
                found.append((times, case))
                if options.verbose or times.ratio > FACTOR:
                    _print(times, case)
    found.sort(key=lambda pair: -pair[0].ratio)
    slower = [pair for pair in found if pair[0].ratio > FACTOR]
    faster = sum(times.fused < times.plain for times, _ in found)
    print(f"\n{len(found)} calls; {faster} faster when decorated; slower than {FACTOR} × "
          f"+ {ADDED * 1e6:.1f} µs: {len(slower)} ({len(slower) / max(len(found), 1):.1%})")
    print("worst five:")
    for times, case in found[:5]:
        _print(times, case)
    return int(bool(slower))


def _print(times: Times, case: Case) -> None:
    stats = getattr(case.fused, "stats", None)
    plain, fused = times.plain * 1e6, times.fused * 1e6
    print(f"{case.name:40} {plain:10.2f} µs {fused:10.2f} µs  {times.ratio:8.2f}  {stats}",
          flush=True)


if __name__ == "__main__":
    sys.exit(main())
