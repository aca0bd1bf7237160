"""Disk cache of kernel interfaces: a later process calls a kernel without compiling anything again.

The key of an entry (`_cache_key`) is made from the function's code, the call signature and all else
that shapes the kernel. An entry is a recipe: the kernel interface as data (`recipe_format`) and the
names of the shared objects; or it is a refusal (`stored_refusals`). The values of global names are
stored as descriptions (`description`). An entry is used only if these match the values that the
names have now; whether it serves a call, `Variant.applies` decides.
"""
from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from loopir.lazy_dataclass import record
from loopir.process.digests import hexdigest
from loopir.process.signal_exceptions import failures, suppress_failures
from targets.abi.object_layout import layout_matches
from targets.abi.thread_pool import pool_object
from targets.build.build_errors import BuildError
from targets.build.object_cache import (
    OBJECT_SUFFIX,
    RECIPE_SUFFIX,
    find_cached,
    find_cached_prefix,
    publish,
    read_cached,
)
from targets.file_kinds import is_folder
from targets.isa.cpu_features import features
from targets.isa.target_registry import runs_here

from ... import call_plan, host_nodes, result_spec
from ...call_plan import IdentityGuard, KernelInterface, load_interface
from ...host_nodes import (
    HostAttribute,
    HostCall,
    HostConst,
    HostExpr,
    HostHelper,
    HostItem,
    HostName,
)
from ...options import Options, chosen_target
from ...types import value_types
from ...types.numpy_probes import (
    numpy_fuses_complex_products,
    numpy_orders_zeros,
    numpy_squares_by_products,
)
from ...types.value_types import ArgType, Function
from ..compiled_variant import Variant
from ..kernel_call.stub_functions import Arguments
from .object_descriptions import code_digest, description
from .recipe_format import NotStorable, add_records, decoded, encoded

if TYPE_CHECKING:
    from targets.abi.load_kernel import LoadedKernel
    from targets.isa.target_registry import Target

    from ...diagnostics import Rejection
    from ...knobs import Knobs

__all__ = ["find_variant", "store_refusal", "store_variant"]

_log = logging.getLogger(__name__)

add_records(call_plan, host_nodes, result_spec, value_types)

_PACKAGES = ("transpile", "loopir", "targets")
"""The packages of the compiler, whose files are part of each key (`_version`)."""

_DRAWS = "transpile.random_numbers"
"""What the host expression ``draws`` stands for."""

_REFUSED = "refused"
"""The first item of an entry that tells why a function is refused."""

def store_variant(
    function: FunctionType, types: Mapping[str, ArgType], options: Options, target: Target,
    interface: KernelInterface, entry: LoadedKernel,
) -> None:
    """Store a loaded kernel with all that is needed to call it. Nothing is stored if

    - an object that the kernel depends on has no description (`description`), or a helper whose
      line a warning names is not reached by names (`_helper_exprs`);
    - calls of the kernel have no trampoline of C, though they may have one in a later process;
    - the user has registered macros, which the key of an entry does not tell.

    `compile_variant` calls this, unless the options or environment variables forbid it.
    """
    descriptions = tuple((g.expr, description(g.value)) for g in interface.identity_guards)
    helpers = _helper_exprs(_name_meanings(function, types, interface), interface)
    is_described = all(description is not None for _, description in descriptions)
    is_lasting = entry.trampoline is not None or not layout_matches()
    if not is_lasting or not is_described or helpers is None or _has_user_macros():
        return
    names = [os.path.basename(path) for path in (entry.path, entry.trampoline) if path]
    sources = tuple(replace(source, helper=None) for source in interface.sources)
    stored = replace(interface, identity_guards=(), sources=sources)
    try:
        recipe = stored, descriptions, helpers, pool_object(entry.library), *names
        publish(encoded(recipe), _cache_key(function, types, options, target), RECIPE_SUFFIX)
    except failures(Exception) as error:  # the kernel is there all the same
        _log.info("no recipe for %s: %s", function.__qualname__, error)


