"""One call signature of a function: its compiled variants, or why there is none, and its counts."""
from __future__ import annotations

from collections import Counter
from dataclasses import field
from types import CellType
from typing import TYPE_CHECKING

import numpy as np

from loopir.record import record

from ..types import ArgType
from .standin import Values

if TYPE_CHECKING:
    from ..rejections import Rejection
    from .parts import Parts
    from .variant import Variant

__all__ = ["Case", "Stats", "total"]

MAX_VARIANTS = 8


@record(frozen=True, slots=True)
class Stats:
    """Calls so far.

    ``compiled``: calls answered by machine code. ``replays``: calls that Python answered, by code.
    ``seconds``: time spent compiling.
    """

    compiled: int = 0
    replays: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """For a Report."""
        return {
            "compiled": self.compiled,
            "replays": dict(self.replays),
            "seconds compiling": self.seconds,
        }


def total(stats: list[Stats]) -> Stats:
    """Their sum."""
    replays: Counter[str] = Counter()
    for s in stats:
        replays.update(s.replays)
    return Stats(sum(s.compiled for s in stats), dict(replays), sum(s.seconds for s in stats))


@record(slots=True)
class Case:
    """The state of one signature.

    ``rejection``: why it runs as Python, and ``error`` what told so; ``parts``: what compiles all
    the same.
    ``variants``: latest last; several where a name that the function uses was bound anew.
    ``calls``, ``whole`` and ``direct`` count calls of wrappers, of builtins in their place, and of
    the original with no look at its arguments.
    """

    types: tuple[ArgType, ...]
    variants: list[Variant] = field(default_factory=list)
    rejection: Rejection | None = None
    error: Exception | None = None
    parts: Parts | None = None
    replays: Counter[str] = field(default_factory=Counter)
    calls: CellType = field(default_factory=lambda: CellType(0))
    whole: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    direct: CellType = field(default_factory=lambda: CellType(0))
    seconds: float = 0.0

    def variant(self, values: Values) -> Variant | None:
        """The variant for what the function's names mean now, in a call with these arguments."""
        return next((v for v in reversed(self.variants) if v.applies(values)), None)

    def add(self, variant: Variant) -> None:
        """A new variant; of many, the oldest is dropped."""
        self.variants[:] = [*self.variants[1 - MAX_VARIANTS :], variant]

    @property
    def compiled(self) -> int:
        """How many calls machine code has answered."""
        return int(self.calls.cell_contents + self.whole[0])

    @property
    def stats(self) -> Stats:
        replays = dict(self.replays)
        if self.direct.cell_contents:
            code = self.rejection.code if self.rejection else self.replays.most_common(1)[0][0]
            replays[code] = replays.get(code, 0) + self.direct.cell_contents
        own = Stats(self.compiled, replays, self.seconds)
        return own if self.parts is None else total([own, self.parts.stats])
