"""Options of ``@fuse``: one field each; `options_of` checks the keywords of a decorator."""
from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from loopir.lazy_dataclass import record

from .knobs import SettingError
from .thread_limits import whole_number

if TYPE_CHECKING:
    from targets.isa.target_registry import Target, TargetName

    from .knobs import Knobs

__all__ = ["OnReject", "Options", "chosen_target", "options_of"]

OnReject = Literal["warn", "silent", "raise"]
"""What ``on_reject=`` accepts."""


@record(frozen=True, slots=True, kw_only=True)
class Options:
    """How a function is compiled and called."""

    target: TargetName = "auto"
    """The name of an instruction set; "auto": the best that this machine has."""
    threads: int | Literal["auto"] = "auto"
    """How many threads a kernel may use, at most; "auto": as many as pay."""
    reassociate: bool = True
    """Whether float reductions may be evaluated in another order than the loop's, in vector lanes.
    If not, ``np.sum`` and other reductions for which NumPy has an order of its own are refused
    (`lower_function.refuse_ordered_folds`).
    """
    contract: bool = False
    """Whether a product and a sum may be contracted to one fused multiply-add."""
    fast: bool = False
    """Implies ``contract``, and allows math functions with an error of up to 4 ULP."""
    portable: bool = False
    """Whether math functions of numbers have the bits of vectors, which are the same on every
    target that has a fused multiply-add, in place of the C library's.
    """
    fusion: bool = True
    """Whether loops are joined at all."""
    allow_control_flow_simple: bool = True
    """Whether loops with simple control flow may be joined, see `loopir.fusion`."""
    allow_broadcast_identity: bool = True
    """Whether loops over broadcast operands may be joined, see `loopir.fusion`."""
    on_reject: OnReject = "warn"
    """What the first call of a refused function does: "warn" issues a FuseWarning and runs as
    Python, "silent" runs as Python, "raise" raises FuseError.
    """
    cache: bool = True
    """Whether compiled kernels are stored on disk."""
    verify: float = 0.0
    """The share of calls, from 0 to 1, that run both compiled and as Python, and are compared."""
    background: bool = False
    """Whether Python serves the calls that come while a thread compiles their signature."""
    progress: bool = True
    """Whether a line on the terminal says what is compiled, if that takes more than two seconds."""

    @property
    def fma(self) -> bool:
        """Whether the C compiler may contract products and sums."""
        return self.contract or self.fast

    @property
    def most_threads(self) -> int:
        """How many threads a kernel may use; 0: any number. In C it is an int32."""
        return 0 if self.threads == "auto" else min(self.threads, 2**31 - 1)

    def computes_as(self, other: Options) -> bool:
        """Whether code compiled with these options has the same results, bit by bit, as code
        compiled with `other` options. The inliner asks, for callees that ``fuse`` decorates.
        """
        mine, others = (
            (o.reassociate, o.fma, o.fast, o.portable) for o in (self, other)
        )
        return mine == others


def options_of(keywords: Mapping[str, Any]) -> Options:
    """The options that the keywords of ``fuse`` set: ``@fuse(target="avx2", cache=False)``. The
    decorator calls this, so a wrong option raises where the function is defined.

    Raises TypeError for an unknown keyword or a wrong type, ValueError for a wrong value. An option
    that is not in `_CHECKS` must be a bool. A new option is a field of `Options`, a check there,
    and a keyword of `fuse_decorator.fuse`.
    """
    known = [field.name for field in fields(Options)]
    for name, value in keywords.items():
        if name not in known:
            import difflib

            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"fuse() has no option {name!r}{hint} (options: {', '.join(known)})")
        _CHECKS.get(name, _check_flag)(name, value)
    number = whole_number(keywords.get("threads"))
    return Options(**(keywords if number is None else {**keywords, "threads": number}))


def chosen_target(options: Options, settings: Knobs) -> Target:
    """The target of a function: that of its option, as in ``@fuse(target="avx2")``; if that is
    "auto", the default, the one that ``TRANSPILE_TARGET`` names; else the best of this machine. It
    has the cache sizes of this machine, if that runs it (`machine_record.fitted`).

    Raises SettingError if the variable does not name a target. The option was checked when the
    function was decorated (`options_of`).
    """
    from targets.build.machine_record import fitted
    from targets.isa.target_registry import TARGETS, best_target

    name = options.target if options.target != "auto" else settings.target
    if name == "auto":
        return fitted(best_target())
    if name not in TARGETS:
        raise SettingError(f"TRANSPILE_TARGET: no target {name!r} (known: {', '.join(TARGETS)})")
    return fitted(TARGETS[name])


# -- Each check raises TypeError for a wrong type, ValueError for a wrong value of a right type, and
#    says all that is right.


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise _wrong(TypeError, name, value, "True or False")


def _check_target(name: str, value: object) -> None:
    if isinstance(value, str) and value == "auto":
        return
    from targets.isa.target_registry import TARGETS

    _check_word(name, value, ("auto", *TARGETS))


def _check_on_reject(name: str, value: object) -> None:
    _check_word(name, value, ("warn", "silent", "raise"))


def _check_word(name: str, value: object, words: Sequence[str]) -> None:
    expected = "one of " + ", ".join(f'"{word}"' for word in words)
    if not isinstance(value, str):
        raise _wrong(TypeError, name, value, expected)
    if value not in words:
        raise _wrong(ValueError, name, value, expected)


def _check_threads(name: str, value: object) -> None:
    """An int of NumPy is one; a text other than "auto", such as "2", is of a wrong type."""
    if isinstance(value, str) and value == "auto":
        return
    expected = '"auto" or an int, at least 1'
    number = whole_number(value)
    if number is None:
        raise _wrong(TypeError, name, value, expected)
    if number < 1:
        raise _wrong(ValueError, name, value, expected)


def _check_verify(name: str, value: object) -> None:
    expected = "a float or an int, from 0 to 1"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(TypeError, name, value, expected)
    if not 0 <= value <= 1:
        raise _wrong(ValueError, name, value, expected)


_CHECKS: dict[str, Callable[[str, object], None]] = {
    "target": _check_target,
    "threads": _check_threads,
    "on_reject": _check_on_reject,
    "verify": _check_verify,
}
"""For each option that is no flag, a function that raises if its value is wrong."""


def _wrong(error: type[Exception], name: str, value: object, expected: str) -> Exception:
    """The error to raise for a wrong value of an option."""
    kind = type(value)
    owner = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    found = f", and is of type {owner}{kind.__qualname__}" if error is TypeError else ""
    return error(f"fuse({name}={reprlib.repr(value)}): must be {expected}{found}")
