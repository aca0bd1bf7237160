"""``python -m tests.tools.corpus [package …] [--seed N] [--jobs N] [--list CODE]``: the score.

Downloads wheels into a folder of the user's cache, runs what their authors compile both ways, each
function in a process of its own, and prints how many are compiled, refused and wrong. A function
counts as run where Python takes arguments made for it, of the kinds that its author declared or
that its text asks for, the likeliest first (float64 arrays of equal lengths); whether it is
accepted is judged by the first of these, whether it is wrong by six, of several types and lengths.
"""
from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

from .judge import Verdict, judged
from .modules import functions_of
from .packages import PACKAGES, Package, corpus_folder, fetched

_LIMIT = 60  # seconds for one function


def main() -> int:
    """Exit status 1 where an answer was wrong or a process died."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="beginnings of names; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="functions whose name holds this")
    parser.add_argument("--list", default="", help="show each refusal whose text holds this")
    parser.add_argument("--all", action="store_true", help="also functions that are not plain")
    chosen = parser.parse_args()
    cache = corpus_folder()
    total: list[Verdict] = []
    with tempfile.TemporaryDirectory() as scratch:
        for package in PACKAGES:
            if chosen.packages and not package.requirement.startswith(tuple(chosen.packages)):
                continue
            place = fetched(package, cache)
            if place is None:
                continue
            verdicts = []
            for v in _verdicts(package, place, Path(scratch), chosen):
                _tell(v, chosen)
                verdicts.append(v)
            total += verdicts
            print(f"{package.requirement:24} {_score(verdicts)}", flush=True)
    print(f"{'in all':24} {_score(total)}")
    plain = [v for v in total if v.plain and v.ran]
    codes = Counter(code for v in plain for code in v.codes)
    print("refused by code, of those plain that ran:", dict(codes.most_common()))
    replays = Counter(code for v in plain for code in v.replays)
    print("replayed:", dict(replays.most_common()))
    return any(v.wrong for v in total)


def _tell(v: Verdict, chosen: argparse.Namespace) -> None:
    """What is to be said of one function, as soon as it is known."""
    if v.wrong:
        print(f"  WRONG {v.name}: {v.wrong}", flush=True)
    if chosen.list and (v.plain or chosen.all):
        for m in v.messages:
            if chosen.list in m:
                print(f"  {v.name}: {m}", flush=True)


def _score(verdicts: list[Verdict]) -> str:
    ran = [v for v in verdicts if v.ran]
    plain = [v for v in ran if v.plain]
    accepted, wrong = sum(v.accepted for v in plain), sum(v.wrong is not None for v in ran)
    share = f"{100 * accepted / len(plain):.0f} %" if plain else "-"
    return (
        f"tried {len(verdicts)}, ran {len(ran)}, accepted {sum(v.accepted for v in ran)}, "
        f"in part {sum(not v.accepted and v.regions > 0 for v in ran)}; "
        f"plain {len(plain)}, accepted {accepted} ({share}); "
        f"vectorised {sum(v.vectorized > 0 for v in ran)}; wrong {wrong}"
    )


def _verdicts(
    package: Package, place: Path, scratch: Path, chosen: argparse.Namespace
) -> Iterator[Verdict]:
    sys.setrecursionlimit(10_000)
    functions = functions_of(package, place, scratch)
    found = [(name, function) for name, function in functions if chosen.only in name]
    with ThreadPool(chosen.jobs) as pool:
        yield from pool.imap(lambda one: _apart(one[1], one[0], chosen.seed), found)


def _apart(function: Callable[..., Any], name: str, seed: int) -> Verdict:
    """The verdict of a process of its own, which may die or never end."""
    receive, send = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if not child:
        _child(send, function, name, seed)
    send.close()
    try:
        if not receive.poll(_LIMIT):
            os.kill(child, signal.SIGKILL)
            return Verdict(name, True, True, wrong=f"no answer after {_LIMIT} s")
        return Verdict(*pickle.loads(receive.recv_bytes()))
    except EOFError:
        return Verdict(name, True, True, wrong="the process died")
    finally:
        receive.close()
        os.waitpid(child, 0)


def _child(send: Any, function: Callable[..., Any], name: str, seed: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        verdict = judged(function, name, seed)
        send.send_bytes(pickle.dumps(tuple(verdict)))
    except BaseException as e:
        import traceback

        text = "".join(traceback.format_exception(e)[-6:])
        send.send_bytes(pickle.dumps(tuple(Verdict(name, True, True, wrong=text))))
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
