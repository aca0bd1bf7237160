"""Kernel units: a function under one signature, compiled to C for each target, and its calls.

`kernel_unit` runs the pipeline up to the C text, once for each target, and describes the call of
the kernel without objects of this process (`BuiltCall`). What cannot be described is not built,
with the reason in a `NotBuilt`.
"""
from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType

import numpy as np

from loopir.lazy_dataclass import record, replace
from targets.abi.native_entry import ITEMS, DerivedValue, Pointer
from targets.abi.parameter_specs import ParameterSpec, parameter_specs
from targets.abi.sequence_conversion import ItemsWords, SequenceSpec
from targets.isa.cpu_features import machine
from targets.isa.target import Target

from ..call_plan import (
    KernelInterface,
    complex_params,
    keeps_gil,
    param_orders,
    python_scalar_params,
    strided_params,
)
from ..diagnostics import Refused
from ..options import Options
from ..pipeline import Compilation, interface_of, run_stages
from ..runtime.kernel_call.native_call import call_spec
from ..runtime.kernel_call.not_native import NotNative
from ..types.numpy_probes import answers_elsewhere, asked_probes
from ..types.typeof import parameter_names
from ..types.value_types import ArgType
from .built_calls import BuiltCall, BuiltName, BuiltWarning, OwnCode, built_name, called

__all__ = ["KernelUnit", "NotBuilt", "kernel_unit"]


class NotBuilt(Exception):
    """A function that stays Python in the package under some signature, and why."""


@record(frozen=True, slots=True)
class KernelUnit:
    """A function under one signature: its C text and its call, by the name of the target."""

    function: FunctionType
    types: tuple[ArgType, ...]
    options: Options
    texts: dict[str, str]
    calls: dict[str, BuiltCall]
    probes: dict[str, bool]
    """The answers of NumPy's probes on which it depends (`numpy_probes`)."""


def kernel_unit(
    function: FunctionType, types: tuple[ArgType, ...], options: Options,
    targets: Sequence[Target], own: OwnCode,
) -> KernelUnit:
    """Compile `function` for these types and targets, in a package with this code. Raises NotBuilt.
    """
    unit = KernelUnit(function, types, options, {}, {}, {})
    for target in targets:
        try:
            elsewhere = answers_elsewhere(target.machine) if target.machine != machine() else {}
            with asked_probes(elsewhere) as asked:
                state = _compiled(function, types, options, target)
            unit.calls[target.name] = _built_call(function, interface_of(state), own)
        except Refused as refused:
            raise NotBuilt(f"{refused.rejection.code}: {refused.rejection.message}") from None
        except NotNative as reason:
            raise NotBuilt(f"{reason.reason}, and a built call is made in C") from None
        unit.texts[target.name] = state.c_text
        unit.probes.update(asked)
    return unit


def _compiled(
    function: FunctionType, types: tuple[ArgType, ...], options: Options, target: Target
) -> Compilation:
    """The state with the C text for `target`. Raises Refused."""
    by_name = dict(zip(parameter_names(function.__code__), types, strict=True))
    state = Compilation(
        function=function, types=by_name, options=options,
        machine=target.model, target=target,
    )
    return run_stages(state, stop_after="emit")


def _built_call(
    function: FunctionType, interface: KernelInterface, own: OwnCode
) -> BuiltCall:
    """The call of a kernel of `function` as data. Raises NotNative and NotBuilt."""
    if interface.overflow_slot is not None:
        raise NotBuilt("it makes a list or an array for whose length no bound is known")
    counts = np.zeros(2, np.int64)
    spec = call_spec(function, interface, function, lambda *_: None, counts, counts, counts)
    guarded = [built_name(name, function, own) for name in spec.guarded_names]
    captured = [built_name(name, function, own) for name in spec.captured]
    for name, built in zip((*spec.guarded_names, *spec.captured), guarded + captured, strict=True):
        if built is None:
            raise NotBuilt(f"what `{name.root}` is bound to can change from process to process")
    return BuiltCall(
        rows=_parameter_rows(interface),
        constants=tuple(spec.constants),
        guarded_names=tuple(name for name in guarded if name is not None),
        captured=tuple(name for name in captured if name is not None),
        derived=tuple(replace(d, of=None) if d.kind == ITEMS else d for d in spec.derived),
        items=tuple(map(_items_of, spec.derived)),
        allocated=tuple(spec.allocated),
        sources=tuple(spec.sources),
        program=tuple(spec.program.words),
        needs_quiet_state=spec.needs_quiet_state,
        written=tuple(k for k, p in enumerate(interface.params) if p.name in interface.writes),
        pairs=tuple(spec.copying.pairs) if spec.copying else (),
        most_copied=spec.copying.max_bytes if spec.copying else None,
        params=tuple(p.name for p in interface.params),
        in_place=interface.in_place,
        rewrites=interface.rewrites,
        strict=interface.strict,
        warnings=_warnings(interface, function, [n for n in guarded if n is not None], own),
        keeps_gil=keeps_gil(interface),
    )


def _parameter_rows(interface: KernelInterface) -> tuple[ParameterSpec, ...]:
    """The specifications of the parameters, as `load_kernel` makes them."""
    return parameter_specs(
        interface, weak=python_scalar_params(interface), strided=strided_params(interface),
        orders=param_orders(interface),
        paired=complex_params(interface),
    )


def _items_of(value: DerivedValue) -> SequenceSpec | None:
    """What the items must be of which `value` is the array; None for other values."""
    match value.of:
        case Pointer(ItemsWords() as words):
            return words.items
    return None


def _warnings(
    interface: KernelInterface, function: FunctionType, guarded: Sequence[BuiltName], own: OwnCode
) -> tuple[BuiltWarning, ...]:
    """The operations that may warn. Raises NotBuilt if the function whose line it is cannot be
    found by its name.
    """
    found: list[BuiltWarning] = []
    for source in interface.sources:
        guard = None
        if source.helper is not None:
            found_at = (
                k for k, name in enumerate(guarded) if called(name, function, own) is source.helper
            )
            guard = next(found_at, None)
            if guard is None:
                raise NotBuilt("the function in which a warning arises is not found by its name")
        found.append(
            BuiltWarning(source.status, source.message, source.line, source.certain, guard)
        )
    return tuple(found)
