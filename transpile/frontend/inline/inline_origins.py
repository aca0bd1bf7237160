"""Origins of inlined code: plans and refusals name the helper's line and the names of the source.

After inlining, a node has the position of the outermost call, and `InlinedAt` with the callee's
line; callees' names are fresh ones such as ``_a_1``. These functions translate back at the end, and
`bind_captures` makes core Python runnable for tools.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from loopir.lazy_dataclass import replace
from loopir.nodes import Span

from ...call_plan import CapturedExpr, Plan, StatusSource
from ...diagnostics import HelperLine, Refused
from ...host_nodes import to_ast
from ...types.value_types import CODE_POINTS, ArgType
from ..ast_walk import copy_tree, walk_nodes
from ..core_nodes import copy_location
from ..defining_modules import is_stand_in
from .inlining_state import Inlining

__all__ = ["plan_with_captures", "refusal_in_source", "bind_captures"]


def plan_with_captures(plan: Plan, inlining: Inlining) -> Plan:
    """`plan` with the captured names and identity guards of the inlined code, and with warnings at
    the helper's lines.
    """
    captures, guards = inlining.captures.plan_additions()
    sources = tuple(_source_at_helper(s) for s in plan.sources)
    added = tuple(guard for guard in guards if guard not in plan.identity_guards)
    return replace(
        plan, captures=captures, identity_guards=(*added, *plan.identity_guards), sources=sources
    )


def _source_at_helper(source: StatusSource) -> StatusSource:
    """`source` with the line and the function that its warning must name. For an operation that was
    inlined they are those of the helper, since Python warns at the line that it runs.

        def half(v): return v / 0.0    # line 2: the warning names this line
        def f(x): y = half(x)          # line 4: that of the node after inlining

    The inliner noted the place at the node (`callee_body._move_to_call`), and `note_warning` copied
    it to ``source.inlined_at``. The stage ``capture`` calls this for all sources of a plan.
    """
    place = source.inlined_at
    if place is None:
        return source
    return replace(source, line=place.line, helper=place.function, inlined_at=None)


def _contains(outer: Span | None, inner: Span | None) -> bool:
    """Whether the source range `inner` is a part of `outer`; False if one is unknown."""
    if outer is None or inner is None:
        return False
    ends_within = (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)
    return ends_within and (outer.line, outer.col) <= (inner.line, inner.col)


def refusal_in_source(refused: Refused, inlining: Inlining) -> Refused:
    """`refused`, by any stage after inlining, in terms of what the user wrote. `pipeline` calls it.

        message   "`_a_1` is not a number"   →   "`a` is not a number"
        note                                 →   "in `helper`, tools.py:7"

    1. If a call at the refused place was not inlined, the reason for that replaces `refused`:
       lowering refuses the call only because it is still there.
    2. Fresh names in the message become the names of the source (``Inlining.source_names``).
    3. For inlined code the note names the helper and its line, since the position is the call's;
       not for a function that stands for a native one.
    """
    place = refused.rejection.span
    earlier = (r for r in inlining.not_inlined if _contains(r.rejection.span, place))
    refused = next(earlier, refused)  # 1
    rejection, helper = refused.rejection, refused.inlined_at

    def source_name(name: re.Match[str]) -> str:
        return inlining.source_names.get(name[0], name[0])

    rejection = replace(rejection, message=re.sub(r"\w+", source_name, rejection.message))  # 2
    if helper is None or is_stand_in(helper.function):  # 3
        return Refused(rejection)
    where = HelperLine(helper.name, helper.path, helper.line)
    note = f"{where}; {rejection.note}" if rejection.note else str(where)
    return Refused(replace(rejection, helper=where, note=note))


def bind_captures(
    tree: ast.FunctionDef, captures: Sequence[CapturedExpr], types: Mapping[str, ArgType]
) -> ast.FunctionDef:
    """`tree`, core Python after inlining, as a function that runs by itself: a copy that binds its
    captured names first, and in the end writes the states of random generators back. Parameters
    that are strs by `types` become lists of the code points of their characters.
    """
    strings = [name for name, ty in types.items() if ty == CODE_POINTS]
    if not captures and not strings:
        return tree
    new = copy_tree(tree)
    bindings: list[ast.stmt] = [
        ast.Assign([ast.Name(capture.name, ast.Store())], to_ast(capture.expr))
        for capture in captures
    ]
    for name in strings:
        bindings += ast.parse(f"{name} = [ord(c) for c in {name}]").body
    if any(capture.generator for capture in captures):
        module = ast.alias("random_numbers", "_draws")
        bindings.insert(0, ast.ImportFrom("transpile", [module], 0))
    if any(isinstance(n, ast.Name) and n.id == "_modules" for b in bindings for n in walk_nodes(b)):
        bindings.insert(0, ast.ImportFrom("sys", [ast.alias("modules", "_modules")], 0))
    write_back: list[ast.stmt] = [ast.Expr(to_ast(c.write_back)) for c in captures if c.write_back]
    for node in [n for line in (*bindings, *write_back) for n in walk_nodes(line)]:
        copy_location(node, tree.body[0])
    if write_back:
        new.body = [copy_location(ast.Try(new.body, [], [], write_back), tree.body[0])]
    new.body = [*bindings, *new.body]
    return new
