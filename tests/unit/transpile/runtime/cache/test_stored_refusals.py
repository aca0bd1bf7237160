"""A later process knows that a function is refused, and gains from the kernels of its regions."""
from __future__ import annotations

import json
import linecache
import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from forked_programs import run_program

from loopir.nodes import Span
from transpile import fuse
from transpile.diagnostics import HelperLine, Label, Rejection
from transpile.runtime.cache.recipe_format import decoded, encoded
from transpile.runtime.cache.stored_refusals import refusal_row, rejection_of_row

PROGRAM = """
import io, json, sys
import numpy as np
from transpile import fuse
import helping
from helping import shown
{before}
@fuse(on_reject="silent")
def steps(x, n):
    for k in range(n):
        for i in range(1, len(x)):
            x[i] = x[i - 1] * 0.5 + x[i]
        shown(k)
    return x
x = steps(np.ones(50), 3)
print(json.dumps(dict(
    x=x.tolist(), want=steps.__wrapped__(np.ones(50), 3).tolist(), compiled=steps.stats.compiled,
    code=[*steps.stats.replays], front="transpile.pipeline" in sys.modules,
    report=steps.report(np.ones(50), 3).rejections[0].code,
)))
"""

HELPER = "import helped\ndef shown(k):\n    print(k, file=helped.SINK)\n"
HELPED = "import io\nSINK = io.StringIO()\n"


@pytest.fixture
def run(tmp_path: Path):
    """Runs the program in a process of its own, all with one cache; what it tells."""

    def once(
        before: str = "", helper: str = HELPER, helped: str = HELPED
    ) -> dict[str, object]:
        (tmp_path / "program.py").write_text(PROGRAM.format(before=before))
        for name, text in (("helping", helper), ("helped", helped)):
            path = tmp_path / f"{name}.py"
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
        env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache")}
        env.pop("TRANSPILE_FALLBACK", None)
        said = run_program(tmp_path / "program.py", env=env)
        got: dict[str, object] = json.loads(said.stdout)
        assert got["x"] == got["want"]
        assert got["compiled"] == 3
        return got

    return once


def test_the_second_process_outlines_at_once(run) -> None:
    first, second = run(), run()
    assert (first["front"], second["front"]) == (True, False)
    assert first["code"] == second["code"]


@pytest.mark.share(6)
@pytest.mark.parametrize(
    "change",
    [
        {"helper": HELPER + "\n"},
        {"helped": HELPED + "\n"},
        {"before": "from transpile import macro\n@macro('f(A)')\ndef f(A): return A + 1\n"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_compiles_again(change: dict[str, str], run) -> None:
    run()
    assert run(**change)["front"]


EDITED = """
import sys
from pathlib import Path
import numpy as np
import helping
path, now = Path(helping.__file__), Path(helping.__file__).read_text()
path.write_text(sys.argv[1] + now)
try:
    helping.total(np.ones(3))
finally:
    path.write_text(now)
print([*helping.total.stats.replays])
"""


def test_a_function_whose_file_was_edited_is_compiled_by_the_next_process(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(EDITED)
    (tmp_path / "helping.py").write_text(
        "from transpile import fuse\n@fuse(on_reject='silent')\ndef total(x):\n"
        "    s = 0.0\n    for v in x:\n        s += v\n    return s\n"
    )
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache")}
    env.pop("TRANSPILE_FALLBACK", None)
    replays = [
        run_program(tmp_path / "program.py", before, env=env).stdout.strip()
        for before in ("# edited\n", "")
    ]
    assert replays == ["['SOURCE_UNAVAILABLE']", "[]"]


LIMIT = 2.0


def shown(x):
    return np_like(x)


def np_like(x, shift=0.0, *, scale=1.0):
    return x + LIMIT


def other(x):
    return x - LIMIT


fused_helper = fuse(np_like)


def calls_fused(x):
    return fused_helper(x)


@pytest.mark.share(4)
@pytest.mark.parametrize("function", [shown, calls_fused])
@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setitem(globals(), "LIMIT", 3.0),
        lambda patch: patch.delitem(globals(), "LIMIT"),
        lambda patch: patch.setattr(np_like, "__code__", other.__code__),
        lambda patch: patch.setattr(np_like, "__defaults__", None),
        lambda patch: patch.setattr(np_like, "__defaults__", (1.0,)),
        lambda patch: patch.setitem(np_like.__kwdefaults__, "scale", "much"),
    ],
    ids=["global", "no global", "code", "no default", "default", "keyword default"],
)
def test_what_a_called_function_reads_counts_too(
    change: Callable[[pytest.MonkeyPatch], None], function: FunctionType
) -> None:
    row = refusal_row(function, Rejection("LOWER_CALL", "a message"))
    assert row is not None
    assert rejection_of_row(function, row) is not None
    with pytest.MonkeyPatch.context() as patch:
        change(patch)
        assert rejection_of_row(function, row) is None
    assert rejection_of_row(function, row) is not None


TABLE: object = None


def reads_table(x):
    return x + TABLE


ITSELF: list[object] = [1.0]
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("before", "after", "is_other"),
    [
        (("a", 1), (2.0, 1), True),
        ((1, 2), (1, 3), True),
        (["a", 1.0], [2.0, 1.0], True),
        ([[1.0], ["a"]], [[1.0], [2.0]], True),
        ({"rate": "a"}, {"rate": 0.1}, True),
        ({"rate": 0.1}, {"other": 0.1}, True),
        ({1, "a"}, {1, 2}, True),
        ([1.0, 2.0], [3.0], False),
        ({"rate": 0.1}, {"rate": 0.2}, False),
        ({1, "a"}, {2, "b"}, False),
        (ITSELF, ITSELF, False),
    ],
)
def test_the_items_of_a_global_count_too(before: object, after: object, is_other: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "TABLE", before)
        row = refusal_row(reads_table, Rejection("LOWER_TYPE", "a message"))
        assert row is not None
        row = decoded(encoded(row))
        assert rejection_of_row(reads_table, row) is not None
        patch.setitem(globals(), "TABLE", after)
        assert (rejection_of_row(reads_table, row) is None) == is_other


NAMELESS = """
def total(items):
    if isinstance(items, str):
        return len(items)
    return shown(sum(total(v) for v in items))

def shown(n):
    print(end="")
    return n
"""


def test_functions_whose_globals_have_no_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As `exec` makes them in an empty dict: their ``__module__`` is None."""
    file = "<nameless>"
    monkeypatch.setitem(
        linecache.cache, file, (len(NAMELESS), None, NAMELESS.splitlines(True), file)
    )
    names: dict[str, Any] = {}
    exec(compile(NAMELESS, file, "exec"), names)
    names["total"] = fuse(names["total"], on_reject="silent")
    for _ in range(20):
        assert names["total"](["ab", ["c", "de"], ()]) == 5
    assert caplog.records == []


def test_a_rejection_comes_back_as_it_was() -> None:
    span = Span(3, 4, 3, 9, internal=True)
    labels, helper = (Label(span, "here"),), HelperLine("g", "tools.py", 7)
    rejection = Rejection("LOWER_JOIN", "a message", span, labels, "a", "b", helper=helper)
    row = refusal_row(shown, rejection)
    assert row is not None
    assert rejection_of_row(shown, decoded(encoded(row))) == rejection


def test_other_data_is_no_rejection() -> None:
    assert rejection_of_row(shown, ()) is None
    assert rejection_of_row(shown, (1, 2, 3, 4)) is None
