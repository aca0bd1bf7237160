"""Exact sizes: the largest size of a call up to which its results have the same bits as Python's.

The size of a call (`targets.abi.inline_cache.size_of_call`) adds the elements of arrays and lists
and the magnitudes of ints. `transpile.runtime.call_selection` may let Python serve calls up to the
size that `exact_size` gives; `with_small_calls` raises that size to `LARGEST_SMALL_CALL`
for kernels whose calls convert lists, where it can. Only the arguments count that decide how many
terms a sum has. A sum of the first n items of a list has at most n terms: n counts, the length of
the list does not, nor does an int by which the items are multiplied.
"""
from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np

from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Kernel, Var
from loopir.op_table import OPS
from loopir.passes.vector.exact_bits import exact_up_to
from loopir.passes.version_small_calls import (
    LARGEST_SMALL_CALL,
    has_small_calls,
    version_small_calls,
)
from targets.c.vector_math import MATH_FUNCTIONS

from ..call_plan import Allocated, Argument, Captured, ListItems, ObjectMember, Plan, ResultSlot
from ..host_nodes import HostAttribute
from ..options import Options
from ..types.value_types import ArgType, ArrayType, ListType, ObjectType, ScalarType
from .lower_function import has_ordered_folds

__all__ = ["ExactSize", "exact_size", "has_other_bits", "with_small_calls"]


@record(frozen=True, slots=True)
class ExactSize:
    """Up to which size a call surely has Python's bits."""

    largest: int | None
    """The largest such size; None: any; -1: none."""
    arguments: tuple[int, ...] | None = None
    """The numbers of the arguments whose sizes count; None: all."""


def exact_size(kernel: Kernel, plan: Plan, types: Mapping[str, ArgType]) -> ExactSize:
    """Up to which size of a call the results of `kernel` surely have the bits that Python's have.
    Up to there `CallSelection` may let Python serve calls: the answer is the same either way.

    A vectorised float sum adds in another order than Python's loop, so its last bits may differ.
    But `keep_fold_order` keeps a copy in the order of the source for sums of few terms (at most
    `SHORT_FOLD`), as::

        if n <= 32: the loop as it is; else: the loop in vector lanes    →   ExactSize(32, (1,))

    for ``def f(x, n)``, whose loop adds the first n items of ``x``. The first case that applies
    decides:

    - an operation has other bits, though no op of the kernel shows it, as ``x ** 3`` by products
      (`Plan.rounds_otherwise`): no size;
    - the whole kernel has a copy for small calls (`with_small_calls`): `LARGEST_SMALL_CALL`;
    - no sum or function of it may have other bits: any size;
    - one of them may have other bits at every size, as a vectorised ``exp``: no size;
    - else its sums have copies for few terms, each under a condition (above, ``n <= 32``): the
      largest size of a call for which all these conditions hold (`exact_up_to`).

    With the copy for small calls, all arguments count but ints that only scale values (`_factors`).
    In the last case, only those count on which the size depends: above ``n``, and not the length of
    ``x``.

    ``kernel``: the result of all passes on that of `plan`; ``types``: of the function's parameters,
    in their order. The stage ``load`` puts the answer into the `KernelInterface`.
    """
    if plan.rounds_otherwise:
        return ExactSize(-1)
    sizes, libm = _names_of_whole_size(plan, types), _libm_operations(plan)
    if sizes and has_small_calls(kernel, sizes):
        factors = _factors(plan.kernel)
        others = tuple(k for k, name in enumerate(types) if name not in factors)
        return ExactSize(LARGEST_SMALL_CALL, others if len(others) < len(types) else None)
    parameter_of = _arguments_in_size(plan, types)  # by the kernel's parameter
    largest = exact_up_to(kernel, parameter_of.keys(), libm)
    if largest is None or largest < 0:
        return ExactSize(largest)
    needed = set(parameter_of)
    for name in parameter_of:
        if exact_up_to(kernel, needed - {name}, libm) == largest:
            needed.remove(name)
    counting = {parameter_of[name] for name in needed}
    if len(counting) == len(types):
        return ExactSize(largest)
    return ExactSize(largest, tuple(k for k, name in enumerate(types) if name in counting))


def has_other_bits(options: Options, tree: ast.FunctionDef, kernel: Kernel) -> bool:
    """Whether results may differ from Python's in the last bits however small a call is: products
    and sums are contracted, NumPy decides the order of a sum, or functions of numbers are not the C
    library's (``portable=True``).

    ``tree``: the function before lowering; ``kernel``: its Loop IR.
    """
    if options.fma or has_ordered_folds(tree):
        return True
    calls = (n for n in walk(kernel) if isinstance(n, Call)) if options.portable else ()
    return any(call.op in MATH_FUNCTIONS for call in calls)


