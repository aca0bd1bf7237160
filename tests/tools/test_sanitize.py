"""The tool that runs tests under sanitizers: ThreadSanitizer sees a race, and none in a kernel."""
from __future__ import annotations

import pytest

from tests.tools.sanitize import THREAD_TESTS, main


@pytest.mark.long
def test_threads() -> None:
    """The race that is planted is found, else ``main`` raises; the folds have none."""
    assert main(["--thread", f"tests/{THREAD_TESTS[0]}", "-k", "test_folds or did_run"]) == 0
