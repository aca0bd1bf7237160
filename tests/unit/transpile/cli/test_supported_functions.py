"""The page of what is accepted is what the rows and the macros say."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from paths import ROOT

from transpile.cli.supported_functions import supported_functions

PAGE = ROOT / "transpile" / "README.md"


def test_the_page_is_what_the_code_says(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, supported_functions())
