"""Loop versioning by the size of a call: small calls fold floats in the order of the source.

Then Python has the same bits and may serve a small call, where converting lists takes longer than
all the rest (`transpile.runtime.call_selection`). `transpile.lower.exact_sizes.with_small_calls`
decides for which kernels: those whose calls convert lists. `keep_fold_order` makes versions of
folds that stand alone; here the kernel as a whole gets two, whatever its nests.
"""
from __future__ import annotations

from collections.abc import Collection

from ..algebra.index_builder import element_count, index_add, index_less, index_max, index_min
from ..dtypes import INDEX
from ..ir_names import FreshNames, bound_names, rename_names
from ..ir_traversal import contains, counted_range, walk
from ..lazy_dataclass import replace
from ..nodes import Bits, Const, Expr, If, Kernel, Local, Loop, Stmt, Var
from .pass_list import PASS_LIST, run_pass
from .vector.exact_bits import exact_up_to

__all__ = ["LARGEST_SMALL_CALL", "has_small_calls", "version_small_calls"]

LARGEST_SMALL_CALL = 31
"""The largest size of a call that is small. `CallSelection` decides for sizes with the same number
of bits together; this is the largest of 5 bits.
"""

_MAX_NODES = 2500
"""A larger kernel is not versioned, as that would take long to compile."""

_MANY_ITERATIONS = 64
"""A loop with more iterations at any size is long, however small the call."""


def version_small_calls(
    fused: Kernel, optimised: Kernel, sizes: Collection[str], libm: Collection[str] = ()
) -> Kernel:
    """`optimised`, the result of all passes on `fused`, in two versions: scalar code that keeps the
    order of folds, for small calls, and `optimised`. `optimised` itself if there is no such code,
    or if it would take too long to compile.

    The statements at the beginning that are the same in both, such as loops that fill a dict, stand
    in front of the branch, once. A call is small if the elements of the arrays in ``sizes`` and the
    integers in it add up to at most `LARGEST_SMALL_CALL` (`_is_small`). ``libm``: as for
    `exact_up_to`. For sums of the rows of a matrix, with ``sizes`` = {"x"}::

        def k(x: f64[:, ::1], out: mut(f64[::1])):
            disjoint(x, out)
            if x.shape[0] * x.shape[1] < 32:
                for i_2 in loop(0, x.shape[0]):
                    for j_4 in loop(0, x.shape[1], s_2=0.0):
                        s_2 = step(s_2 + x[i_2, j_4])
                    out[i_2] = s_2
            else:
                … the body of `optimised`, which has vector loops
    """
    if _is_large(optimised):
        return optimised
    ordered = _in_order(fused)
    has_pythons_bits = exact_up_to(ordered, (), libm) is None
    if not has_pythons_bits or _is_large(ordered) or _has_other_header(ordered, optimised):
        return optimised
    if contains(ordered, Local | Bits):
        return optimised
    fresh = FreshNames(replace(optimised, body=(*optimised.body, *ordered.body)))
    local_arrays = {n.name for n in walk(optimised) if isinstance(n, Local | Bits)}
    taken = bound_names(optimised) | local_arrays
    shared, rest = _split_common_prefix(ordered.body, optimised.body)
    names = {n: fresh.name(n) for n in sorted(bound_names(*rest) & taken)}
    if not local_arrays.isdisjoint(names.values()):
        return optimised  # fresh names are not those of other scalars, but may be a local array's
    small = tuple(rename_names(s, names) for s in rest)
    branch = If(_is_small(optimised, sizes), small, optimised.body[len(shared) :])
    return replace(optimised, body=(*shared, branch))


def _split_common_prefix(
    a: tuple[Stmt, ...], b: tuple[Stmt, ...]
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The statements with which both `a` and `b` begin, and what follows them in `a`."""
    pairs = enumerate(zip(a, b, strict=False))
    shared = next((k for k, (x, y) in pairs if x != y), min(len(a), len(b)))
    return a[:shared], a[shared:]


def has_small_calls(kernel: Kernel, sizes: Collection[str]) -> bool:
    """Whether `kernel` is a result of `version_small_calls` with these `sizes`."""
    match kernel.body:
        case (*_, If(cond=cond)):
            return cond == _is_small(kernel, sizes)
    return False


def _is_small(kernel: Kernel, sizes: Collection[str]) -> Expr:
    """Whether a call is small."""
    return index_less(_size(kernel, sizes), LARGEST_SMALL_CALL + 1)


def _in_order(kernel: Kernel) -> Kernel:
    """`kernel` as scalar code, its folds in the order of the source: without the passes that make
    vectors or tiles.
    """
    for step in PASS_LIST:
        if not step.vectorizes and not step.takes_machine:
            kernel = run_pass(step, kernel, reassociate=False, threads=1)
    return kernel


def _is_large(kernel: Kernel) -> bool:
    """Whether two versions of `kernel` do not pay: its code is long, or a loop of it has many
    iterations in every call.
    """
    if sum(1 for _ in walk(kernel)) > _MAX_NODES:
        return True
    counts = [counted_range(n) for n in walk(kernel) if isinstance(n, Loop)]
    ends = [r.hi for r in counts if r is not None]
    return any(isinstance(e, Const) and e.value > _MANY_ITERATIONS for e in ends)


def _has_other_header(a: Kernel, b: Kernel) -> bool:
    """Whether two kernels have other parameters, guards or conditions to report."""
    return (a.params, a.guards, a.strict, a.stops) != (b.params, b.guards, b.strict, b.stops)


def _size(kernel: Kernel, sizes: Collection[str]) -> Expr:
    """The number of elements of the arrays in `sizes`, plus the integers in it as far as they are
    positive; of each integer at most one more than is small, so that the sum does not overflow.
    """
    size: Expr = Const(0, INDEX)
    for p in kernel.params:
        if p.name not in sizes:
            continue
        if p.rank is None:
            positive = index_max(Var(p.name, INDEX), 0)
            size = index_add(size, index_min(positive, LARGEST_SMALL_CALL + 1))
            continue
        size = index_add(size, element_count(p))
    return size
