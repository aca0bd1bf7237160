"""What becomes of a function for given types, without a call: report, and text of each stage."""
from __future__ import annotations

import ast
import contextlib
from types import FunctionType
from typing import TYPE_CHECKING

from targets.isa import Target

from .. import knobs
from ..errors import FuseError, sentence
from ..options import Options, chosen_target
from ..printer import print_python
from ..rejections import Refused, Rejection
from ..report.account import account, account_of_parts, account_of_refused
from ..report.listing import Listing, joined
from ..report.listing import listing as listing_of
from ..report.report import Report
from ..signature import parameters
from ..source import Source, read
from ..stages import Stages, compile_stages
from ..types import ArgType
from .case import Case
from .compiling import rejection_of

if TYPE_CHECKING:
    from .parts import Part, Parts

__all__ = ["STAGES", "emit", "listing", "report"]

STAGES = ("python", "loopir", "loopset", "mlir", "c", "asm")
"""Beside these there is ``html``, a listing."""


def report(
    function: FunctionType, types: tuple[ArgType, ...], options: Options, case: Case | None
) -> Report:
    """The account of `function` for arguments of these types; `case` holds its calls."""
    target = chosen_target(options, knobs.read())
    named = _named(function, types)
    stats = case.stats.as_dict() if case else None
    try:
        stages = compile_stages(function, named, options, target.model)
        made = account(stages, target, stats)
        rejection = case.rejection if case else _unbuilt(stages, target, options)
    except Exception as error:
        reason = rejection_of(error)
        parts = case.parts if case else _parts(function, named, reason, options)
        refused = account_of_refused(function, _source(function), named, [reason], target, stats)
        return refused if parts is None else _account_of(parts, refused)
    if rejection is None:
        return made
    return account_of_refused(function, stages.source, named, [rejection], target, stats)


def listing(
    function: FunctionType, types: tuple[ArgType, ...], options: Options, case: Case | None
) -> Listing:
    """`function` line by line for arguments of these types; of regions those that have run, as
    `case` holds them. Raises FuseError where nothing is compiled.
    """
    target = chosen_target(options, knobs.read())
    try:
        stages = compile_stages(function, _named(function, types), options, target.model)
        return _listing(stages, target)
    except Exception as error:
        rejection = rejection_of(error)
        parts = case.parts.parts if case and case.parts else ()
        if made := [p.fused.listing_for(p.latest) for p in parts if p.latest is not None]:
            return joined(read(function), target.name, made)
        message = sentence(function, types, rejection.code, rejection)
        raise FuseError(message, rejection.code) from error


def _listing(stages: Stages, target: Target) -> Listing:
    from targets.build import BuildError, NoCompiler, assembly

    def assembled(c: str) -> str:
        try:
            return assembly(c, target, contract=stages.options.fma, lines=True)
        except (NoCompiler, BuildError):
            return ""  # as much as there is

    c = stages.c(target, marked=True)
    return listing_of(stages.source, stages.vector, c, target.name, assembled)


def emit(stage: str, function: FunctionType, types: tuple[ArgType, ...], options: Options) -> str:
    """The text of one stage. Raises FuseError where there is none, ValueError for another stage."""
    if stage not in STAGES:
        raise ValueError(f"no stage {stage!r} (stages: {', '.join(STAGES)})")
    target = chosen_target(options, knobs.read())
    try:
        stages = compile_stages(function, _named(function, types), options, target.model)
        return _text(stage, stages, target)
    except Exception as error:
        rejection = rejection_of(error)
        parts = _parts(function, _named(function, types), rejection, options)
        if parts is not None and (text := _text_of(stage, parts)):
            return text
        message = sentence(function, types, rejection.code, rejection)
        raise FuseError(message, rejection.code) from error


def _text(stage: str, stages: Stages, target: Target) -> str:
    match stage:
        case "python":
            return print_python(stages.python)
        case "loopir":
            from loopir.text import show

            return show(stages.vector)
        case "loopset":
            from loopir.passes.planned import show_plans
            from targets.legalize import legalize, show_unrolled

            reassociate = stages.options.reassociate
            plans = show_plans(stages.plain, target.model, reassociate=reassociate)
            made = dict.fromkeys(show_unrolled(legalize(stages.vector, target), target))
            return "\n".join((plans, "", *made))
        case "mlir":
            return stages.mlir()
        case "c":
            return stages.c(target)
        case _:
            from targets.build import assembly

            return assembly(stages.c(target), target, contract=stages.options.fma)


def _parts(
    function: FunctionType, types: dict[str, ArgType], rejection: Rejection, options: Options
) -> Parts | None:
    from .parts import parts_of

    try:
        return parts_of(function, types, rejection, options)
    except Refused:
        return None


def _account_of(parts: Parts, refused: Report) -> Report:
    """With what becomes of the regions: of those that ran, for the types that came last."""
    reports = [p.fused.report_for(p.latest) for p in parts.parts if p.latest is not None]
    waiting = [span for p in parts.parts if p.latest is None for span in p.loops]
    return account_of_parts(refused, reports, waiting, whole=not parts.loops)


def _text_of(stage: str, parts: Parts) -> str:
    """The texts of the regions that get so far, and for ``python`` what calls them."""
    texts = [*filter(None, (_text_of_part(stage, part) for part in parts.parts))]
    if stage == "python":
        texts.append(print_python(parts.tree))
    return "\n\n".join(texts)


def _text_of_part(stage: str, part: Part) -> str:
    text = ""
    if part.latest is not None:
        with contextlib.suppress(FuseError):
            text = part.fused.emit_for(stage, part.latest)
    if stage != "python":
        return text
    *inner, own = ast.parse(text or print_python(part.tree)).body
    assert isinstance(own, ast.FunctionDef)
    own.name = part.helper
    return "\n\n".join(map(print_python, (*inner, own)))


def _named(function: FunctionType, types: tuple[ArgType, ...]) -> dict[str, ArgType]:
    """By parameter; a call signature that is not known has none."""
    return dict(zip(parameters(function.__code__), types, strict=False))


def _source(function: FunctionType) -> Source | None:
    try:
        return read(function)
    except Refused:
        return None


def _unbuilt(stages: Stages, target: Target, options: Options) -> Rejection | None:
    """Why the kernel cannot be built here; None where it can, or is for another machine."""
    from targets.build import BuildError, NoCompiler, build
    from targets.host import available

    if target not in available():
        return None
    try:
        build(stages.c(target), target, cache=options.cache, contract=options.fma)
    except (NoCompiler, BuildError) as error:
        return rejection_of(error)
    return None
