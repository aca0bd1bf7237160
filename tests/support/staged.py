"""Runs a function by its kernel at any stage, interpreted or emulated, in the wrapper of a call."""
from __future__ import annotations

from collections.abc import Callable
from types import CellType
from typing import Any

from native import run_native

from loopir.ir_interpreter import run_kernel
from loopir.nodes import Kernel
from targets.abi.portable_call import complex_as_floats
from transpile import Fused
from transpile.call_plan import Plan
from transpile.lower.kernel_interface import make_interface
from transpile.pipeline import Compilation
from transpile.runtime.compiled_variant import Variant

__all__ = ["Replayed", "emulated", "in_parts", "interpreted", "through"]


class Replayed(Exception):
    """Python would have to answer."""


def through(stages: Compilation, plan: Plan, kernel: Kernel, fast: Callable[..., int]) -> Any:
    """The function by way of `fast`, in the wrapper that compiled code has."""

    def cold(_: Variant, status: int, *__: object) -> Any:
        raise Replayed(status)

    function: Any = stages.source.function
    interface = make_interface(plan, kernel)
    variant = Variant(function, interface, lambda *args: fast(*map(complex_as_floats, args)))
    variant.attach(cold, CellType(0))
    return variant.call


def in_parts(fused: Fused) -> bool:
    """Whether regions have answered for some signature, and not the function as a whole."""
    return any(spec.outlined is not None for spec in fused._specializations.values())


def interpreted(kernel: Kernel) -> Callable[..., int]:
    return lambda *args: run_kernel(kernel, _by_name(kernel, args)).status


def emulated(kernel: Kernel, target: str) -> Callable[..., int]:
    return lambda *args: run_native(kernel, target, _by_name(kernel, args))


def _by_name(kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip((p.name for p in kernel.params), args, strict=True))
