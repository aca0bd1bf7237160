"""The tool that runs tests under sanitizers: ThreadSanitizer sees a race, and none in a kernel."""
from __future__ import annotations

import pytest

from tests.tools.sanitize import ROOT, main, thread_tests


@pytest.mark.long
def test_threads() -> None:
    """The race that is planted is found, else ``main`` raises; the folds have none."""
    assert main(["--thread", "tests/programs/test_threads.py", "-k", "test_folds or did_run"]) == 0


def test_the_tests_of_threads_are_found() -> None:
    found = {str(p.relative_to(ROOT / "tests")) for p in thread_tests()}
    names = ("test_threads", "test_split_folds", "test_running_totals", "test_undone_loops")
    assert found > {f"programs/{name}.py" for name in names}
    assert found > {"fuzz/test_random_threads.py", "fuzz/test_checked_sums.py"}
    assert found.isdisjoint({"programs/test_traps.py", "unit/targets/abi/test_thread_pool.py"})
