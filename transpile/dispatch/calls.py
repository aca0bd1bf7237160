"""Calls: to the wrapper that served last, else to the one that fits, else to the original.

What the installed wrapper cannot do comes to ``_other``: another signature, a failed guard, a
floating-point condition. There the right wrapper is found or made, or the original runs, on
arguments that are as they were.
"""
from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import (
    NO_COMPILER,
    FuseError,
    fallback_is_error,
    is_news,
    sentence,
    warn,
    without_frames,
)
from ..options import Options
from ..signature import parameters
from ..types import Function, GeneratorType, ObjectType, StandsIn
from .case import Case
from .contract import changes_names
from .forking import Lock
from .resting import Resting
from .signatures import Signatures
from .standin import Values, chooser, counter, rester

if TYPE_CHECKING:
    from ..knobs import Knobs
    from ..rejections import Rejection
    from ..types import ArgType
    from .parts import Parts
    from .variant import Variant

__all__ = ["Calls"]

_log = logging.getLogger(__name__)

EVERY_SIGNATURE = ("SOURCE_UNAVAILABLE", "SOURCE_UNPARSABLE", NO_COMPILER)
"""Codes of rejections that no other call signature can change."""


class Calls(StandsIn):
    """The calls of one function: its cases, and which wrapper is installed.

    ``rests``: that it may stand aside for a while where it was of no use again and again, as a
    region in a loop does, which would look at its arguments each time.
    """

    rests = False

    def __new__(cls, function: FunctionType, options: Options) -> Any:
        """Each has a class of its own, whose ``__call__`` is the wrapper: no frame in between."""
        namespace = {"__module__": cls.__module__, "__doc__": cls.__doc__}
        return object.__new__(type(cls.__name__, (cls,), namespace))

    def __init__(self, function: FunctionType, options: Options) -> None:
        self._function = function
        self.options = options
        self._cases: dict[tuple[ArgType, ...], Case] = {}
        self._lock = Lock()
        self._unverified = 1.0
        self._served: tuple[Case | None, int] = None, 0
        self._resting = Resting()
        self._signatures = Signatures(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The first call; those after it go to what ``_install`` puts in this place."""
        self._start()
        return self(*args, **kwargs)

    def _install(self, call: Callable[..., Any]) -> None:
        type(self).__call__ = staticmethod(call)  # type: ignore[method-assign]  # its own class

    def _start(self) -> None:
        """Every call comes to `_missed`, or is verified."""
        choose = self._verified if self.options.verify else self._missed
        self._install(chooser(self._function, choose))

    def _missed(self, values: Values) -> Callable[..., Any]:
        return self._other(None, None, "", values)

    def _verified(self, values: Values) -> Callable[..., Any]:
        self._unverified += self.options.verify
        chosen = self._missed(values)
        case = self._case(values)
        if self._unverified < 1 or chosen is self._function or case.parts:
            return chosen  # regions are verified by themselves
        variant = case.variant(values)
        if variant is not None and changes_names(variant.contract):
            return chosen  # of which there are no copies
        from .verify import compared

        self._unverified -= 1
        return lambda *args, **kwargs: compared(self._function, values, chosen)

    def _other(
        self, home: Case | None, hot: Variant | None, code: str, values: Values
    ) -> Callable[..., Any]:
        """What to call where a wrapper, of `hot` in `home`, could not answer.

        Without a `code` it was not made for such a call.
        """
        case = self._case(values) if code in ("", "GUARD_SHAPE") else home  # which axes are of 1?
        if home is not None and code and case is home:
            if hot is not None and code == "GUARD_FLOAT_STATUS":
                return self._told(home, hot)
            self._rest(home)
            return self._replay(home, code)
        assert case is not None
        variant = case.variant(values)
        stale = variant is None and hot is not None and not hot.applies(values)
        if stale and home is not None and (case is home or not _are_asked(home.types)):
            self._start()  # the next call is compiled anew
            return self._replay(home, "GUARD_REBOUND")
        variant = variant or self._compiled(case, values)
        if variant is None:
            assert case.rejection is not None
            if case.parts is not None and not case.parts.loops:
                return case.parts.function
            original = self._replay(case, case.rejection.code)
            self._rest(case)
            return original if case.parts is None else case.parts.function
        if variant is hot:
            self._rest(case)
            return self._replay(case, variant.mismatch(values))
        if self._settled(home) and not self.options.verify:
            self._install(variant.call)
        return variant.call

    def _rest(self, case: Case) -> None:
        """Leaves the next calls to the original, or to what calls its regions where these are of
        use; longer each time.
        """
        if not self.rests or self.options.verify or fallback_is_error():
            return
        most = self._resting.turns(sum(c.compiled for c in self._cases.values()))
        if most:
            parts = case.parts if case.parts and case.parts.stats.compiled else None
            served = self._function if parts is None else parts.function
            self._install(rester(self._function, served, case.direct, most, self._start))

    def _settled(self, home: Case | None) -> bool:
        """Whether the installed wrapper has not served since the last miss.

        Signatures that take turns are better looked up: installing costs as much as two look-ups.
        """
        served = (home, home.compiled if home else 0)
        settled, self._served = home is None or served == self._served, served
        return settled

    def _replay(self, case: Case, code: str) -> FunctionType:
        """The original, unless Python is forbidden."""
        refused = case.rejection is not None
        if fallback_is_error() or (refused and self.options.on_reject == "raise"):
            code = case.rejection.code if case.rejection else code
            message = sentence(self._function, case.types, code, case.rejection)
            raise FuseError(message, code) from case.error
        case.replays[code] += 1
        return self._function

    def _told(self, home: Case, hot: Variant) -> Callable[..., Any]:
        """What to call where it is not known which operation raised.

        The original, which shows its warnings; if it comes to that again, a variant that tells.
        """
        from .floats import tellable

        again = home.replays["GUARD_FLOAT_STATUS"] > 0
        teller = None
        if again and tellable(hot.contract, self._function):
            teller = self._teller(home, hot)
        return self._replay(home, "GUARD_FLOAT_STATUS") if teller is None else teller.call

    def _teller(self, case: Case, hot: Variant) -> Variant | None:
        """A variant that tells which operation raised; None where there is none to be had."""
        with self._lock:
            if not hot.sought:
                from .. import knobs

                hot.sought = True
                try:
                    hot.teller = self._made(case, knobs.read(), None)
                except Exception as error:  # whatever went wrong, the original still runs
                    _log.info("nothing tells what raised in %s: %s", self._function, error)
            return hot.teller

    def _case(self, values: Values) -> Case:
        types = self._signatures.among(values, self._cases)
        case = self._cases.get(types) or self._cases.setdefault(types, Case(types))
        if _holds_functions(types):
            case.types = types  # of the functions themselves that were given last
        return case

    def _compiled(self, case: Case, values: Values) -> Variant | None:
        """A new variant; None where there is a reason against it, which is then told once."""
        if case.rejection:
            return None
        with self._lock:  # the imports too: see `forking`
            from .. import knobs
            from ..options import chosen_target

            settings = knobs.read()
            chosen_target(self.options, settings)  # a wrong word is an error, no reason
            if case.rejection or (variant := case.variant(values)):  # another thread was first
                return None if case.rejection else variant
            try:
                variant = self._made(case, settings, values)
            except Exception as error:  # whatever went wrong, the original still runs
                if settings.check and isinstance(error, AssertionError):
                    raise
                from .compiling import rejection_of

                rejection = rejection_of(error)
                case.parts = self._parts(case, rejection)
                case.rejection, case.error = rejection, without_frames(error)
                self._refuse(case, rejection)
                return None
            case.add(variant)
            return variant

    def _made(self, case: Case, settings: Knobs, values: Values | None) -> Variant:
        """A variant for what the function's names mean now; raises what `compile_variant` does.

        Without `values`, the arguments of a call, one that tells what raised.
        """
        start = perf_counter()
        types = dict(zip(parameters(self._function.__code__), case.types, strict=True))
        try:
            variant = None if values is None else self._kept(types, settings, values)
            if variant is None:
                from .compiling import compile_variant

                variant = compile_variant(
                    self._function, types, self.options, settings, telling=values is None
                )
            variant.attach(functools.partial(self._other, case), case.calls, case.whole)
        finally:
            case.seconds += perf_counter() - start
        return variant

    def _parts(self, case: Case, rejection: Rejection) -> Parts | None:
        """What compiles of the function all the same; None where nothing does."""
        from .parts import parts_of

        types = dict(zip(parameters(self._function.__code__), case.types, strict=True))
        try:
            return parts_of(self._function, types, rejection, self.options)
        except Exception:  # whatever went wrong, the original still runs
            _log.warning("transpile failed to cut %s", self._function, exc_info=True)
            return None

    def _kept(
        self, types: dict[str, ArgType], settings: Knobs, values: Values
    ) -> Variant | None:
        """What an earlier process has compiled, if nothing is to be seen of the compiling."""
        if not self.options.cache or settings.debug or settings.dump or settings.check:
            return None
        from ..options import chosen_target
        from .recipe import find

        target = chosen_target(self.options, settings)
        return find(self._function, types, self.options, target.full_name, values)

    def _refuse(self, case: Case, rejection: Rejection) -> None:
        whole = case.parts is not None and not case.parts.loops  # no loop of its runs as Python
        if whole or fallback_is_error() or self.options.on_reject == "raise":
            return
        if rejection.code in EVERY_SIGNATURE:
            self._install(counter(self._function, case.direct))
        if self.options.on_reject == "warn" and is_news(rejection.code):
            part = case.parts is not None
            warn(sentence(self._function, case.types, rejection.code, rejection, part=part))


def _holds_functions(types: tuple[ArgType, ...]) -> bool:
    return any(isinstance(t, Function) for t in types)


def _are_asked(types: Iterable[ArgType]) -> bool:
    """Whether it is asked of arguments themselves if a variant applies."""
    return any(
        isinstance(t, (Function, GeneratorType))
        or (isinstance(t, ObjectType) and _are_asked(part for _, part in t.parts))
        for t in types
    )