def store_refusal(
    function: FunctionType, types: Mapping[str, ArgType], options: Options, target: Target,
    rejection: Rejection,
) -> None:
    """Store that the function is refused, if all that the decision depends on can be described
    (`stored_refusals.refusal_row`). Nothing is stored if

    - an argument is a function or a module: the key may have no more of it than its name;
    - the source is missing or another one (SOURCE_…): the next process may find it;
    - the user has registered macros.
    """
    from .stored_refusals import refusal_row

    if rejection.family == "SOURCE" or _has_user_macros():
        return
    if any(isinstance(ty, Function) for ty in types.values()):
        return
    try:
        row = refusal_row(function, rejection)
        if row is not None:
            entry = encoded((_REFUSED, row))
            publish(entry, _cache_key(function, types, options, target), RECIPE_SUFFIX)
    except failures(Exception) as error:  # it is refused all the same
        _log.info("the refusal of %s is not stored: %s", function.__qualname__, error)


def find_variant(
    function: FunctionType, types: Mapping[str, ArgType], options: Options, settings: Knobs,
    values: Arguments,
) -> Variant | None:
    """The variant that an earlier process has compiled and stored (`store_variant`), loaded without
    the compiler. `Dispatcher._build_variant` asks before it compiles. None in these cases:

    - the cache must not be used: by the options; since the user watches the compilation, or has it
      checked (`settings`, the environment variables); or since environment variables or macros of
      the user's shape the kernel, which the key of an entry does not tell;
    - this machine runs no code for the target;
    - there is no entry for this source, these types, options and target, and this version
      (`_cache_key`), or global names mean something else than then (`_variant_of_recipe`);
    - it does not apply to a call with these ``values``.

    Raises Refused if what is stored is a refusal, which still holds (`_raise_again`).
    """
    is_watched = settings.debug or settings.dump or settings.check
    if not options.cache or is_watched or settings.shapes_code or _has_user_macros():
        return None
    target = chosen_target(options, settings)
    if not runs_here(target):
        return None
    try:
        data = _stored_entry(_cache_key(function, types, options, target))
    except failures(ValueError):  # its code has constants that cannot be marshalled
        return None
    if data is None:
        return None
    try:
        entry_parts = decoded(data)
        if entry_parts[0] == _REFUSED:
            _raise_again(function, entry_parts[1])
            return None
        recipe = entry_parts
    except failures(NotStorable, ValueError) as error:  # such as a class that is not loaded here
        _log.info("a recipe of %s is not used: %s", function.__qualname__, error)
        return None
    variant = _variant_of_recipe(function, types, recipe)
    return variant if variant is not None and variant.applies(values) else None


def _stored_entry(key: str) -> bytes | None:
    """The entry with that key, or None. Without a C compiler, one for other cache sizes serves."""
    data = read_cached(key, RECIPE_SUFFIX)
    if data is None and not _has_compiler():
        function, _ = key.split("-")
        if path := find_cached_prefix(f"{function}-", RECIPE_SUFFIX):
            return read_cached(os.path.basename(path).removesuffix(RECIPE_SUFFIX), RECIPE_SUFFIX)
    return data


def _has_compiler() -> bool:
    """Whether there is a C compiler; none is run."""
    from targets.build.c_compiler import NoCompiler, find_compiler

    try:
        find_compiler()
    except NoCompiler:
        return False
    except BuildError:
        pass
    return True


def _variant_of_recipe(
    function: FunctionType, types: Mapping[str, ArgType], recipe: tuple[Any, ...]
) -> Variant | None:
    """The variant that `store_variant` has stored as `recipe`, loaded; None if a global name that
    it depends on means something else now, or its objects are not in the cache any more.
    """
    stored, descriptions, helpers, pool, *names = recipe
    names_of = _name_meanings(function, types, stored)
    guards = [_guard_if_unchanged(names_of, *described) for described in descriptions]
    objects = [find_cached(name.removesuffix(OBJECT_SUFFIX)) for name in names]
    if None in guards or None in objects:
        return None
    sources = tuple(
        source if expr is None else replace(source, helper=_value_of(names_of, expr))
        for source, expr in zip(stored.sources, helpers, strict=True)
    )
    interface: KernelInterface = replace(stored, identity_guards=tuple(guards), sources=sources)
    kernel, *others = objects
    assert kernel is not None
    try:
        entry = load_interface(
            kernel, interface, trampoline_path=others[0] if others else None,
            pool_path=pool and find_cached(pool),
        )
    except BuildError:
        return None
    return Variant(function, interface, entry.fast, entry=entry)


