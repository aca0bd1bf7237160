"""Kernel selection: a nest that means what a hand-written kernel means, where that is the faster.

Meanings are compared as scalar Loop IR, whatever their names. The generated code stays beside it,
for smaller arrays.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args

from loopir.nodes import Disjoint, Kernel, Node
from loopir.passes.canonical import canonical
from loopir.passes.simplify import simplify
from loopir.record import record

from .c.emit import body, entry, unit
from .library import c_source, function, meaning
from .target import Target
from .wins import WINS, Win

__all__ = ["Served", "c_text", "served"]

_NODES = get_args(Node)
_NAMED = frozenset(("name", "var", "array", "acc", "count", "a", "b"))


@record(frozen=True, slots=True)
class Served:
    """A kernel that serves another: ``arrays`` and ``scalars`` are those it takes, in its order."""

    win: Win
    dtype: str
    arrays: tuple[str, ...]
    scalars: tuple[str, ...]

    @property
    def note(self) -> str:
        """For reports."""
        return f"by hand (kernels/{self.win.name}.c) from {self.win.least} elements"


def served(kernel: Kernel, target: Target) -> Served | None:
    """The hand-written kernel that is faster than what is generated for a scalar `kernel`."""
    plain = None
    for win in WINS:
        if target.name not in win.targets:
            continue
        plain = plain or _plain(kernel)
        for dtype in win.dtypes:
            meant = _plain(meaning(win.name, dtype))
            names = _matched(meant, plain)
            if names is not None:
                arrays = tuple(names[p.name] for p in meant.params if p.rank is not None)
                scalars = tuple(names[p.name] for p in meant.params if p.rank is None)
                return Served(win, dtype, arrays, scalars)
    return None


def c_text(kernel: Kernel, legal: Kernel, target: Target, *, marked: bool = False) -> str:
    """The C translation unit: `legal` is what became of the scalar `kernel` for `target`.
    ``marked``: with lines ``/* line 5 */``, which say of what lines of Python the next ones come.
    """
    found = served(kernel, target)
    text = body(legal, target, marked=marked) + "\n"
    by_hand = ""
    if found:
        by_hand = c_source([(found.win.name, found.dtype)], target) + "\n" + _choice(found, legal)
    last = entry(legal, target, marked=marked)
    last = last.replace("tp_body(", "tp_chosen(") if found else last
    heads, _, rest = unit(text + last, target).partition(text)
    return f"/* {legal.name}, {target.name} */\n{heads}{text}{by_hand}{rest}"


def _choice(found: Served, legal: Kernel) -> str:
    """C that calls one or the other, by how many elements the kernel's last array has."""
    arrays = [p.name for p in legal.params if p.rank is not None]
    scalars = [p.name for p in legal.params if p.rank is None]
    given = ", ".join(f"arrays[{arrays.index(x)}]" for x in found.arrays)
    values = ", ".join(f"scalars[{scalars.index(x)}]" for x in found.scalars) or "{0}"
    last = next(p for p in legal.params if p.name == found.arrays[-1])
    size = " * ".join(f"given[{len(found.arrays) - 1}].dims[{k}]" for k in range(last.rank or 0))
    return f"""static int64_t tp_chosen(const tp_array *arrays, const tp_scalar *scalars)
{{
    const tp_array given[] = {{{given}}};
    const tp_scalar values[] = {{{values}}};
    if ({size or 1} < {found.win.least}) return tp_body(arrays, scalars);
    return {function(found.win.name, found.dtype)}(given, values);
}}
"""


# -- meanings


@cache
def _plain(kernel: Kernel) -> Kernel:
    return simplify(canonical(kernel))


def _matched(meant: Kernel, given: Kernel) -> Mapping[str, str] | None:
    """The names in `given` of what `meant` names; None where it does not mean the same."""
    if len(meant.params) != len(given.params) or given.strict or given.stops:
        return None
    names: dict[str, str] = {}
    if not _alike(meant.body, given.body, names):
        return None
    theirs = {p.name: p for p in given.params}
    for p in meant.params:
        q = theirs.get(names.get(p.name, ""))
        if q is None or (p.dtype, p.rank, p.unit) != (q.dtype, q.rank, q.unit):
            return None
    pairs = {frozenset((g.a, g.b)): g.or_same for g in _apart(given)}
    for g in _apart(meant):
        same = pairs.get(frozenset((names[g.a], names[g.b])))
        if same is None or same > g.or_same:
            return None
    return names


def _apart(kernel: Kernel) -> Iterator[Disjoint]:
    return (g for g in kernel.guards if isinstance(g, Disjoint))


def _alike(a: Any, b: Any, names: dict[str, str]) -> bool:
    """Whether `a` is `b` with other names, each for one; `names` grows."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_alike(x, y, names) for x, y in zip(a, b, strict=True))
    if type(a) is not type(b):
        return False
    if not isinstance(a, _NODES):
        return bool(a == b)
    for f in fields(a):
        x, y = getattr(a, f.name), getattr(b, f.name)
        if f.name == "span":
            continue
        if f.name in _NAMED and isinstance(x, str) and isinstance(y, str):
            if names.setdefault(x, y) != y:
                return False
        elif not _alike(x, y, names):
            return False
    return len(set(names.values())) == len(names)
