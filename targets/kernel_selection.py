"""Kernel selection (idiom recognition): a hand-written kernel where it is measured to be faster.

A kernel and a hand-written one are compared by their meaning: as canonical scalar Loop IR, up to
names. The generated code is kept next to the hand-written kernel, and runs for smaller arrays.
`FASTER_KERNELS` has a row with the measurement for each case; remove a row when the generated code
has caught up (``python -m tests.bench.kernels``).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, get_args

from loopir.ir_traversal import memoized_per_node
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
    """Where a hand-written kernel is faster. Its results must have the bits of the generated code.
    """

    name: str
    dtypes: tuple[str, ...]
    targets: tuple[str, ...]
    min_elements: int  # elements of the result from which on it is used
    measured: str  # by which factor it is faster, for which sizes: a text for readers


FASTER_KERNELS: tuple[FasterKernel, ...] = (
    FasterKernel(
        name="transpose", dtypes=("f32", "f64", "i32", "i64"), targets=("avx512", "avx2"),
        min_elements=256,
        measured="16 x 16 to 512 x 512: 1.5 to 18 times as fast; 1.1 to 6.5 on avx2",
    ),
)
"""The hand-written kernels in use, one row each. `match_kernel` takes the first whose meaning is
that of a kernel; the C code chooses at run time, by ``min_elements``, between both. A row needs a
file ``kernels/NAME.c`` (`handwritten_kernels`) and a measurement."""


_NODES = get_args(Node)
_NAME_FIELDS = frozenset(("name", "var", "array", "acc", "count", "a", "b"))
"""The fields of nodes that hold names (``a`` and ``b`` are the arrays of a `Disjoint` guard)."""


@record(frozen=True, slots=True)
class KernelMatch:
    """A hand-written kernel that computes what a generated kernel does."""

    row: FasterKernel
    dtype: str
    arrays: tuple[str, ...]  # its array arguments in order, by the names of the generated kernel
    scalars: tuple[str, ...]  # the same for scalars

    @property
    def note(self) -> str:
        """A note for reports."""
        return f"by hand (kernels/{self.row.name}.c) from {self.row.min_elements} elements"


def match_kernel(kernel: Kernel, target: Target) -> KernelMatch | None:
    """The hand-written kernel that computes what scalar `kernel` does, and is faster on `target`:
    the first row of `FASTER_KERNELS` with that meaning, and which arguments it takes; else None.

        for i in loop(0, n):                                row "transpose", arrays=("a", "b")
            for j in loop(0, m): b[j, i] = a[i, j]

    The meaning of a hand-written kernel is Loop IR at the top of its file. Both are brought into
    canonical form, and are the same if they are equal up to names (`_match_names`). So a loop that
    means the same in another form is not recognised; nor is any loop of a kernel whose float flags
    or failed checks lead to a replay (``strict``, ``stops``). The stage ``select_kernel`` calls
    this.
    """
    if kernel.strict or kernel.stops:
        return None
    canonical = None
    for row in FASTER_KERNELS:
        if target.name not in row.targets:
            continue
        dtypes = {p.dtype for p in kernel.params}
        for dtype in dtypes.intersection(row.dtypes):  # others' meanings need not be parsed
            meaning = _canonical_form(kernel_meaning(row.name, dtype))
            if len(meaning.params) != len(kernel.params):
                continue
            canonical = canonical or _canonical_form(kernel)
            names = _match_names(meaning, canonical)
            if names is not None:
                arrays = tuple(names[p.name] for p in meaning.params if p.rank is not None)
                scalars = tuple(names[p.name] for p in meaning.params if p.rank is None)
                return KernelMatch(row, dtype, arrays, scalars)
    return None


def emit_translation_unit(
    legal: Kernel, target: Target, match: KernelMatch | None, *, marked: bool = False,
    threads: int = 0, portable: bool = False,
) -> str:
    """The C translation unit of `legal`, a kernel in legal form for `target`; with a `match`, the
    hand-written kernel beside it, and the choice between both by the size of the result.

    `marked`: with comments ``/* line 5 */`` of the Python source lines. ``threads``: how many its
    parallel loops may use; 0: no bound. ``portable``: as in `emit_body`.
    """
    text = emit_body(legal, target, marked=marked, threads=threads, portable=portable) + "\n"
    by_hand = ""
    if match:
        by_hand = (
            kernel_c_source([(match.row.name, match.dtype)], target)
            + "\n"
            + _dispatch_function(match, legal)
        )
    entry = emit_entry(legal, target, marked=marked)
    entry = entry.replace("tp_body(", "tp_chosen(") if match else entry
    before_body, _, after_body = translation_unit(text + entry, target).partition(text)
    return f"/* {legal.name}, {target.name} */\n{before_body}{text}{by_hand}{after_body}"


def _dispatch_function(match: KernelMatch, legal: Kernel) -> str:
    """The C function ``tp_chosen``: it calls the hand-written kernel if the result, its last array,
    has at least `FasterKernel.min_elements` elements, else the generated code.
    """
    arrays = [p.name for p in legal.params if p.rank is not None]
    scalars = [p.name for p in legal.params if p.rank is None]
    given = ", ".join(f"arrays[{arrays.index(x)}]" for x in match.arrays)
    values = ", ".join(f"scalars[{scalars.index(x)}]" for x in match.scalars) or "{0}"
    result_param = next(p for p in legal.params if p.name == match.arrays[-1])
    size = " * ".join(
        f"given[{len(match.arrays) - 1}].dims[{k}]" for k in range(result_param.rank or 0)
    )
    return f"""static int64_t tp_chosen(const tp_array *arrays, const tp_scalar *scalars)
{{
    const tp_array given[] = {{{given}}};
    const tp_scalar values[] = {{{values}}};
    if ({size or 1} < {match.row.min_elements}) return tp_body(arrays, scalars);
    return {kernel_function_name(match.row.name, match.dtype)}(given, values);
}}
"""


# -- meanings


@memoized_per_node
def _canonical_form(kernel: Kernel) -> Kernel:
    """`kernel` simplified over canonical loops, so that equal meanings have equal forms."""
    return simplify(canonicalize_loops(kernel))


def _match_names(meaning: Kernel, kernel: Kernel) -> Mapping[str, str] | None:
    """The names in `kernel` that correspond to those of `meaning`. None if the bodies differ in
    more than names, if a parameter has another dtype, rank or unit axis, or if a `Disjoint` guard
    of `meaning` does not follow from one of `kernel` for the same two arrays: a guard with
    ``or_same`` implies only one with ``or_same``.
    """
    names: dict[str, str] = {}
    if not _equal_up_to_names(meaning.body, kernel.body, names):
        return None
    given_params = {p.name: p for p in kernel.params}
    for p in meaning.params:
        counterpart = given_params.get(names.get(p.name, ""))
        if counterpart is None or (p.dtype, p.rank, p.unit) != (
            counterpart.dtype,
            counterpart.rank,
            counterpart.unit,
        ):
            return None
    pairs = {frozenset((g.a, g.b)): g.or_same for g in _disjoint_guards(kernel)}
    for g in _disjoint_guards(meaning):
        or_same = pairs.get(frozenset((names[g.a], names[g.b])))
        if or_same is None or or_same > g.or_same:
            return None
    return names


def _disjoint_guards(kernel: Kernel) -> Iterator[Disjoint]:
    """The `Disjoint` guards."""
    return (g for g in kernel.guards if isinstance(g, Disjoint))


def _equal_up_to_names(a: Any, b: Any, names: dict[str, str]) -> bool:
    """Whether `a` equals `b` up to a one-to-one renaming, which is added to `names`: nodes,
    tuples of nodes or values of fields. Source positions (``span``) are not compared.
    """
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
