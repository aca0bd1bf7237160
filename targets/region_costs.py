"""Costs of parallel regions in nanoseconds: from which work on threads pay, for C and reports."""
from __future__ import annotations

__all__ = ["FIRST_RATE", "PAYS_ASLEEP", "PAYS_AWAKE", "WORTH"]

FIRST_RATE = 1.0
"""Nanoseconds of an addition, until calls were measured: rather too many, since the pool measures
the calls that seem worth it, and no others."""

WORTH = 2000.0
"""Work from which a kernel asks the pool: ``TP_WORTH`` in kernels."""

PAYS_AWAKE = 8000.0
"""Work from which the pool uses a second thread that spins, between calls in quick succession."""

PAYS_ASLEEP = 60000.0
"""Work from which the pool uses a second thread that sleeps."""
