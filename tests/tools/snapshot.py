"""``python -m tests.snapshot record DIR``, ``… compare DIR [DIR2]``: every stage of every program.

For refactorings, which must not change what the compiler makes: record with the tree as it was,
compare with the tree as it is. Recorded are all stages of every program of
``tests/programs/run`` and ``tests/programs/traps``, of the files in ``tests/reject``, and of the
fused functions in ``examples``, as text:

    types         the call signature
    core python   the function after the macros
    lowered       Loop IR as lowered
    plan          the rest of the lowered function's call plan
    fused         Loop IR after fusion
    pass K        Loop IR after the K-th of the passes that changed it, from 1
    plan fused    the fields of the call plan that fusion changed
    loopset       dependences and schedules, for AVX2
    legal T       Loop IR in registers of the target T, for each target
    c T           C for T; no compiler is run
    mlir          MLIR of the kernel, still scalar
    report        the report for AVX2; and ``report json``, the same as JSON
    rejection     of a function that is refused, instead of these: code, message, span, labels, note
                  and help; then ``regions``, what is left of the function in Python, each region
                  through all stages, and the report

A program is compiled for the types of its arguments at one size. If it is short, one more signature
that it has at another size is compiled, for AVX2 alone. One program in 32 is compiled twice more:
with folds in Python's order, and as for the call that tells which operation raised.

There is a file a program, gzipped; ``zcat`` shows it. A line ``@@@ place<TAB>kind<TAB>name``
precedes each stage. ``place`` is the number of the signature, with the variant and the region.
``name`` is the name of the pass. The files do not depend on the folder, the hash seed, the order of
programs, the number of processes, or whether programs lie in ``tests`` or ``tests/programs``. They
depend on Python and NumPy, whose versions are in ``manifest.json`` together with the commit.

``compare`` records the present tree into a temporary folder, or takes ``DIR2``. For each kind of
stage it prints in how many programs this stage is the first to differ, and the first of these
differences. The exit status is 1 if anything differs, 2 if there is nothing to compare. ``--names``
compares the names of passes, too, after the renamings that ``--map OLD=NEW`` gives. ``--skip KIND``
leaves out stages whose kind is this (a regular expression): ``--skip 'plan.*'`` after classes in
plans are renamed. ``show DIR PROGRAM [KIND]`` prints what is recorded. ``checks DIR DIR2`` counts
the checks, guards and conditions on aliases that are left in the Loop IR of each program and target
after all passes, and prints where DIR2 has more; the exit status then is 1. ``--only PATTERN``
takes the programs whose names contain a match of the regular expression, ``--share K`` one program
in K.

To compare trees whose modules have different names, record each with its own copy of this file: all
that it imports of the project stands in the part "The project" below.
"""
from __future__ import annotations

import argparse
import ast
import dataclasses
import difflib
import enum
import functools
import gc
import gzip
import inspect
import json
import logging
import multiprocessing
import os
import platform
import re
import subprocess
import sys
import tempfile
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [p for p in (str(ROOT), str(ROOT / "tests" / "programs")) if p not in sys.path]

# -- The project: all that this file knows of its modules

from run.arrays import PROGRAMS as ON_ARRAYS  # noqa: E402
from run.programs import PROGRAMS as IN_LOOPS  # noqa: E402
from traps import TOPICS  # noqa: E402, F401  (fills TRAPS)
from traps.trap import TRAPS  # noqa: E402

import transpile  # noqa: E402
from loopir.ir_printer import show  # noqa: E402
from loopir.passes import pass_list  # noqa: E402
from loopir.passes.nest_plans import show_nest_plans  # noqa: E402
from targets.isa.target_registry import TARGETS  # noqa: E402
from targets.legalization.legalize import describe_unrolling  # noqa: E402
from transpile.cli.argument_types import infer_signature  # noqa: E402
from transpile.diagnostics import Refused  # noqa: E402
from transpile.frontend.source import read_source  # noqa: E402
from transpile.frontend.unparse import print_python  # noqa: E402
from transpile.options import Options  # noqa: E402
from transpile.pipeline import compile_stages  # noqa: E402
from transpile.report.report_builder import (  # noqa: E402
    report_compiled,
    report_refused,
    report_regions,
)
from transpile.runtime.compile_call import rejection_of  # noqa: E402
from transpile.runtime.fuse_decorator import Fused  # noqa: E402
from transpile.runtime.refused.outlined_function import outline_function  # noqa: E402
from transpile.types.typeof import argument_types, parameter_names  # noqa: E402

