"""``python -m tests.snapshot``: the tool is `tests/tools/snapshot.py`."""
from __future__ import annotations

import sys

from tests.tools.snapshot import main

if __name__ == "__main__":
    sys.exit(main())
