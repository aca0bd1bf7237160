"""Compilation for one call signature: pipeline, C compiler, loading.

`dispatcher` calls `compile_variant` where `disk_cache` has no stored variant. The pipeline is
imported at the first compilation: a process whose kernels, or refusals, are stored does without.
"""
from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING

from loopir.process.signal_exceptions import is_from_signal_handler
from targets.abi.trampoline import build_in_background
from targets.build.build_errors import BuildError, NoCompiler

from .. import knobs
from ..diagnostics import Refused, Rejection
from ..errors import NO_COMPILER
from ..options import Options, chosen_target
from ..types.value_types import ArgType
from .cache import disk_cache
from .compiled_variant import Variant
from .process.compile_progress import showing_progress
from .process.garbage_collection import keep_imported

if TYPE_CHECKING:
    from ..frontend.inline.inlining_state import CompileBudget
    from ..pipeline import Compilation

__all__ = ["compile_variant", "rejection_of"]

_log = logging.getLogger(__name__)

_MAX_FIXED = 2
"""So many values of global ints are compiled as constants; then they are parameters."""


def compile_variant(
    function: FunctionType,
    types: Mapping[str, ArgType],
    options: Options,
    settings: knobs.Knobs,
    *,
    budget: CompileBudget,
    recording: bool = False,
    rebuilds: int = 0,
) -> Variant:
    """Compile `function` for arguments of these types (just in time): run all stages of
    `pipeline.STAGES`, in this thread, and store the kernel, or the refusal, in the disk cache.

    `Dispatcher._build_variant` calls this, after it has looked in the disk cache, and attaches the
    variant: until then it cannot be called (`Variant.attach`).

    ``recording``: the kernel records which operations raised float flags. It keeps the order of the
    source for that (no fusion, no reassociation), so it is slower, and not stored. ``rebuilds``:
    how many variants there were besides the first. After two, a global int is no constant any more.

    ``budget``: what is left of the work that the function, and the regions that are cut out of it,
    may take.

    Raises Refused where the function cannot be compiled, NoCompiler and BuildError.
    """
    build_in_background()  # before the imports, which take a third as long
    from ..pipeline import Compilation

    target = chosen_target(options, settings)
    if recording:
        options = replace(options, reassociate=False, fusion=False)
    state = Compilation(
        function=function, types=types, options=options, machine=target.model, target=target,
        recording=recording, fixes_globals=rebuilds < _MAX_FIXED, budget=budget,
        make_callable=partial(_make_variant, function, check=settings.check),
        may_wait=recording or settings.check or bool(settings.debug or settings.dump),
    )
    stores = options.cache and not recording and not settings.shapes_code
    try:
        with showing_progress(function, enabled=options.progress):
            state = _run(state, settings)
    except Refused as refused:
        if stores:
            disk_cache.store_refusal(function, types, options, target, refused.rejection)
        raise
    if stores:
        disk_cache.store_variant(function, types, options, target, state.interface, state.entry)
    keep_imported()
    variant: Variant = state.variant
    return variant


def _run(state: Compilation, settings: knobs.Knobs) -> Compilation:
    """`state` after all stages; traced, checked or with passes left out, as the environment
    variables in `settings` ask.
    """
    from ..pipeline import run_stages

    if not (settings.debug or settings.dump):
        return run_stages(state, skip=settings.skip, check=settings.check)
    from ..trace import tracing

    with tracing(settings) as observe:
        return run_stages(state, skip=settings.skip, check=settings.check, observe=observe)


def _make_variant(function: FunctionType, state: Compilation, *, check: bool) -> Variant:
    """The loaded kernel of `state` as a variant. With `check` its first call is compared with the
    interpreter, and no call is performed in C as a whole.
    """
    fast = state.entry.fast
    if check:
        from .differential_check import compare_first_call

        fast = compare_first_call(fast, state.target_kernel)
    return Variant(function, state.interface, fast, entry=None if check else state.entry)


def rejection_of(error: Exception) -> Rejection:
    """The rejection to remember and to show for an exception that `compile_variant` raised:

    - Refused has one, made where the code is that cannot be compiled;
    - NoCompiler and BuildError are about the machine: the user can install or repair something;
    - RecursionError: the source is nested too deeply for the compiler, which recurses over trees;
    - any other exception is a bug of this package. It is logged with its traceback, and Python
      serves the calls as after a refusal.

    Faults of the process, such as no memory, do not come here (`Faults.should_retry`). Raises the
    exception again if a signal handler has raised it.
    """
    if is_from_signal_handler(error):
        raise error
    match error:
        case Refused():
            return error.rejection
        case NoCompiler():
            return Rejection(NO_COMPILER, str(error), help=error.help)
        case BuildError():
            message, _, output = str(error).partition("\n")
            return Rejection(
                "BUILD_FAILED", message.rstrip(":"), note=output or None, help=error.help
            )
        case RecursionError():
            message = "the function is nested too deeply, or has expressions of too many terms"
            return Rejection("LOWER_UNSUPPORTED", message, help="write it as several statements")
        case _:
            _log.warning("transpile failed", exc_info=error)
            message = f"transpile itself failed: {type(error).__name__}: {error}"
            help = "this is a bug of transpile; please report it with the function"
            return Rejection("BUILD_FAILED", message.partition("\n")[0], help=help)
