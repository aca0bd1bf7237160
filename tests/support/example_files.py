"""The files in `examples/`, and what those need that have more than NumPy."""
from __future__ import annotations

from paths import ROOT

FOLDER = ROOT / "examples"
NEEDS = {"elevation": "matplotlib", "stocks": "matplotlib", "photo": "sklearn"}
EXAMPLES = sorted(p for p in FOLDER.glob("*.py") if "__main__" in p.read_text(encoding="utf-8"))

