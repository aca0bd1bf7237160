"""``python -m transpile`` is the ``transpile`` command."""
from __future__ import annotations

import sys

from .cli.command import main

__all__: list[str] = []

sys.exit(main())
