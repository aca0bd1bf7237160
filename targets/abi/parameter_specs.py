"""Parameter specifications: what each argument of a kernel must be, as `entry.c` declares it."""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias

import numpy as np

from loopir.dtypes import DTYPES, MAX_PARAMS, MAX_RANK
from loopir.lazy_dataclass import record

__all__ = [
    "ALIGNED", "ARRAY", "COMPLEX", "FLOAT", "MAX_PARAMS", "MAX_RANK", "MISMATCH", "NUMPY",
    "WRITEABLE", "HasParam", "HasParams", "MemoryOrder", "ParameterSpec", "fits_order",
    "has_order_of_unit_axis", "parameter_spec", "parameter_specs", "scalar_spec",
]

MISMATCH: Final = -1
"""The status of a call whose arguments do not match the specifications."""

ALIGNED, WRITEABLE = 0x100, 0x400  # NumPy's flags
ARRAY, FLOAT, INT, BOOL, NUMPY, COMPLEX = range(6)
_PYTHON_SCALARS: dict[str, tuple[int, type]] = {
    "f64": (FLOAT, float), "i64": (INT, int), "bool": (BOOL, bool),
}

MemoryOrder: TypeAlias = Literal["C", "F"]

_ORDERS: tuple[MemoryOrder | None, ...] = (None, "C", "F")
"""The values of `ParameterSpec.order`, as `entry.c` numbers them."""