def _has_user_macros() -> bool:
    """Whether the user has registered macros. They shape kernels, and no entry describes them."""
    patterns = sys.modules.get("transpile.frontend.macros.macro_patterns")
    return patterns is not None and bool(patterns.registered())


def _raise_again(function: FunctionType, row: tuple[Any, ...]) -> None:
    """Raises Refused with the rejection in `row`, unless something has changed since."""
    from ...diagnostics import Refused
    from .stored_refusals import rejection_of_row

    rejection = rejection_of_row(function, row)
    if rejection is not None:
        raise Refused(rejection)


def _cache_key(
    function: FunctionType, types: Mapping[str, ArgType], options: Options, target: Target
) -> str:
    """The key of the entry for this function, call signature and target: a digest, and one of the
    cache sizes for which the target's code is made (`_stored_entry` says why they are apart).

    In the key: the function's code object (with its constants and line numbers), the types of the
    arguments, the options, the target, the features of the CPU, ``TRANSPILE_CFLAGS`` and ``CC``,
    the versions of Python and NumPy, whether NumPy fuses complex products, and transpile's own
    files. Not in the key: the version of the C compiler, since an object that an older one has
    built stays valid; ``on_reject``, ``verify``, ``background`` and ``progress``, which do not
    shape the kernel; other environment variables: with one that shapes the code set
    (`Knobs.shapes_code`), nothing is stored or looked up; values of globals and closure cells, and
    functions that are inlined, which the entry describes. Raises ValueError if the code has
    constants that cannot be marshalled.
    """
    shaping = replace(
        options, on_reject="warn", verify=0.0, background=False, progress=True
    )
    flags = os.environ.get("TRANSPILE_CFLAGS", ""), os.environ.get("CC", "")
    probes = numpy_fuses_complex_products(), numpy_squares_by_products(), numpy_orders_zeros()
    machine = target.full_name, sorted(features())
    named = {
        n: (ty.name, description(ty.value)) if isinstance(ty, Function) else ty
        for n, ty in types.items()
    }
    numpy = np.__version__, *probes
    parts = [sorted(named.items()), shaping, machine, flags, sys.version, numpy, _version()]
    code = code_digest(function.__code__)
    sizes = hexdigest(repr(target.caches).encode())[:16]
    return f"{hexdigest(repr([*map(str, parts), code]).encode())}-{sizes}"


@functools.cache
def _version() -> str:
    """A digest of `_transpile_files`, which is part of each key, so that entries of another version
    are not found. Made once, as there are hundreds of files.
    """
    return hexdigest(repr(_transpile_files()).encode())


