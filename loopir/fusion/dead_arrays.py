"""Dead arrays: temporary arrays whose elements decide nothing but elements of dead arrays."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ..algebra.may_raise import may_raise_flags
from ..analysis.mod_ref import arrays_read
from ..ir_names import names_read
from ..ir_traversal import EXPRESSIONS, bottom_up, children, walk_statements
from ..lazy_dataclass import replace
from ..nodes import (
    Accum,
    Append,
    Assign,
    If,
    Kernel,
    Loop,
    Node,
    Scan,
    Store,
    Stream,
    While,
    Yield,
    Zip,
)

__all__ = ["without_dead_arrays"]


def without_dead_arrays(kernel: Kernel, temporaries: Iterable[str]) -> Kernel:
    """`kernel` without loads of and stores to those `temporaries` whose elements nobody needs, and
    without the names that nobody needs then. `contract_arrays` removes the arrays.

    The elements of an array are needed if a check, a condition, the range of a loop, another array
    or a needed name is computed from them. Those of an array that is only updated are not, though
    it is loaded: for its own stores. Lowering keeps beside each item of a list whether it is
    Python's or NumPy's; where the list becomes an array, nothing needs that::

        old_py = t_py[at]
        v = max(t[at], x[i])                    v = max(t[at], x[i])
        t[at] = v                         →     t[at] = v
        t_py[at] = old_py & (v != x[i])

    A value that may raise a float flag is always needed.
    """
    candidates = arrays_read((kernel,)) & frozenset(temporaries)
    if not candidates:
        return kernel
    needs = _Needs(kernel, frozenset(temporaries))
    if candidates <= needs.arrays:
        return kernel
    unneeded = frozenset(temporaries) - needs.arrays

    def edit(n: Any) -> Any:
        """`n` without the arrays and names that are not needed."""
        match n:
            case Store(array=array) if array in unneeded:
                return ()
            case Assign(name=name) if name not in needs.names:
                return ()
            case If(yields=yields) if any(y.name not in needs.names for y in yields):
                return replace(n, yields=tuple(y for y in yields if y.name in needs.names))
            case Loop(accs=accs) | Zip(accs=accs) | While(accs=accs):
                if any(a.name not in needs.names for a in accs):
                    return replace(n, accs=tuple(a for a in accs if a.name in needs.names))
        return n

    new: Kernel = bottom_up(kernel, edit)
    return new


class _Needs:
    """The names and arrays that a kernel needs for its checks, its conditions, the ranges of its
    loops, and the arrays that are not `temporaries`.
    """

    def __init__(self, kernel: Kernel, temporaries: frozenset[str]) -> None:
        self.names: set[str] = set()
        self.arrays = {p.name for p in kernel.params} - temporaries
        self._values: dict[str, list[Node]] = defaultdict(list)
        self._stored: dict[str, list[Node]] = defaultdict(list)
        waiting = list(self._effects(kernel))
        waiting += [e for array in self.arrays for e in self._stored[array]]
        while waiting:
            e = waiting.pop()
            for name in names_read(e) - self.names:
                self.names.add(name)
                waiting += self._values[name]
            for array in arrays_read((e,)) - self.arrays:
                self.arrays.add(array)
                waiting += self._stored[array]

    def _effects(self, kernel: Kernel) -> Iterator[Node]:
        """The code that is needed in any case. Notes the values of each name, and what the stores
        to each array evaluate.
        """
        for n in walk_statements(kernel):
            parts = [e for e in children(n) if isinstance(e, EXPRESSIONS)]
            match n:
                case Assign(name=name) | Accum(name=name) | Yield(name=name):
                    self._values[name] += parts
                    yield from filter(may_raise_flags, parts)
                case Store(array=array):
                    self._stored[array] += parts
                    yield from filter(may_raise_flags, parts)
                case Append(array=array):
                    self.arrays.add(array)
                    yield n  # it reads the name of its counter
                case Scan(array=array) | Stream(array=array):
                    self.arrays.add(array)
                    yield from parts
                case _:
                    yield from parts