class HasParam(Protocol):
    """Structural type of ``loopir.nodes.Param``."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def unit(self) -> int | None: ...
    @property
    def written(self) -> bool: ...
    @property
    def steps(self) -> Sequence[int | None]: ...
    @property
    def aligned(self) -> bool: ...


class HasParams(Protocol):
    """Structural type of a kernel: its parameters."""

    @property
    def params(self) -> Sequence[HasParam]: ...


@record(frozen=True, slots=True)
class ParameterSpec:
    """The specification of one parameter: the ``param`` struct of `entry.c`."""

    kind: int  # ARRAY, FLOAT, …
    type: Any  # an array's dtype, or a scalar's Python type
    rank: int
    strided: bool  # an axis of unit stride is rejected
    bytes: int  # of an item
    flags: int
    """NumPy's flags that an array must have; of a NumPy scalar 1 for an i64, whose value may be a
    trip count (`take_scalar` in `entry.c`), else 0.
    """
    order: MemoryOrder | None = None  # of an array's axes, by the strides (`fits_order`); None: any
    steps: tuple[int, ...] = ()  # required strides in bytes of an array; 0: any

    def fields(self) -> tuple[int, ...]:
        """The fields of the ``param`` struct of `entry.c`."""
        steps = (*self.steps, *[0] * (MAX_RANK - len(self.steps)))
        first_fields = (
            self.kind,
            id(self.type),
            self.rank,
            int(self.strided),
            self.bytes,
            self.flags,
            _ORDERS.index(self.order),
        )
        return *first_fields, *steps


def parameter_spec(
    p: HasParam, weak: bool, strided: bool, order: MemoryOrder | None, paired: bool = False
) -> ParameterSpec:
    """What an argument must be for the kernel's parameter `p`: all that the compiler assumed of it.
    For a C-contiguous matrix of float64 that the kernel writes::

        ParameterSpec(ARRAY, float64, rank=2, strided=False, bytes=8,
                      flags=ALIGNED | WRITEABLE, order="C", steps=(0, 8))

    - a scalar: of exactly one class, a Python one if it is ``weak`` (float, int, bool), else that
      of NumPy for the dtype;
    - an array: of one dtype and rank; aligned, unless its type says otherwise; writeable if the
      kernel writes it; along the axis ``p.unit`` with a stride of one element, or with the strides
      ``p.steps``; with its axes in memory in `order`, if that is not None; ``strided``: without an
      axis of unit stride, for which there is another kernel;
    - ``paired``: an array of complex numbers. The kernel sees floats, with one more axis for the
      real and imaginary parts, which the array that is passed does not have.

    `entry.c` tests it in `take_array` and `take_scalar`, `PortableCall` without the builtin.
    """
    if p.rank is None:
        return scalar_spec(p.dtype, weak)
    dtype = DTYPES[p.dtype]
    flags = (ALIGNED if p.aligned else 0) | (WRITEABLE if p.written else 0)
    element_steps = [1 if axis == p.unit else step for axis, step in enumerate(_steps(p))]
    steps = tuple((step or 0) * dtype.bytes for step in element_steps)
    if paired:
        complex_dtype = np.result_type(dtype.numpy, np.complex64)
        size = complex_dtype.itemsize
        rank, steps = p.rank - 1, steps[:-1]
        return ParameterSpec(COMPLEX, complex_dtype, rank, strided, size, flags, order, steps)
    return ParameterSpec(ARRAY, dtype.numpy, p.rank, strided, dtype.bytes, flags, order, steps)


def parameter_specs(
    kernel: HasParams, *, weak: Collection[str], strided: Collection[str],
    orders: Mapping[str, MemoryOrder], paired: Collection[str],
) -> tuple[ParameterSpec, ...]:
    """The specifications of all parameters of `kernel`; for ``weak``, ``strided`` and ``paired``,
    the names of some, and ``orders``, the memory orders of some, see `parameter_spec`.
    """
    return tuple(
        parameter_spec(
            p, p.name in weak, p.name in strided, orders.get(p.name), p.name in paired)
        for p in kernel.params
    )


def scalar_spec(name: str, weak: bool) -> ParameterSpec:
    """What a scalar of the dtype `name` must be: an object of the Python class if it is `weak`,
    else of NumPy's class for the dtype.
    """
    dtype = DTYPES[name]
    if weak:
        kind, python = _PYTHON_SCALARS[name]
        return ParameterSpec(kind, python, 0, False, dtype.bytes, 0)
    return ParameterSpec(NUMPY, dtype.numpy.type, 0, False, dtype.bytes, int(name == "i64"))


def fits_order(a: np.ndarray, order: MemoryOrder) -> bool:
    """Whether NumPy allocates results of operations on `a`, and on its transpose, in the memory
    order `order`, or in the reverse one: the strides of its axes (of more than one element) become
    smaller from axis to axis for "C", larger for "F". Of axes with equal strides, NumPy takes the
    later one as the inner one, also in the transpose. A stride of 0 does not count for NumPy, which
    lets other operands decide. So arrays with such strides fit neither order, and generated code
    does not reproduce the layout of NumPy's results.

    For "C", unless `a` is C-contiguous, no axis of length 1 has a larger stride than one before it:
    NumPy's copies, other than its elementwise operations, sort such axes, too.
    """
    if order == "C" and a.flags.c_contiguous:
        return True
    all_steps = [abs(step) for step in a.strides]
    steps = [step for step, length in zip(all_steps, a.shape, strict=True) if length > 1]
    if 0 in steps or steps != sorted({*steps}, reverse=order == "C"):
        return False
    return order == "F" or all_steps == sorted(all_steps, reverse=True)


def has_order_of_unit_axis(a: np.ndarray, unit: int) -> bool:
    """Whether kernels take `a` as an array with unit stride along `unit`: if that is the last axis,
    no later axis has a larger stride than an earlier one; if it is the first, `a` is in Fortran
    order; any array if it is another one.
    """
    if a.ndim == 1 or 0 < unit < a.ndim - 1:
        return True
    if not unit:
        return fits_order(a, "F")
    steps = [abs(step) for step, length in zip(a.strides, a.shape, strict=True) if length > 1]
    return 0 not in steps and steps == sorted(steps, reverse=True)


def _steps(p: HasParam) -> Sequence[int | None]:
    """The strides of `p` in elements, None where any is accepted."""
    return p.steps or [None] * (p.rank or 0)