def with_small_calls(
    kernel: Kernel, fused: Kernel, plan: Plan, types: Mapping[str, ArgType]
) -> Kernel:
    """`kernel`, the result of all passes on `fused`, with a copy for small calls that keeps
    Python's bits (`version_small_calls`), so that Python may serve these calls: converting a short
    list takes longer than Python needs to sum it. `kernel` itself where no copy is needed or can be
    made.

    The stage ``version_small_calls`` calls this.
    """
    if plan.rounds_otherwise:
        return kernel  # no order of the sums would give Python's bits
    if not any(isinstance(b, ListItems) for b in plan.bindings):
        return kernel  # nothing is converted, so a small call is not slow
    exact, sizes = exact_size(kernel, plan, types).largest, _names_of_whole_size(plan, types)
    if exact is None or exact >= LARGEST_SMALL_CALL:
        return kernel  # small calls have Python's bits already
    if not sizes:
        return kernel  # the kernel cannot tell that a call is small
    return version_small_calls(fused, kernel, sizes, _libm_operations(plan))


_LIBM = (
    "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "asin", "acos", "atan",
)
"""The operations that CPython's `math` computes by the C library's function of this name."""


def _libm_operations(plan: Plan) -> frozenset[str]:
    """The operations that the source computes by functions of `math` alone, and so by the C
    library. Not those for which it also calls a NumPy function, which may round otherwise.
    """
    meant = {id(guard.value) for guard in plan.identity_guards}
    found = set()
    for name in _LIBM:
        spellings = [s.rpartition(".") for s in OPS[name].spellings]
        by_math = [getattr(math, f) for module, _, f in spellings if module == "math"]
        by_numpy = [getattr(np, f) for module, _, f in spellings if module == "numpy"]
        if any(id(f) in meant for f in by_math) and not any(id(f) in meant for f in by_numpy):
            found.add(name)
    return frozenset(found)


def _arguments_in_size(plan: Plan, parameters: Collection[str]) -> dict[str, str]:
    """A map from kernel parameters of `plan` to the function's `parameters` that they stand for:
    those that the size of a call counts once each, by their length or value
    (`targets.abi.inline_cache.size_of_call`). These are arrays of rank 1, flat lists, and Python's
    ints.
    """
    found = dict[str, str]()
    for binding in plan.bindings:
        match binding:
            case Argument(name, ArrayType(rank=1)) | Argument(name, ScalarType("i64", True)):
                given = name
            case ListItems(name, type=ListType(kinds=(_,)), counting_argument=str(given)):
                pass
            case _:
                continue
        if given in parameters:
            found[name] = given
    return found


def _names_of_whole_size(plan: Plan, types: Mapping[str, ArgType]) -> frozenset[str] | None:
    """The kernel parameters of `plan` (arrays, lists, ints) whose elements and values are all part
    of the size of a call. Their sum is then at most that size, so a kernel may test it in place of
    the size: every small call passes. Ints that only scale values (`_factors`) are left out: they
    are no trip counts. None if the kernel may read an array that the size does not count.
    """
    found, lists = set(), set()
    for binding in plan.bindings:
        match binding:
            case Argument(name, ArrayType()) | Argument(name, ScalarType("i64", True)):
                if name not in types:
                    return None
                found.add(name)
            case ListItems(name, of, ListType(kinds=kinds)) if _has_type(binding, types):
                if len(kinds) > 2 or not {list, tuple}.issuperset(kinds):
                    return None
                if of not in lists:  # its items may be in several arrays
                    found.add(name)
                lists.add(of)
            case Argument() | Allocated() | ResultSlot():
                pass
            case ObjectMember(type=ScalarType()) | Captured(type=ScalarType()):
                pass
            case _:
                return None
    return frozenset(found) - _factors(plan.kernel)


def _has_type(items: ListItems, types: Mapping[str, ArgType]) -> bool:
    """Whether the list of `items` has its type in the signature, and its items count in the size of
    a call. ``types``: those of the function's parameters.
    """
    ty = types.get(items.counting_argument or "")
    match items.read:
        case HostAttribute(_, name):
            ty = ty.part(name) if isinstance(ty, ObjectType) else None
    return ty == items.type


def _factors(kernel: Kernel) -> frozenset[str]:
    """The ints among the parameters of `kernel` of which it uses only the values as floats, so that
    they do not tell how many terms a sum has::

        for v in x: s += v * n      →      n
    """
    ints = {p.name for p in kernel.params if p.rank is None and p.dtype == "i64"}
    uses, casts = Counter[str](), Counter[str]()
    for n in (n for s in kernel.body for n in walk(s)):
        match n:
            case Var(name) if name in ints:
                uses[name] += 1
            case Call("cast", (Var(name),), dtype) if name in ints and DTYPES[dtype].kind == "f":
                casts[name] += 1
    return frozenset(name for name in ints if uses[name] == casts[name])
