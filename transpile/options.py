"""Options of ``@fuse``: one field each, checked where they are given."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from loopir.lazy_dataclass import record

if TYPE_CHECKING:
    from targets.isa.target_registry import Target

    from .knobs import Knobs

__all__ = ["Options", "chosen_target", "options_of"]


@record(frozen=True, slots=True, kw_only=True)
class Options:
    """How a function is compiled and called.

    ``target``: an ISA's name, or the best of this machine. ``threads``: how many a kernel may use.
    ``reassociate``: folds may run in lanes; where not, NumPy's own are left to it. ``contract``: a
    product and a sum may become one FMA. ``fast``: that, and math within 4 ULP. ``fusion`` and the
    two ``allow_…``: which loops may be joined. ``on_reject``: what a refused call does besides
    running as Python. ``cache``: compiled kernels are kept on disk. ``verify``: the share of calls
    run both ways and compared.
    """

    target: str = "auto"
    threads: int | Literal["auto"] = "auto"
    reassociate: bool = True
    contract: bool = False
    fast: bool = False
    fusion: bool = True
    allow_control_flow_simple: bool = True
    allow_broadcast_identity: bool = True
    on_reject: Literal["warn", "silent", "raise"] = "warn"
    cache: bool = True
    verify: float = 0.0

    @property
    def fma(self) -> bool:
        """Whether the C compiler may contract."""
        return self.contract or self.fast

    def computes_as(self, other: Options) -> bool:
        """Whether these options give the bits that `other` does."""
        return (self.reassociate, self.fma, self.fast) == (other.reassociate, other.fma, other.fast)


def options_of(given: Mapping[str, Any]) -> Options:
    """The options that keywords give.

    Raises TypeError for an unknown one or a wrong type, ValueError for a wrong value.
    """
    known = [field.name for field in fields(Options)]
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"fuse() has no option {name!r} (options: {', '.join(known)})")
        _CHECKS.get(name, _flag)(name, value)
    return Options(**given)


def chosen_target(options: Options, settings: Knobs) -> Target:
    """The option's target; for auto what ``TRANSPILE_TARGET`` says, or this machine's best.

    Raises ValueError where the variable does not name a target.
    """
    from targets.isa.target_registry import TARGETS, best_target

    name = options.target if options.target != "auto" else settings.target
    if name == "auto":
        return best_target()
    if name not in TARGETS:
        raise ValueError(f"TRANSPILE_TARGET: no target {name!r} (known: {', '.join(TARGETS)})")
    return TARGETS[name]


def _flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise _wrong(TypeError, name, value, "True or False")


def _target(name: str, value: object) -> None:
    if value == "auto":
        return
    from targets.isa.target_registry import TARGETS

    if not isinstance(value, str) or value not in TARGETS:
        error = ValueError if isinstance(value, str) else TypeError
        raise _wrong(error, name, value, f"one of auto, {', '.join(TARGETS)}")


def _threads(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise _wrong(TypeError, name, value, '"auto" or a whole number')
    if value != "auto" and not (isinstance(value, int) and value >= 1):
        raise _wrong(ValueError, name, value, '"auto" or at least 1')


def _on_reject(name: str, value: object) -> None:
    if value not in ("warn", "silent", "raise"):
        error = ValueError if isinstance(value, str) else TypeError
        raise _wrong(error, name, value, '"warn", "silent" or "raise"')


def _verify(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(TypeError, name, value, "a number from 0 to 1")
    if not 0 <= value <= 1:
        raise _wrong(ValueError, name, value, "from 0 to 1")


_CHECKS: dict[str, Callable[[str, object], None]] = {
    "target": _target,
    "threads": _threads,
    "on_reject": _on_reject,
    "verify": _verify,
}


def _wrong(error: type[Exception], name: str, value: object, wanted: str) -> Exception:
    return error(f"fuse({name}={value!r}): must be {wanted}")
