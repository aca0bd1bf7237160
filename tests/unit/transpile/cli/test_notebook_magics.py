"""The magics of ``%load_ext transpile``, in a shell of IPython and in a kernel of Jupyter."""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import ROOT

import transpile
from transpile.report.source_listing import Listing
from transpile.runtime.fuse_decorator import Fused

IPython = pytest.importorskip("IPython")

CELL = """\
def total(x, by):
    s = 0.0
    for v in x:
        s += v * by
    return s

def show(x):
    for v in x:
        print(v)

class Model:
    rate = 2.0
    def step(self, x):
        for i in range(len(x)):
            x[i] = x[i] * self.rate

@staticmethod
def left_alone(x):
    return x

value = total(np.ones(100), 2.0)
value + 1.0
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    made = InteractiveShell(config=config, ipython_dir=str(tmp_path_factory.mktemp("ipython")))
    InteractiveShell._instance = made  # what get_ipython() gives
    made.run_line_magic("load_ext", "transpile")
    made.run_cell("import numpy as np")
    yield made
    InteractiveShell._instance = None


@pytest.fixture
def published(shell: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What is displayed."""
    shown: list[dict[str, str]] = []
    monkeypatch.setattr(shell.display_pub, "publish", lambda data, *_: shown.append(data))
    return shown


def test_a_cell_is_fused(shell: Any, published: list[dict[str, str]]) -> None:
    result = shell.run_cell(f"%%fuse\n{CELL}", store_history=True)
    assert result.success
    assert result.result == 201.0
    names = shell.user_ns
    assert isinstance(names["total"], Fused)
    assert names["total"].stats.compiled == 1
    assert isinstance(vars(names["Model"])["step"], Fused)
    assert isinstance(names["left_alone"], staticmethod)
    assert not [name for name in names if name.startswith("_transpile")]
    texts = [data["text/plain"] for data in published]
    assert [text.partition("(")[0] for text in texts] == ["total", "show", "Model.step"]
    assert all(data["text/html"].startswith("<pre") for data in published)
    here = f"In[{shell.execution_count - 1}]"
    assert texts[0].startswith(f"total(x: f64[:], by: float)  {here}:2\n")
    assert "   line 4  fold" in texts[0]
    assert f"LOWER_CALL  {here}:10\n" in texts[1]
    assumed = "types assumed, for want of annotations or a call: x: f64[:]"
    assert assumed in texts[1]
    assert f"{assumed}; type unknown: `self`: call it, and look at its report" in texts[2]
    assert "--" not in texts[2]


def test_options(shell: Any, published: list[dict[str, str]]) -> None:
    assert shell.run_cell('%%fuse target="scalar", threads=1\ndef f(x): return x + 1').success
    assert shell.user_ns["f"].options.target == "scalar"
    with pytest.raises(ValueError, match="must be one of"):
        shell.run_cell_magic("fuse", 'target="none"', "def g(x): return x")
    assert "g" not in shell.user_ns


def test_exceptions_are_the_cells(shell: Any, published: list[dict[str, str]]) -> None:
    with pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("fuse", "", "def h(x): return x\n1 / 0")
    with pytest.raises(SyntaxError):
        shell.run_cell_magic("fuse", "", "def h(:")
    assert published == []
    assert not [name for name in shell.user_ns if name.startswith("_transpile")]


@pytest.mark.parametrize("cell", [
    "await f()", "async with f():\n    pass", "x = [v async for v in f()]",
])
def test_await_outside_of_functions_is_an_error_that_says_what_to_do(
    shell: Any, cell: str
) -> None:
    with pytest.raises(SyntaxError, match="await in a cell of its own"):
        shell.run_cell_magic("fuse", "", f"def g(x):\n    return x\n{cell}\n")
    shell.run_cell_magic("fuse", "", "async def f(x):\n    return await x\n")


def test_value_of_the_last_line(shell: Any, published: list[dict[str, str]]) -> None:
    assert shell.run_cell_magic("fuse", "", "1 + 1") == 2
    assert shell.run_cell_magic("fuse", "", "1 + 1;") is None
    assert shell.run_cell_magic("fuse", "", "\n") is None


def test_annotate(shell: Any, published: list[dict[str, str]]) -> None:
    shell.run_cell_magic("fuse", "", CELL)
    for what in ("total", "total(np.ones(3), by=2)", "Model().step(np.ones(3))"):
        listing = shell.run_line_magic("fuse_annotate", what)
        assert isinstance(listing, Listing)
        assert repr(listing) == str(listing)
        assert "x[i" in repr(listing)
    shell.run_cell("def plain(x):\n    for i in range(len(x)):\n        x[i] += 1.0\n")
    assert "plain  In[" in str(shell.run_line_magic("fuse_annotate", "plain"))
    assert "plain" not in repr(shell.user_ns["plain"].__class__)
    with pytest.raises(transpile.FuseError):
        shell.run_line_magic("fuse_annotate", "show(['a'])")
    with pytest.raises(ValueError, match="want a function or a call"):
        shell.run_line_magic("fuse_annotate", "")
    assert shell.user_ns["total"](np.ones(3), 2.0) == 6.0


@pytest.mark.long
def test_in_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the front end of Jupyter gets."""
    client_module = pytest.importorskip("jupyter_client")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)  # the sockets are files in it
    manager = client_module.KernelManager(transport="ipc", kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        shown: list[dict[str, Any]] = []
        for cell in ("%load_ext transpile\nimport numpy as np", f"%%fuse\n{CELL}",
                     "%fuse_annotate total"):
            reply = client.execute_interactive(cell, output_hook=shown.append, timeout=120)
            assert reply["content"]["status"] == "ok", reply
        pages = [m["content"]["data"]["text/html"] for m in shown
                 if "text/html" in m["content"].get("data", {})]
        assert len(pages) == 4
        assert re.search(r"In\[2\]:2<", pages[0])
        assert pages[-1].startswith("<table")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
