"""Store sinking: what both sides of a branch write last is written once, after the branch."""
from __future__ import annotations

from typing import TypeAlias

from ...analysis.mod_ref import AliasInfo, arrays_written
from ...ir_names import FreshNames, names_read
from ...ir_traversal import advanced_accums
from ...lazy_dataclass import replace
from ...nodes import Append, Expr, If, Kernel, Stmt, Store, Var, Yield
from ...statement_blocks import map_statements

__all__ = ["sink"]

Write: TypeAlias = "Store | Append"


def sink(kernel: Kernel) -> Kernel:
    """Replace stores to the same element at the end of both sides of a branch by one store after
    it, of a yielded value; appends likewise. The stores stay where they are if one of them may
    change what the yields or the other stored values read, which would be computed before that one
    (`_shared_ending`). Before::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                if x[i] > 0.0:
                    out[i] = sqrt(x[i])
                else:
                    out[i] = 0.0

    after::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                if x[i] > 0.0:
                    t = give(sqrt(x[i]))
                else:
                    t = give(0.0)
                out[i] = t
    """
    memory, fresh, advanced = AliasInfo(kernel), FreshNames(kernel), advanced_accums(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` with the writes at the end of both sides after it."""
        pairs = _shared_ending(s, memory, advanced) if isinstance(s, If) else []
        return _sunk_branch(s, pairs, fresh) if isinstance(s, If) and pairs else s

    return map_statements(kernel, edit, If)


def _shared_ending(
    s: If, memory: AliasInfo, advanced: frozenset[str]
) -> list[tuple[Write, Write]]:
    """The last writes of both branches to the same destinations, in order.

    Their values and the branch's yields will be evaluated before the first of these writes, so none
    of the writes may change them; nor may they read a counter that an append advances (`advanced`).
    """
    pairs: list[tuple[Write, Write]] = []
    values: list[Expr] = [value for y in s.yields for value in (y.then, y.orelse)]
    if names_read(*values) & advanced:
        return []
    for a, b in zip(reversed(s.then), reversed(s.orelse), strict=False):
        if not isinstance(a, Store | Append) or not isinstance(b, Store | Append):
            break
        changes_value = any(memory.changes(v, arrays_written((a,))) for v in values)
        if _destination(a) is None or _destination(a) != _destination(b) or changes_value:
            break
        if names_read(a.value, b.value) & advanced:
            break
        values += [a.value, b.value]
        pairs.insert(0, (a, b))
    return pairs


def _destination(s: Write) -> tuple[str, tuple[Expr, ...] | str] | None:
    """Where `s` writes; None for a masked write."""
    if s.mask is not None:
        return None
    return s.array, s.index if isinstance(s, Store) else s.count


def _sunk_branch(s: If, pairs: list[tuple[Write, Write]], fresh: FreshNames) -> tuple[Stmt, ...]:
    """`s` without the `pairs` of writes, with yields of their values, and the writes after it."""
    names = [fresh.name("t") for _ in pairs]
    yields = tuple(Yield(n, a.value, b.value) for n, (a, b) in zip(names, pairs, strict=True))
    then, orelse = (branch[: len(branch) - len(pairs)] for branch in (s.then, s.orelse))
    writes = (
        replace(a, value=Var(n, a.value.dtype)) for n, (a, _) in zip(names, pairs, strict=True)
    )
    return (replace(s, then=then, orelse=orelse, yields=(*s.yields, *yields)), *writes)
