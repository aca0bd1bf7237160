"""Loop load elimination: what the previous iteration stored is carried in a scalar."""
from __future__ import annotations

from ...algebra.index_builder import index_sub, is_nonempty
from ...algebra.rewrite_rules import rewrite
from ...analysis.affine import affine_form
from ...analysis.mod_ref import AliasInfo
from ...dtypes import INDEX
from ...ir_names import FreshNames, names_read, substitute
from ...ir_traversal import bottom_up, walk
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Check, Expr, If, Interval, Kernel, Load, Loop, Stmt, Store, Var
from ...statement_blocks import map_statements

__all__ = ["load_elimination"]


def load_elimination(kernel: Kernel) -> Kernel:
    """Replace a load of the element that the previous iteration stored by an accumulator. Before::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0] - 1):
                y[i + 1] = y[i] + x[i + 1]

    after::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            if 0 < x.shape[0] - 1:
                y_1 = y[0]
                for i in loop(0, x.shape[0] - 1, y_2=y_1):
                    y_3 = y_2 + x[i + 1]
                    y[i + 1] = y_3
                    y_2 = step(y_3)
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        found = _store_and_reload(s, memory) if isinstance(s, Loop) else None
        return _as_accumulator(s, *found, fresh) if isinstance(s, Loop) and found else s

    return map_statements(kernel, edit)


def _store_and_reload(loop: Loop, memory: AliasInfo) -> tuple[Store, Load] | None:
    """A store of every iteration, and a load of the element that it stored in the previous one."""
    plain = all(isinstance(s, Assign | Check | Store) for s in loop.body)
    if not plain or loop.accs or loop.until or not isinstance(loop.range, Interval):
        return None
    stores = [s for s in loop.body if isinstance(s, Store)]
    for store in stores:
        alone = sum(memory.shared(s.array, store.array) for s in stores) == 1
        if not alone or store.mask is not None or _varies(store.index, loop):
            continue
        loads = [n for s in loop.body for n in walk(s) if isinstance(n, Load)]
        ahead = [
            n for n in loads if n.array == store.array and _reads_previous_store(store, n, loop.var)
        ]
        if ahead:
            return store, ahead[0]
    return None


def _varies(index: tuple[Expr, ...], loop: Loop) -> bool:
    """Whether subscripts depend on more than the loop variable and invariants."""
    own = {s.name for s in loop.body if isinstance(s, Assign)}
    return any(names_read(e) & own or any(isinstance(n, Load) for n in walk(e)) for e in index)


def _reads_previous_store(store: Store, load: Load, var: str) -> bool:
    """Whether `load` reads the element that `store` wrote one iteration before."""
    before = {var: index_sub(Var(var, INDEX), 1)}
    pairs = list(zip(store.index, load.index, strict=True))
    forms = [(affine_form(substitute(a, before), (var,)), affine_form(b, (var,))) for a, b in pairs]
    moves = [affine_form(a, (var,)) for a, _ in pairs]
    same = all(a is not None and a == b for a, b in forms)
    return same and any(m is not None and m.coefficient(var) for m in moves)


def _as_accumulator(loop: Loop, store: Store, load: Load, fresh: FreshNames) -> If:
    assert isinstance(loop.range, Interval)
    dtype = load.dtype
    first, acc, now = (Var(fresh.name(load.array), dtype) for _ in range(3))
    replaced = (load.array, load.index)

    def named(n: object) -> object:
        return acc if isinstance(n, Load) and (n.array, n.index) == replaced else n

    body: list[Stmt] = []
    for s in loop.body:
        new = bottom_up(s, named)
        if s is store:
            body += [Assign(now.name, new.value, span=s.span), replace(new, value=now)]
        else:
            body.append(new)
    at_start = (substitute(e, {loop.var: loop.range.lo}) for e in load.index)
    start = tuple(bottom_up(e, rewrite) for e in at_start)
    before = Assign(first.name, replace(load, index=start))
    accs = (Accum(acc.name, first, now, span=store.span),)
    carried = replace(loop, body=tuple(body), accs=accs)
    return If(is_nonempty(loop.range), (before, carried), span=loop.span)