PACKAGES = ("transpile", "loopir", "targets")
assert Path(transpile.__file__).is_relative_to(ROOT), f"{transpile.__file__} is another tree's"
COMPILED_FOR = [dataclasses.replace(t, extras=frozenset()) for t in TARGETS.values()]
"""The targets, without what only the processor at hand has."""

REPORTED_FOR = next(t for t in COMPILED_FOR if t.name == "avx2")


def front(function: Any, by_name: Mapping[str, Any], options: Any, recording: bool) -> Any:
    """All stages of a function before the target's own, for the target of reports."""
    return compile_stages(function, by_name, options, REPORTED_FOR.model, recording=recording)


def for_target(stages: Any, target: Any) -> Any:
    """`stages` by passes that choose by `target`'s registers and caches."""
    if target.model == REPORTED_FOR.model:
        return stages
    reassociate = stages.options.reassociate
    vector = pass_list.optimise(stages.fusion.kernel, target.model, reassociate=reassociate)
    return dataclasses.replace(stages, kernel=vector)


def stage_texts(stages: Any) -> Iterator[Stage]:
    """The text of each stage, in their order."""
    yield Stage("core python", lambda: print_python(stages.python))
    yield Stage("lowered", lambda: show(stages.lowered.kernel))
    lowered = _fields(stages.lowered)
    yield Stage("plan", lambda: "".join(lowered.values()))
    yield Stage("fused", lambda: show(stages.plan.kernel))
    for k, (name, kernel) in enumerate(stages.passes, 1):
        yield Stage(f"pass {k}", partial(show, kernel), name)
    fused = _fields(stages.plan)
    changed = [text for name, text in fused.items() if lowered.get(name) != text]
    yield Stage("plan fused", lambda: "".join(changed))


def target_texts(stages: Any) -> Iterator[Stage]:
    """What only targets ask for, and the report."""
    yield Stage("loopset", lambda: loopset(stages))
    for target in COMPILED_FOR:
        own = for_target(stages, target)
        yield Stage(f"legal {target.name}", lambda: show(own.legal(target)))  # noqa: B023
        yield Stage(f"c {target.name}", lambda: own.c(target))  # noqa: B023  (is called at once)
    yield Stage("mlir", stages.mlir)


def loopset(stages: Any) -> str:
    legal, reassociate = stages.legal(REPORTED_FOR), stages.options.reassociate
    plans = show_nest_plans(stages.plain, REPORTED_FOR.model, reassociate=reassociate)
    return "\n".join((plans, *dict.fromkeys(describe_unrolling(legal, REPORTED_FOR))))


def compiled(work: Work, out: list[Stage]) -> Any:
    """The report of a function. Its stages go to `out`; of a refused one, those of the regions into
    which it is cut.
    """
    try:
        stages = front(work.function, work.by_name, work.options, work.recording)
    except Exception as error:
        rejection = rejection_of(error)
    else:
        _add(out, work, *stage_texts(stages))
        if work.brief:
            _add(out, work, Stage(f"c {REPORTED_FOR.name}", lambda: stages.c(REPORTED_FOR)))
            return None
        for stage in target_texts(stages):
            _add(out, work, stage)
        report = report_compiled(stages, REPORTED_FOR)
        _add(out, work, *report_texts(report))
        return report
    _add(out, work, Stage("rejection", lambda: "".join(_fields(rejection).values())))
    return None if work.brief else cut(work, rejection, out)


