"""Kernel selection (idiom recognition): a hand-written kernel where it is measured to be faster.

Meanings are compared as canonical scalar Loop IR, up to names. The generated code is kept next to
the hand-written kernel and runs for smaller arrays. `FASTER_KERNELS` has a row with the measurement
for each case; remove a row when the generated code has caught up (``python -m
tests.bench.kernels``).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args

from loopir.lazy_dataclass import record
from loopir.nodes import Disjoint, Kernel, Node
from loopir.passes.canonical.canonicalize_loops import canonicalize_loops
from loopir.passes.canonical.simplify import simplify

from .c.emit_c import emit_body, emit_entry, translation_unit
from .handwritten_kernels import kernel_c_source, kernel_function_name, kernel_meaning
from .isa.target import Target

__all__ = ["FASTER_KERNELS", "FasterKernel", "KernelMatch", "emit_translation_unit", "match_kernel"]


@record(frozen=True, slots=True, kw_only=True)
class FasterKernel:
    """The kernel ``name`` for ``dtypes`` on ``targets``, where its result has at least ``least``
    elements. Its results must have the bits of the generated code.
    """

    name: str
    dtypes: tuple[str, ...]
    targets: tuple[str, ...]
    least: int
    measured: str


FASTER_KERNELS: tuple[FasterKernel, ...] = (
    FasterKernel(
        name="transpose", dtypes=("f32", "f64", "i32", "i64"), targets=("avx512", "avx2"),
        least=256, measured="16 x 16 to 512 x 512: 1.5 to 18 times as fast; 1.1 to 6.5 on avx2",
    ),
)


_NODES = get_args(Node)
_NAME_FIELDS = frozenset(("name", "var", "array", "acc", "count", "a", "b"))


@record(frozen=True, slots=True)
class KernelMatch:
    """A hand-written kernel that computes another kernel; ``arrays`` and ``scalars``: its
    arguments, by the other kernel's names, in its order.
    """

    row: FasterKernel
    dtype: str
    arrays: tuple[str, ...]
    scalars: tuple[str, ...]

    @property
    def note(self) -> str:
        """A note for reports."""
        return f"by hand (kernels/{self.row.name}.c) from {self.row.least} elements"


def match_kernel(kernel: Kernel, target: Target) -> KernelMatch | None:
    """The hand-written kernel with the meaning of scalar `kernel` that is faster on `target`, or
    None.
    """
    plain = None
    for row in FASTER_KERNELS:
        if target.name not in row.targets:
            continue
        plain = plain or _canonical_form(kernel)
        for dtype in row.dtypes:
            meant = _canonical_form(kernel_meaning(row.name, dtype))
            names = _match_names(meant, plain)
            if names is not None:
                arrays = tuple(names[p.name] for p in meant.params if p.rank is not None)
                scalars = tuple(names[p.name] for p in meant.params if p.rank is None)
                return KernelMatch(row, dtype, arrays, scalars)
    return None


def emit_translation_unit(
    legal: Kernel, target: Target, match: KernelMatch | None, *, marked: bool = False
) -> str:
    """The C translation unit of scalar `kernel`, whose legal form for `target` is `legal`.

    `marked`: with comments ``/* line 5 */`` of the Python source lines.
    """
    text = emit_body(legal, target, marked=marked) + "\n"
    by_hand = ""
    if match:
        by_hand = (
            kernel_c_source([(match.row.name, match.dtype)], target)
            + "\n"
            + _dispatch_function(match, legal)
        )
    last = emit_entry(legal, target, marked=marked)
    last = last.replace("tp_body(", "tp_chosen(") if match else last
    heads, _, rest = translation_unit(text + last, target).partition(text)
    return f"/* {legal.name}, {target.name} */\n{heads}{text}{by_hand}{rest}"


def _dispatch_function(found: KernelMatch, legal: Kernel) -> str:
    """A C function that calls the hand-written kernel or the generated code, by the size of the
    last array.
    """
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
    if ({size or 1} < {found.row.least}) return tp_body(arrays, scalars);
    return {kernel_function_name(found.row.name, found.dtype)}(given, values);
}}
"""


# -- meanings


@cache
def _canonical_form(kernel: Kernel) -> Kernel:
    return simplify(canonicalize_loops(kernel))


def _match_names(meant: Kernel, given: Kernel) -> Mapping[str, str] | None:
    """The names in `given` that correspond to those of `meant`; None if the meanings differ."""
    if len(meant.params) != len(given.params) or given.strict or given.stops:
        return None
    names: dict[str, str] = {}
    if not _equal_up_to_names(meant.body, given.body, names):
        return None
    given_params = {p.name: p for p in given.params}
    for p in meant.params:
        q = given_params.get(names.get(p.name, ""))
        if q is None or (p.dtype, p.rank, p.unit) != (q.dtype, q.rank, q.unit):
            return None
    pairs = {frozenset((g.a, g.b)): g.or_same for g in _disjoint_guards(given)}
    for g in _disjoint_guards(meant):
        same = pairs.get(frozenset((names[g.a], names[g.b])))
        if same is None or same > g.or_same:
            return None
    return names


def _disjoint_guards(kernel: Kernel) -> Iterator[Disjoint]:
    return (g for g in kernel.guards if isinstance(g, Disjoint))


def _equal_up_to_names(a: Any, b: Any, names: dict[str, str]) -> bool:
    """Whether `a` equals `b` up to a one-to-one renaming, which is added to `names`."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(
            _equal_up_to_names(x, y, names) for x, y in zip(a, b, strict=True)
        )
    if type(a) is not type(b):
        return False
    if not isinstance(a, _NODES):
        return bool(a == b)
    for f in fields(a):
        x, y = getattr(a, f.name), getattr(b, f.name)
        if f.name == "span":
            continue
        if f.name in _NAME_FIELDS and isinstance(x, str) and isinstance(y, str):
            if names.setdefault(x, y) != y:
                return False
        elif not _equal_up_to_names(x, y, names):
            return False
    return len(set(names.values())) == len(names)
