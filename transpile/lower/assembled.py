"""The plan of a function whose body has been lowered: its kernel, guards, and what it writes."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from loopir.nodes import Append, Check, Kernel, Load, Store
from loopir.ops import STATUS
from loopir.passes.ahead import trusting
from loopir.tree import bottom_up, walk
from loopir.types import MAX_PARAMS

from ..bindings import Argument, Captured, Field, Held, Taken
from ..plan import ALL_BYTES, Plan
from ..returned import Chosen, Paired, Returned
from ..types import ArgType
from .aliases import alias_guards
from .builder import Builder
from .refusal import refuse

__all__ = ["assembled"]


def assembled(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], b: Builder, returned: Returned
) -> Plan:
    """What `b` holds of `tree`, whose names have these `types`, as a plan."""
    written = {n.array for s in b.block for n in walk(s) if isinstance(n, (Store, Append))}
    read = {n.array for s in b.block for n in walk(s) if isinstance(n, Load)}
    for view, of in b.reshaped.items():
        if {view, of} & written:
            said = f"`{of}` is written, and read in another shape"
            refuse("LOWER_UNSUPPORTED", said, tree)
    own = frozenset(b.fresh - _escaping(returned) - {b.told or ""})
    params = tuple(
        replace(p, written=p.name in written, owned=p.owned and p.name in own & written)
        if p.rank is not None else p
        for p in b.params.values()
    )
    taken = {n for n, binding in b.bindings.items() if isinstance(binding, Taken)}
    slots = {p.name for p in params if p.rank == 0 and p.written and p.name not in types}
    ours = b.fresh | taken | slots
    given = (Argument, Captured, Field, Held)
    theirs = {n for n, binding in b.bindings.items() if isinstance(binding, given)}
    writes = tuple(sorted(written & theirs))
    rewrites = bool(written & read & theirs)
    sources, wordless = b.known_sources(rewrites=rewrites)
    guards = (*b.guards, *alias_guards(params, ours, b.block, b.reshaped))
    checked = any(isinstance(n, Check) and n.code == "replay" for s in b.block for n in walk(s))
    checked = checked or bool(b.strict)
    stops = checked and bool(writes) and not (rewrites or b.copied)
    strict = tuple(c for c in STATUS if c in b.strict)
    body = tuple(b.block)
    if stops and b.asked:
        body = tuple(bottom_up(s, lambda n: trusting(n) if n in b.asked else n) for s in body)
    if len(params) > MAX_PARAMS:
        said = f"{len(params)} arrays and numbers are needed at once, {MAX_PARAMS} are the most"
        refuse("LOWER_UNSUPPORTED", said, tree, help="compute with fewer of them at a time")
    kernel = Kernel(tree.name, params, body, guards, strict, stops)
    plan = Plan(
        kernel=kernel,
        bindings=tuple(b.bindings[p.name] for p in params),
        returned=returned,
        writes=writes,
        rewrites=rewrites,
        temporaries=own,
        sources=sources,
        copied_up_to=ALL_BYTES if wordless else 0,
        told=b.told,
    )
    copies = plan.wordless or (checked and not stops)
    return replace(plan, snapshot=bool(writes) and copies)


def _escaping(returned: Returned) -> set[str]:
    if isinstance(returned, Chosen):
        return {returned.flag} | _escaping(returned.then) | _escaping(returned.orelse)
    if isinstance(returned, Paired):
        return _escaping(returned.re) | _escaping(returned.im)
    items = getattr(returned, "items", None)
    if items is not None:
        return {name for item in items for name in _escaping(item)}
    return {getattr(returned, "name", None) or "", getattr(returned, "flags", None) or ""} - {""}