def cut(work: Work, rejection: Any, out: list[Stage]) -> Any:
    """The same of a function that is refused for `rejection`: its report, and its regions."""
    function, by_name = work.function, work.by_name
    try:
        source = read_source(function)
    except Refused:
        source = None
    report = report_refused(function, source, by_name, [rejection], REPORTED_FOR)
    try:
        parts = outline_function(function, by_name, rejection, work.options, Fused)
    except Refused:
        parts = None
    if parts is not None:
        _add(out, work, Stage("regions", lambda: print_python(parts.tree)))
        reports, waiting = [], []
        for k, part in enumerate(parts.regions, 1):
            inner = part.fused.__wrapped__
            names = parameter_names(inner.__code__)
            types = part.types and dict(zip(names, part.types, strict=True))
            region = Work(f"{work.place} region {k}", inner, types or {}, work.options)
            _add(out, region, Stage("region", partial(print_python, part.tree)))
            if types is None:
                waiting += part.loops
                continue
            _add(out, region, Stage("types", partial(_signature, types)))
            reports.append(compiled(region, out))
        report = report_regions(report, reports, waiting, covers_all_loops=not parts.loops,
                                have_all_run=all(part.types is not None for part in parts.regions))
    _add(out, work, *report_texts(report))
    return report


def report_texts(report: Any) -> Iterator[Stage]:
    yield Stage("report", lambda: str(report))
    yield Stage("report json", report.to_json)


@contextmanager
def shared_passes() -> Iterator[None]:
    """Passes keep their results: they run again for the registers and caches of each target, but
    few of them look at these, and most kernels come out the same.
    """
    before = pass_list.PASS_LIST
    pass_list.PASS_LIST = tuple(
        dataclasses.replace(step, run=_kept(step.run)) for step in before
    )
    try:
        yield
    finally:
        pass_list.PASS_LIST = before


def _kept(run: Callable[..., Any]) -> Callable[..., Any]:
    found: dict[tuple[int, Any], tuple[Any, Any]] = {}
    equal: dict[Any, Any] = {}

    @functools.wraps(run)
    def kept(kernel: Any, **chosen: Any) -> Any:
        key = id(kernel), tuple(sorted(chosen.items(), key=lambda item: item[0]))
        if key not in found:
            new = run(kernel, **chosen)
            found[key] = kernel, new if new is kernel else equal.setdefault(new, new)
        return found[key][1]

    return kept


def programs() -> Iterator[Program]:
    """Every program there is."""
    for p in (*IN_LOOPS, *ON_ARRAYS):
        yield Program(f"run/{p.label}", partial(_sizes, p))
    names: dict[str, int] = {}
    for trap in TRAPS:
        name = trap.function.__name__
        names[name] = names.get(name, 0) + 1
        again = f"-{names[name]}" if names[name] > 1 else ""
        yield Program(f"traps/{name}{again}", partial(_cases, trap))
    for path in sorted((ROOT / "tests" / "reject").glob("*.py")):
        yield Program(f"reject/{path.stem}", partial(_calls, path))
    for path in sorted((ROOT / "examples").glob("*.py")):
        if "@fuse" in path.read_text(encoding="utf-8"):
            yield Program(f"examples/{path.stem}", partial(_annotated, path))


def _sizes(program: Any) -> Iterator[Call]:
    small = [n for n in program.sizes if n <= MOST] or [min(program.sizes)]
    plain = [n for n in small if n not in program.python_at] or small
    for n in dict.fromkeys((max(plain), *small)):
        values = program.make(n, np.random.default_rng(n))
        yield Call(program.function, _types(program.function, values))


def _cases(trap: Any) -> Iterator[Call]:
    for case in trap.cases:
        try:
            values = tuple(_bound(trap.function, case(), {}).values())
        except TypeError:  # it is called as it cannot be
            continue
        yield Call(trap.function, _types(trap.function, values))


def _calls(path: Path) -> Iterator[Call]:
    """The calls that a refused program makes."""
    calls: list[Call] = []

    def called(function: Any, options: Any, args: Any, kwargs: Any) -> Any:
        values = tuple(_bound(function, args, kwargs).values())
        calls.append(Call(function, _types(function, values), options))
        return function(*args, **kwargs)

    _executed(path, called)
    return iter(calls)


def _annotated(path: Path) -> Iterator[Call]:
    """The fused functions of an example, for the types in its annotations."""
    for function, options in _executed(path, lambda *_: None):
        by_name = infer_signature(function, read_source(function).tree).types
        yield Call(function, dict(by_name), options)


