"""Installed call: what a call of a fused function runs, made from the decisions of the dispatcher.

The dispatcher decides which target serves which arguments: `CacheRow`s, by argument keys. From all
of them this module makes one callable, the cheapest that can tell them apart:

- the wrapper of the only variant, where it serves all calls (`_only_target`);
- the inline cache, a builtin in C, with the last few keys (`_inline_cache`), or a Python function
  where C may not read objects;
- while there is no inline cache (the native path is not built yet): a Python stub
  that passes on a number of calls of one refused signature, or the wrapper of the variant that
  served last (`_stub_for_rows`).

A call that no row is for goes to the stub ``miss``, and so to the dispatcher.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

from targets.abi.c_api import has_no_trampoline, opened_trampoline
from targets.abi.inline_cache import (
    ArgumentKey,
    CacheRow,
    argument_key,
    inline_cache,
    original_test,
)
from targets.abi.native_entry import ParameterList
from targets.abi.trampoline import start_opening

from ..types.value_types import Constant, Function, ListType, ObjectType
from .kernel_call.stub_functions import Arguments, backoff_stub

if TYPE_CHECKING:
    from ..types.value_types import ArgType

__all__ = ["InstalledCall", "Keys", "keys_of", "never_original"]

Keys = tuple[ArgumentKey, ...]
"""The keys of all arguments of a call."""

_MAX_KEYS = 16
"""How many keys the inline cache has. It is rebuilt less and less often where calls have more."""

_SOON = 1 << 10
"""How many calls a stub passes on while the inline cache is being built."""


class InstalledCall:
    """The rows of one function, and the callable made from them.

    ``miss``: the stub that takes calls to the dispatcher; ``install(call)`` makes a callable what a
    call of the function runs; ``test``: of a region, the cell for the test of whether a row sends
    a call to the original, which the outlined function asks (`original_in_place`).
    """

    def __init__(
        self, function: FunctionType, miss: Callable[..., Any],
        install: Callable[[Callable[..., Any]], None], test: CellType | None = None,
    ) -> None:
        self._function, self._miss, self._install, self._test = function, miss, install, test
        parameters = ParameterList.of(function, takes_further=True)
        assert parameters is not None  # as further ones are taken
        self._parameters = parameters
        self._rows: dict[Keys | None, tuple[CacheRow, ...]] = {}
        self._rebuilds = 0  # how often a callable was made from the rows
        self._skipped = 0  # how often it would have been since: see `put`
        self._last_keys: Keys | None = None
        self._stub_row: CacheRow | None = None  # the row that the stub of `_stub_for_rows` is for
        self._calls_left = CellType(0)  # of that stub
        self._uncounted = 0  # how many calls that stub had left when its calls were counted last

    def clear(self) -> None:
        """Forget all rows: every call misses."""
        self._rows = {}
        self._set_test(None)
        self._install(self._miss)

    def is_used_up(self, keys: Keys, size: int) -> bool:
        """Whether the row for such a call has served as many calls as it may."""
        rows = self._rows.get(keys, ())
        return any(row.low <= size <= row.high and row.counters[1] == 0 for row in rows)

    def put(self, keys: Keys | None, rows: Sequence[CacheRow]) -> None:
        """Set the rows for calls whose arguments have these keys, in place of earlier ones for
        them; None: for all calls that no other row is for. Then make one callable from all rows,
        the cheapest that can tell them apart (see the module's docstring), and install it: the next
        call of the function runs it. The dispatcher calls this after each decision.

        The latest rows are tried first. There are at most `_MAX_KEYS` keys; the oldest are dropped.
        A function that is called with more kinds of arguments than that comes to the dispatcher at
        nearly each call, and to make a callable each time would take longer than the call. So once
        keys are dropped, a callable is made more and more rarely: after the n-th one, the next is
        made at the n-th decision that follows.
        """
        others = {k: r for k, r in self._rows.items() if k != keys}
        kept = [*others][-(_MAX_KEYS - 1) :]
        self._rows = {k: others[k] for k in kept} | {keys: tuple(rows)}
        is_alternating = len(self._rows) > 1 and keys != self._last_keys
        self._last_keys = keys
        has_dropped_keys = len(others) >= _MAX_KEYS
        if has_dropped_keys:
            self._skipped += 1
            if self._skipped < self._rebuilds:
                return
        self._rebuilds, self._skipped = self._rebuilds + 1, 0
        call = self._only_target()
        cache = None if call else self._inline_cache()
        self._set_test(cache)
        self._install(call or cache or self._stub_for_rows(keys, rows, is_alternating))

    def _set_test(self, cache: Callable[..., Any] | None) -> None:
        """Put the test of this inline cache into the cell ``test``, if there is such a cell."""
        if self._test is not None:
            has_test = cache is not None and not has_no_trampoline()
            test = original_test(cache) if cache and has_test else never_original
            self._test.cell_contents = test

    @property
    def can_time_calls(self) -> bool:
        """Whether rows can have their calls timed (`CacheRow.shortest`): in C there is a clock."""
        return opened_trampoline() is not None

    @property
    def serves_original(self) -> bool:
        """Whether a row sends calls to the original."""
        return any(row.target is self._function for rows in self._rows.values() for row in rows)

    def _only_target(self) -> Callable[..., Any] | None:
        """The target of the only row, if it serves calls of all sizes and checks the arguments
        itself; None otherwise.
        """
        if len(self._rows) != 1:
            return None
        ((row, *others),) = self._rows.values()
        return row.target if not others and row.serves_all and row.checks_arguments else None

    def _inline_cache(self) -> Callable[..., Any] | None:
        """A new inline cache with all rows, the latest first; None where there is none: for too
        many parameters, and until the trampoline is loaded. It is in Python where there is no
        trampoline.
        """
        if opened_trampoline() is None:
            start_opening()
        rows = [row for keys, of in reversed(self._rows.items()) if keys is not None for row in of]
        rows += self._rows.get(None, ())
        if has_no_trampoline():
            from targets.abi.portable_cache import portable_cache

            return portable_cache(self._parameters, rows, self._miss)
        name = self._function.__name__
        return inline_cache(name, self._parameters, rows, self._miss, self._function)

    def _stub_for_rows(
        self, keys: Keys | None, rows: Sequence[CacheRow], is_alternating: bool
    ) -> Callable[..., Any]:
        """What stands in for the inline cache while there is none. It serves one signature, that of
        `rows`, which it tells by the classes in `keys`, and cannot tell sizes, so it goes by the
        first row that asks for no more (`CacheRow.asks_plain`). The first that applies:

        - ``miss``, if the calls alternate between signatures, or the row's target must not serve
          other sizes;
        - the target itself, if it checks its arguments, or the row is for all calls;
        - a Python stub that passes on as many calls to the target as the row may serve
          (`backoff_stub`), at most `_SOON`.
        """
        if is_alternating:
            return self._miss
        row = next(row for row in rows if not row.asks_plain)
        if row.is_for_these_sizes:
            return self._miss
        if row.checks_arguments or row.serves_all:
            return row.target
        self.count_calls()
        limit = min(int(row.counters[1]), _SOON)  # until the inline cache can be made
        self._stub_row, self._uncounted, self._calls_left = row, limit, CellType(limit)
        positional = self._function.__code__.co_argcount
        types = None if keys is None else [key.kind for key in keys[:positional]]
        return backoff_stub(
            self._function, row.target, self._calls_left, self._on_stub_used_up, types, self._miss,
        )

    def _on_stub_used_up(self) -> None:
        """Called by the stub once it has passed on as many calls as it may: the next call goes to
        the dispatcher.
        """
        self.count_calls()
        if self._stub_row is not None:
            self._stub_row.counters[1] = 0
            self._stub_row = None
        self._install(self._miss)

    def count_calls(self) -> None:
        """Add the calls that a stub has passed on so far to the counters of its row."""
        if self._stub_row is not None:
            left = max(self._calls_left.cell_contents, 0)
            self._stub_row.counters[0] += self._uncounted - left
            self._uncounted = left


def never_original(*args: object) -> bool:
    """The test where no row sends calls to the original."""
    return False


def keys_of(types: Sequence[ArgType], values: Arguments) -> Keys:
    """The keys of a call with this signature and these arguments."""
    return tuple(
        argument_key(
            value,
            by_identity=_is_given_by_identity(ty, value),
            all_items=isinstance(ty, ObjectType),  # whose parts have types of their own
            sized=_list_attributes(ty),
        )
        for ty, value in zip(types, values, strict=True)
    )


def _list_attributes(ty: ArgType) -> tuple[str, ...]:
    """The attributes of an object of type `ty` that are lists, which calls convert."""
    parts = ty.parts if isinstance(ty, ObjectType) else ()
    return tuple(key for key, t in parts if isinstance(t, ListType) and isinstance(key, str))


def _is_given_by_identity(ty: ArgType, value: object) -> bool:
    """Whether the key must be the object `value` itself, not its type: the signature has it as a
    constant, or as a function that is no plain Python function.
    """
    is_function = isinstance(ty, Function) and not isinstance(value, FunctionType)
    return is_function or isinstance(ty, Constant)