def _transpile_files() -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of transpile's own files, also of the hand-written kernels. In a
    checkout these are beside the packages; `handwritten_kernels.kernels_folder` would tell where,
    but its module takes long to import. Raises BuildError where they are in an archive.
    """
    roots = [import_module(package).__path__[0] for package in _PACKAGES]
    if (archived := next((root for root in roots if not is_folder(root)), None)) is not None:
        message = f"transpile is imported from an archive, {os.path.dirname(archived)}"
        raise BuildError(message, help="unpack the archive: C headers are read as files")
    beside = os.path.join(os.path.dirname(roots[-1]), "kernels")
    if not is_folder(os.path.join(roots[-1], "kernels")) and is_folder(beside):
        roots.append(beside)
    return tuple(sorted(row for root in roots for row in _source_files(root)))


def _source_files(folder: str) -> list[tuple[str, int, int]]:
    """Name, size and time of each source file below `folder`. Python's folders of bytecode are not
    read: they have as many files, and none is a source. One loop, as each process runs it.
    """
    found, left = list[tuple[str, int, int]](), [folder]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith((".py", ".h", ".c")):
                    stat = entry.stat()
                    found.append((name, stat.st_size, stat.st_mtime_ns))
                elif "." not in name and name != "__pycache__" and entry.is_dir():
                    left.append(entry.path)
    return found


@record(frozen=True, slots=True)
class _NameMeanings:
    """What the names in the expressions of an entry stand for. ``captured``: the expressions of the
    names by which the kernel knows what its inlined functions capture; ``arguments``: the
    arguments of the call that are functions and modules.
    """

    function: FunctionType
    captured: Mapping[str, HostExpr]
    arguments: Mapping[str, object]


def _name_meanings(
    function: FunctionType, types: Mapping[str, ArgType], interface: KernelInterface
) -> _NameMeanings:
    """The names of `function`, called with arguments of these `types`."""
    captured = {capture.name: capture.expr for capture in interface.captures}
    arguments = {name: ty.value for name, ty in types.items() if isinstance(ty, Function)}
    return _NameMeanings(function, captured, arguments)


def _helper_exprs(
    names: _NameMeanings, interface: KernelInterface
) -> tuple[HostExpr | None, ...] | None:
    """For each status source (`StatusSource`) an expression of names whose value is its helper, the
    inlined function; None for a source without a helper. Found among the expressions that the
    guards read, or a draw function of ours. None in place of the tuple if a helper has no such
    expression.
    """
    reached: dict[int, HostExpr] = {}
    for guard in interface.identity_guards:
        match guard.expr:
            case HostCall(HostHelper("type"), (expr,)):
                with suppress_failures(LookupError, AttributeError, ValueError):
                    reached[id(_value_of(names, expr))] = expr
    exprs = [
        None if source.helper is None
        else reached.get(id(source.helper)) or _draw_function_expr(source.helper)
        for source in interface.sources
    ]
    missing = any(
        expr is None and source.helper is not None
        for expr, source in zip(exprs, interface.sources, strict=True)
    )
    return None if missing else tuple(exprs)


def _draw_function_expr(helper: FunctionType) -> HostExpr | None:
    """The expression of a function of `transpile.random_numbers`; None for other functions."""
    package, _, module = helper.__module__.rpartition(".")
    if package != _DRAWS:
        return None
    return HostAttribute(HostAttribute(HostHelper("draws"), module), helper.__name__)


def _guard_if_unchanged(
    names: _NameMeanings, expr: HostExpr, described: tuple[Any, ...]
) -> IdentityGuard | None:
    """A guard that `expr`, such as the global name ``scale``, keeps the value that it has now; None
    if that value is not what it was when the entry was stored, so that the entry is not used.

    An entry cannot store the object itself, so it stores a description (`description`): of a
    number its value, of code a digest. (An inlined function of the user's has none: the guards are
    about its code, globals and defaults.) Within a process the guard then compares by identity.
    """
    try:
        value = _value_of(names, expr)
    except failures(LookupError, AttributeError, ValueError):
        return None
    return IdentityGuard(expr, value) if description(value) == described else None


def _value_of(names: _NameMeanings, expr: HostExpr) -> Any:
    """What an expression of names, attributes, items of dicts and ``type`` stands for. Raises
    LookupError for any other expression, and what its parts raise.
    """
    match expr:
        case HostHelper("modules"):
            return sys.modules
        case HostHelper("draws"):
            return import_module(_DRAWS)
        case HostName(name) if name in names.captured:
            return _value_of(names, names.captured[name])
        case HostName(name) if name in names.arguments:
            return names.arguments[name]
        case HostName(name):
            return _lookup(names.function, name)
        case HostAttribute(of, name):
            return getattr(_value_of(names, of), name)
        case HostItem(of, HostConst(str() as key)):
            namespace = _value_of(names, of)
            if type(namespace) is dict:
                return namespace[key]
        case HostCall(HostHelper("type"), (of,)):
            return type(_value_of(names, of))
    raise LookupError(expr)


def _lookup(function: FunctionType, name: str) -> Any:
    """The object that a name of the function is bound to: a closure cell, a global, or a builtin.
    Raises LookupError, AttributeError or ValueError.
    """
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        return cell.cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    builtins = function.__globals__.get("__builtins__")
    return builtins[name] if isinstance(builtins, dict) else getattr(builtins, name)