def _executed(path: Path, called: Callable[..., Any]) -> list[tuple[Any, Any]]:
    """Runs a file without its main part. `called` stands for calls of its fused functions, which
    are returned.
    """
    found: list[tuple[Any, Any]] = []

    def fuse(function: Any = None, **said: Any) -> Any:
        if function is None:
            return partial(fuse, **said)
        options = Options(**said)
        found.append((function, options))
        return functools.wraps(function)(
            lambda *args, **kwargs: called(function, options, args, kwargs)
        )

    names = {"__name__": path.stem, "__file__": str(path)}
    before = transpile.fuse
    transpile.fuse = fuse
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), names)
    except Exception as error:
        if not found:
            raise NotRun(f"{type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
        transpile.fuse = before
    return found


def _types(function: Any, values: Sequence[Any]) -> dict[str, Any]:
    code = function.__code__
    return dict(zip(parameter_names(code), argument_types(values, function), strict=True))


def _bound(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return {name: bound.arguments[name] for name in parameter_names(function.__code__)}


# -- The rest knows only these

MOST = 100
"""The largest size."""

SHORT, MORE = 30, 1
"""Lines of a kernel of which more signatures are taken, and how many of them."""

VARIED = 32
"""One program in so many is compiled in other ways, too."""


class Stage(NamedTuple):
    kind: str
    text: Callable[[], str]
    name: str = ""


class Kept(NamedTuple):
    """A stage as it is kept."""

    place: str
    kind: str
    name: str
    text: str


class Call(NamedTuple):
    """A function, with the types of its arguments by the names of its parameters."""

    function: Any
    by_name: dict[str, Any]
    options: Any = Options()


class Program(NamedTuple):
    label: str
    calls: Callable[[], Iterator[Call]]


class Work(NamedTuple):
    """A call to compile. ``brief``: for one target, without a report."""

    place: str
    function: Any
    by_name: dict[str, Any]
    options: Any
    recording: bool = False
    brief: bool = False


class NotRun(Exception):
    """A file that ends in an exception, or is no Python."""


def recorded(program: Program) -> list[Kept]:
    """All that is kept of a program."""
    out: list[Kept] = []
    try:
        calls = list(_distinct(program))
    except NotRun as error:
        return [Kept("0", "not run", "", str(error))]
    for k, call in enumerate(calls):
        again = k > 0 and call.function is calls[0].function
        if again and (k > MORE or not _short(out)):
            continue
        with shared_passes():
            varied = k == 0 and _drawn(f"varied {program.label}", VARIED)
            for work in _works(k, call, brief=again, varied=varied):
                _add(out, work, Stage("types", partial(_signature, call.by_name)))
                try:
                    compiled(work, out)
                except Exception as error:
                    _add(out, work, Stage("failed", partial(_failed, error)))
    return out


def _add(out: list[Kept], work: Work, *stages: Stage) -> None:
    for kind, text, name in stages:
        try:
            made = text()
        except Exception as error:
            made = _failed(error)
        out.append(Kept(work.place, kind, name, made))


def _failed(error: Exception) -> str:
    """Without a line of ours."""
    return f"{type(error).__name__}: {error}\n"


def _short(out: list[Kept]) -> bool:
    lowered = [kept.text for kept in out if kept.kind == "lowered"]
    return bool(lowered) and lowered[0].count("\n") <= SHORT


def _distinct(program: Program) -> Iterator[Call]:
    seen = set()
    for call in program.calls():
        key = call.function, tuple(call.by_name.values()), call.options
        if key not in seen:
            seen.add(key)
            yield call


def _works(k: int, call: Call, *, brief: bool, varied: bool) -> Iterator[Work]:
    yield Work(f"{k}", *call, brief=brief)
    if varied:
        in_order = dataclasses.replace(call.options, reassociate=False)
        yield Work(f"{k} in order", call.function, call.by_name, in_order, brief=True)
        alone = dataclasses.replace(in_order, fusion=False)
        yield Work(f"{k} telling", call.function, call.by_name, alone, recording=True, brief=True)


def _drawn(label: str, share: int) -> bool:
    return crc32(label.encode()) % share == 0


# -- text that is the same everywhere

_OURS = re.compile(rf"\b(?:{'|'.join((*PACKAGES, 'run', 'traps'))})\.(?:\w+\.)*(?=\w)")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def _signature(by_name: Mapping[str, Any]) -> str:
    return "".join(f"{name}: {_ADDRESS.sub('', str(ty))}\n" for name, ty in by_name.items())


def _fields(value: Any) -> dict[str, str]:
    """The fields of a record but its kernel, in lines of text."""
    shown = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    shown.pop("kernel", None)
    if "typed" in shown:  # its order among names depends on the hash seed
        shown["typed"] = tuple(sorted(shown["typed"], key=lambda pair: pair[0]))
    return {name: _field(name, held) for name, held in shown.items()}


def _field(name: str, held: Any) -> str:
    if isinstance(held, tuple) and held and not hasattr(held, "_fields"):
        return f"{name}:\n" + "".join(f"    {_plain(item)}\n" for item in held)
    return f"{name}: {_plain(held)}\n"


def _plain(value: Any) -> str:
    """As ``repr``, without addresses, modules of ours, and the order of sets."""
    match value:
        case frozenset() | set():
            return f"{{{', '.join(sorted(map(_plain, value)))}}}"
        case tuple() | list():
            return f"{type(value).__name__}({', '.join(map(_plain, value))})"
        case dict() | types.MappingProxyType():
            return f"{{{', '.join(f'{_plain(k)}: {_plain(v)}' for k, v in value.items())}}}"
        case type() | types.FunctionType() | types.BuiltinFunctionType() | np.ufunc():
            return getattr(value, "__qualname__", value.__name__)
        case types.ModuleType():
            return f"module {value.__name__}"
        case ast.AST():
            return ast.unparse(value)
        case enum.Enum() | str() | np.ndarray() | np.generic():
            return repr(value)
    if dataclasses.is_dataclass(value):
        held = (f"{f.name}={_plain(getattr(value, f.name))}" for f in dataclasses.fields(value))
        return f"{type(value).__name__}({', '.join(held)})"
    return _OURS.sub("", _ADDRESS.sub("", repr(value)))


def _anywhere(text: str) -> str:
    if sys.pycache_prefix:
        text = text.replace(sys.pycache_prefix, "")
    text = text.replace(str(ROOT / "tests" / "programs"), "<root>/tests")
    text = text.replace(str(ROOT), "<root>").replace(sys.prefix, "<prefix>")
    return _ADDRESS.sub("", text) if " at 0x" in text else text


# -- files


def write(folder: Path, label: str, stages: Iterable[Kept]) -> None:
    parts = []
    for place, kind, name, text in stages:
        parts.append(f"@@@ {place}\t{kind}\t{name}\n{_anywhere(text)}")
        if not text.endswith("\n"):
            parts.append("\n")
    path = folder / f"{label}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(parts).encode(), 1, mtime=0))


def load(path: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """The name and the text of each stage, by place and kind, in the order of the stages."""
    text = gzip.decompress(path.read_bytes()).decode()
    out = {}
    for part in re.split(r"^@@@ ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        place, kind, name = head.split("\t")
        out[place, kind] = name, body
    return out


def _labels(folder: Path) -> list[str]:
    files = folder.glob("*/*.gz")
    return sorted(str(p.relative_to(folder).with_suffix("")).replace(os.sep, "/") for p in files)


def manifest() -> dict[str, Any]:
    def git(*words: str) -> str:
        answer = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return answer.stdout.strip()

    return {
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": platform.system(),
    }


# -- recording


@functools.cache
def _by_label() -> dict[str, Program]:
    return {p.label: p for p in programs()}


def _chosen(labels: Iterable[str], only: str, share: int) -> list[str]:
    return [x for x in labels if re.search(only, x) and (share <= 1 or _drawn(x, share))]


def _record_one(folder: Path, label: str) -> float:
    """Records a program; the seconds of a processor that it took."""
    start = process_time()
    before = logging.root.manager.disable
    logging.disable()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            write(folder, label, recorded(_by_label()[label]))
    finally:
        logging.disable(before)
    return process_time() - start


def record(folder: Path, *, only: str = "", share: int = 1, jobs: int = 1) -> dict[str, float]:
    """Records the programs into `folder`; the seconds that each took."""
    labels = _chosen(_by_label(), only, share)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in (label for label in _labels(folder) if label in set(labels)):
        (folder / f"{stale}.gz").unlink()
    about = manifest() | {"only": only, "share": share}
    (folder / "manifest.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    one = partial(_record_one, folder)
    if jobs <= 1:
        return dict(zip(labels, map(one, labels), strict=True))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_collect_less) as pool:
        return dict(zip(labels, pool.map(one, labels, chunksize=8), strict=True))


def _collect_less() -> None:
    """Saves a twentieth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


# -- comparing


class Difference(NamedTuple):
    label: str
    place: str
    kind: str
    old: str
    new: str
    first: bool


def differences(
    old: Path, new: Path, labels: Iterable[str], *,
    names: bool = False, renamed: Mapping[str, str] | None = None, skip: Sequence[str] = (),
) -> Iterator[Difference]:
    """What differs in each program, in the order of its stages. ``names``: those of passes, too,
    with the old ones ``renamed``.
    """
    for label in labels:
        a, b = (f / f"{label}.gz" for f in (old, new))
        if not (a.exists() and b.exists()):
            said = ["recorded\n" if p.exists() else "not recorded\n" for p in (a, b)]
            yield Difference(label, "", "program", *said, True)
            continue
        if a.read_bytes() == b.read_bytes() and not renamed:
            continue
        first = True
        before, after = load(a), load(b)
        for key in _merged(before, after):
            place, kind = key
            if any(re.fullmatch(s, kind) for s in skip):
                continue
            texts = []
            for stages, mapped in ((before, renamed or {}), (after, {})):
                name, text = stages.get(key, ("", "(there is no such stage)\n"))
                name = mapped.get(name, name)
                texts.append(f"# {name}\n{text}" if names and name else text)
            if texts[0] != texts[1]:
                yield Difference(label, place, kind, *texts, first)
                first = False


def _merged(a: Iterable[Any], b: Iterable[Any]) -> list[Any]:
    """The keys of both, each where it stands."""
    a, b = list(a), list(b)
    out: list[Any] = []
    for _, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        out += dict.fromkeys((*a[i:j], *b[k:m]))
    return list(dict.fromkeys(out))


def told(found: Iterable[Difference], *, lines: int = 40) -> list[str]:
    """For each kind of stage how many programs differ, and the first difference where it begins."""
    begins: dict[str, list[Difference]] = {}
    everywhere: dict[str, set[str]] = {}
    for d in found:
        everywhere.setdefault(d.kind, set()).add(d.label)
        if d.first:
            begins.setdefault(d.kind, []).append(d)
    out: list[str] = []
    for kind, those in begins.items():
        d = those[0]
        of = f"{d.label} ({d.place})" if d.place not in ("", "0") else d.label
        some = ", ".join(x.label for x in those[1:6]) + (", …" if len(those) > 6 else "")
        out.append(f"{kind}: the first to differ in {len(those)}, differs in "
                   f"{len(everywhere[kind])}; {of}{f'; also {some}' if some else ''}")
        diff = [*difflib.unified_diff(
            d.old.splitlines(), d.new.splitlines(), f"{d.label}: {kind}, old",
            f"{d.label}: {kind}, new", lineterm="",
        )]  # fmt: skip
        out += [f"    {line}" for line in diff[:lines]]
        out += [f"    … {len(diff) - lines} more lines"] * (len(diff) > lines)
    rest = {kind: len(those) for kind, those in everywhere.items() if kind not in begins}
    if rest:
        out.append("as a consequence: " + ", ".join(f"{k} {n}" for k, n in rest.items()))
    return out


# -- counting checks

_CHECK = re.compile(r"^ *(check|guard|disjoint|disjoint_or_same)\(", re.MULTILINE)


def checks_left(stages: Mapping[tuple[str, str], tuple[str, str]]) -> dict[str, Counter[str]]:
    """How many statements of each kind of check are left of a program: in each signature (and
    variant, and region) after the last pass, and for each target.
    """
    found: dict[str, Counter[str]] = {}
    for (place, kind), (_, text) in stages.items():
        if kind == "fused" or kind.startswith(("pass ", "legal ")):  # the last pass remains
            key = f"{place} {kind}" if kind.startswith("legal ") else place
            found[key] = Counter(m[1] for m in _CHECK.finditer(text))
    return found


def more_checks(old: Path, new: Path, labels: Iterable[str]) -> Iterator[str]:
    """Kernels that have more checks of a kind in `new` than in `old`."""
    for label in labels:
        before, after = (checks_left(load(f / f"{label}.gz")) for f in (old, new))
        for key in before.keys() & after.keys():
            if after[key] - before[key]:
                yield f"{label} ({key}): {dict(before[key])} → {dict(after[key])}"


# -- the command


def main(argv: Sequence[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m tests.snapshot", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = words.add_subparsers(dest="mode", required=True)
    recording, comparing, showing, counting = map(
        modes.add_parser, ("record", "compare", "show", "checks")
    )
    for mode in (recording, comparing, showing, counting):
        mode.add_argument("folder", type=Path, metavar="DIR")
    comparing.add_argument("other", type=Path, metavar="DIR2", nargs="?")
    for mode in (recording, comparing):
        mode.add_argument("--only", default="", metavar="PATTERN")
        mode.add_argument("--share", type=int, default=1, metavar="K")
        mode.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    comparing.add_argument("--names", action="store_true", help="compare names of passes, too")
    comparing.add_argument("--map", action="append", default=[], metavar="OLD=NEW")
    comparing.add_argument("--skip", action="append", default=[], metavar="KIND")
    comparing.add_argument("--lines", type=int, default=40, help="of a difference")
    showing.add_argument("label", metavar="PROGRAM")
    showing.add_argument("kind", metavar="KIND", nargs="?", default="")
    counting.add_argument("other", type=Path, metavar="DIR2")
    chosen = words.parse_args(argv)
    run = {"record": _record, "compare": _compare, "show": _show, "checks": _count_checks}
    return run[chosen.mode](chosen)


def _record(chosen: argparse.Namespace) -> int:
    took = record(chosen.folder, only=chosen.only, share=chosen.share, jobs=chosen.jobs)
    print(f"{len(took)} programs, {sum(took.values()):.0f} s of processors")
    for label, seconds in sorted(took.items(), key=lambda item: -item[1])[:3]:
        print(f"    {seconds:5.1f} s  {label}")
    return 0 if took else 2


def _compare(chosen: argparse.Namespace) -> int:
    old = json.loads((chosen.folder / "manifest.json").read_text(encoding="utf-8"))
    only, share = chosen.only or old["only"], max(chosen.share, old["share"])
    with tempfile.TemporaryDirectory() as scratch:
        other = chosen.other or Path(scratch)
        if chosen.other is None:
            record(other, only=only, share=share, jobs=chosen.jobs)
        new = json.loads((other / "manifest.json").read_text(encoding="utf-8"))
        for what in ("python", "numpy", "machine", "system"):
            if old[what] != new[what]:
                print(f"note: {what} {old[what]} and {new[what]}")
        known = sorted({*_labels(chosen.folder), *_labels(other)})
        share, only = max(share, new["share"]), [only, new["only"]]
        labels = [x for x in _chosen(known, "", share) if all(re.search(p, x) for p in only)]
        if not labels:
            print("nothing to compare")
            return 2
        found = list(differences(
            chosen.folder, other, labels, names=chosen.names, skip=chosen.skip,
            renamed=dict(pair.split("=", 1) for pair in chosen.map),
        ))  # fmt: skip
        for line in told(found, lines=chosen.lines):
            print(line)
    print(f"{len({d.label for d in found})} of {len(labels)} programs differ")
    return int(bool(found))


def _count_checks(chosen: argparse.Namespace) -> int:
    labels = [x for x in _labels(chosen.folder) if (chosen.other / f"{x}.gz").exists()]
    if not labels:
        print("nothing to compare")
        return 2
    for folder in (chosen.folder, chosen.other):
        counts = [c for x in labels for c in checks_left(load(folder / f"{x}.gz")).values()]
        total = sum(counts, Counter[str]())
        print(f"{folder}: {len(counts)} kernels, {dict(sorted(total.items()))}")
    found = list(more_checks(chosen.folder, chosen.other, labels))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(found)} kernels of {len(labels)} programs have more")
    return int(bool(found))


def _show(chosen: argparse.Namespace) -> int:
    shown = 0
    for (place, kind), (name, text) in load(chosen.folder / f"{chosen.label}.gz").items():
        if chosen.kind in ("", kind):
            print(f"@@@ {place}  {kind}  {name}\n{text}", end="")
            shown += 1
    return 0 if shown else 2


if __name__ == "__main__":
    sys.exit(main())
