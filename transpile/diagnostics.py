"""`Refused`: the exception that carries a rejection to the boundary of its region.

The record itself is `loopir.rejection.Rejection`; the codes are listed in ``transpile.codes``.
"""
from __future__ import annotations

from loopir.rejection import Label, Rejection

from .codes import CODES, Code

__all__ = ["CODES", "Code", "Label", "Refused", "Rejection"]


class Refused(Exception):
    """Carries a Rejection from where it is found to the boundary of its region.

    ``place``: that of the code to blame, as `places.place_of` has it.
    """

    def __init__(self, rejection: Rejection, place: int = 0) -> None:
        super().__init__(f"{rejection.code}: {rejection.message}")
        self.rejection = rejection
        self.place = place
