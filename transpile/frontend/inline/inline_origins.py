"""Maps plans and refusals of inlined code back to the functions that it came from."""
from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from loopir.nodes import Span

from ...call_plan import CapturedExpr, Plan, StatusSource
from ...diagnostics import Refused
from ...host_nodes import to_ast
from ..ast_walk import copy_tree
from ..core_nodes import copy_location
from .inliner import Inliner

__all__ = ["plan_with_captures", "refusal_in_source", "bind_captures"]


def plan_with_captures(plan: Plan, inliner: Inliner) -> Plan:
    """`plan`, which also reads what helpers know and asks whether they are what they were."""
    homes, refs = inliner.found()
    sources = tuple(_sourced(s) for s in plan.sources)
    new = tuple(r for r in refs if r not in plan.refs)
    return replace(plan, homes=homes, refs=(*new, *plan.refs), sources=sources)


def _sourced(source: StatusSource) -> StatusSource:
    helper = source.inlined_at
    if helper is None:
        return source
    return replace(source, line=helper.line, of=helper.function, inlined_at=None)


def _holds(span: Span | None, other: Span | None) -> bool:
    """Whether what is at `other` stands in what is at `span`."""
    if span is None or other is None:
        return False
    ends = (other.end_line, other.end_col) <= (span.end_line, span.end_col)
    return ends and (span.line, span.col) <= (other.line, other.col)


def refusal_in_source(refused: Refused, inliner: Inliner) -> Refused:
    """`refused` in the words of the source, with the line of the helper that is to blame."""
    around = (r for r in inliner.refused if _holds(r.rejection.span, refused.rejection.span))
    refused = next(around, refused)
    rejection, helper = refused.rejection, refused.inlined_at

    def spelled(name: re.Match[str]) -> str:
        return inliner.spelled.get(name[0], name[0])

    rejection = replace(rejection, message=re.sub(r"\w+", spelled, rejection.message))
    if helper is None:
        return Refused(rejection)
    said, note = f"in `{helper.name}`, {helper.path}:{helper.line}", rejection.note
    return Refused(replace(rejection, note=f"{said}; {note}" if note else said))


def bind_captures(tree: ast.FunctionDef, homes: Sequence[CapturedExpr]) -> ast.FunctionDef:
    """`tree` as a function that can be run: it first reads what inlined functions know."""
    if not homes:
        return tree
    new = copy_tree(tree)
    lines: list[ast.stmt] = [
        ast.Assign([ast.Name(home.name, ast.Store())], to_ast(home.expr)) for home in homes
    ]
    if any(home.generator for home in homes):
        module = ast.alias("random_numbers", "_draws")
        lines.insert(0, ast.ImportFrom("transpile", [module], 0))
    after: list[ast.stmt] = [ast.Expr(to_ast(home.after)) for home in homes if home.after]
    for node in [n for line in (*lines, *after) for n in ast.walk(line)]:
        copy_location(node, tree.body[0])
    if after:
        new.body = [copy_location(ast.Try(new.body, [], [], after), tree.body[0])]
    new.body = [*lines, *new.body]
    return new
