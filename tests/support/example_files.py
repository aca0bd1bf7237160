"""The files in `examples/`, and what those need that have more than NumPy."""
from __future__ import annotations

from paths import ROOT

FOLDER = ROOT / "examples"
NEEDS = {
    "elevation": "matplotlib", "stocks": "matplotlib", "photo": "sklearn", "dask_chunks": "xarray",
}
UNTIMED = [FOLDER / "dask_chunks.py", FOLDER / "gufuncs.py"]
"""The examples that compare answers, and no times."""

EXAMPLES = sorted(
    p for p in FOLDER.glob("*.py")
    if "__main__" in p.read_text(encoding="utf-8") and p not in UNTIMED
)

