"""The folders of the repository that tests read."""
from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""

TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
GOLDEN = TESTS / "golden"
REJECT = TESTS / "reject"
