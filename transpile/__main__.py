"""``python -m transpile`` runs the ``transpile`` command."""
from __future__ import annotations

import sys

from .cli.command_line import main

__all__: list[str] = []

sys.exit(main())
