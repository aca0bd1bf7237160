"""Parameter specifications: what each argument of a kernel must be, as `entry.c` declares it."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, Protocol

import numpy as np

from loopir.dtypes import DTYPES, MAX_PARAMS, MAX_RANK
from loopir.lazy_dataclass import record

__all__ = [
    "ALIGNED", "ARRAY", "COMPLEX", "FLOAT", "MAX_PARAMS", "MAX_RANK", "MISMATCH", "NUMPY",
    "WRITEABLE", "HasParam", "HasParams", "ParameterSpec", "has_unordered_strides",
    "parameter_spec", "parameter_specs", "scalar_spec",
]

MISMATCH: Final = -1
"""The status of a call whose arguments do not match the specifications."""

ALIGNED, WRITEABLE = 0x100, 0x400  # NumPy's flags
ARRAY, FLOAT, INT, BOOL, NUMPY, COMPLEX = range(6)
_PYTHON_SCALARS: dict[str, tuple[int, type]] = {
    "f64": (FLOAT, float), "i64": (INT, int), "bool": (BOOL, bool),
}


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
        )
        return *first_fields, *steps


def parameter_spec(p: HasParam, weak: bool, strided: bool, paired: bool = False) -> ParameterSpec:
    """What an argument must be for the kernel's parameter `p`: all that the compiler assumed of it.
    For a C-contiguous matrix of float64 that the kernel writes::

        ParameterSpec(ARRAY, float64, rank=2, strided=False, bytes=8,
                      flags=ALIGNED | WRITEABLE, steps=(0, 8))          # axis 1 has unit stride

    - a scalar: of exactly one class, a Python one if it is ``weak`` (float, int, bool), else that
      of NumPy for the dtype;
    - an array: of one dtype and rank; aligned, unless its type says otherwise; writeable if the
      kernel writes it; along the axis ``p.unit`` with a stride of one element, or with the strides
      ``p.steps``; ``strided``: without an axis of unit stride, for which there is another kernel;
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
        return ParameterSpec(COMPLEX, complex_dtype, p.rank - 1, strided, size, flags, steps[:-1])
    return ParameterSpec(ARRAY, dtype.numpy, p.rank, strided, dtype.bytes, flags, steps)


def parameter_specs(
    kernel: HasParams, *, weak: Collection[str], strided: Collection[str], paired: Collection[str]
) -> tuple[ParameterSpec, ...]:
    """The specifications of all parameters of `kernel`; for ``weak``, ``strided`` and ``paired``,
    the names of some, see `parameter_spec`.
    """
    return tuple(
        parameter_spec(p, p.name in weak, p.name in strided, p.name in paired)
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


def has_unordered_strides(a: np.ndarray, unit: int) -> bool:
    """Whether NumPy allocates results of operations on `a` in a memory order that is neither C nor
    Fortran order, which generated code does not reproduce: `unit`, an axis of unit stride, is the
    first or the last of several axes, and the strides of the axes (of more than one element) do not
    become smaller towards it, or one of them is 0.
    """
    if a.ndim == 1 or 0 < unit < a.ndim - 1:
        return False
    steps = [abs(step) for step, length in zip(a.strides, a.shape, strict=True) if length > 1]
    return 0 in steps or steps != sorted(steps, reverse=unit > 0)


def _steps(p: HasParam) -> Sequence[int | None]:
    """The strides of `p` in elements, None where any is accepted."""
    return p.steps or [None] * (p.rank or 0)
