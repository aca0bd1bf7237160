"""Loop load elimination: what the previous iteration stored is carried in a scalar."""
from __future__ import annotations

from ...algebra.index_builder import index_sub, is_nonempty
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo
from ...dtypes import INDEX
from ...ir_names import FreshNames, names_read, substitute
from ...ir_traversal import bottom_up, counted_range, walk
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Check, Expr, If, Interval, Kernel, Load, Loop, Stmt, Store, Var
from ...statement_blocks import map_statements

__all__ = ["load_elimination"]


def load_elimination(kernel: Kernel) -> Kernel:
    """Replace a load of the element that the previous iteration stored by an accumulator: a value
    in a register has a shorter latency than one that goes through memory. For the first iteration
    the element is loaded before the loop. `_store_and_reload` finds such pairs. Before::

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
        """`s` with a reloaded element in an accumulator."""
        if not isinstance(s, Loop) or (pair := _store_and_reload(s, memory)) is None:
            return s
        store, load = pair
        return _as_accumulator(s, store, load, fresh)

    return map_statements(kernel, edit, Loop)


def _store_and_reload(loop: Loop, memory: AliasInfo) -> tuple[Store, Load] | None:
    """A store that every iteration makes, such as ``y[i + 1] = …``, to an array that no other store
    touches, and a load of the element that it stored one iteration before (``y[i]``); None if there
    are none, or `loop` is no counted loop of straight-line code without accumulators.
    """
    is_straight_line = all(isinstance(s, Assign | Check | Store) for s in loop.body)
    if not is_straight_line or loop.accs or counted_range(loop) is None:
        return None
    stores = [s for s in loop.body if isinstance(s, Store)]
    for store in stores:
        is_only_store = sum(memory.shared(s.array, store.array) for s in stores) == 1
        if not is_only_store or store.mask is not None or _varies(store.index, loop):
            continue
        loads = [n for s in loop.body for n in walk(s) if isinstance(n, Load)]
        reloads = [
            n for n in loads if n.array == store.array and _reads_previous_store(store, n, loop.var)
        ]
        if reloads:
            return store, reloads[0]
    return None


def _varies(index: tuple[Expr, ...], loop: Loop) -> bool:
    """Whether subscripts depend on more than the loop variable and invariants."""
    assigned = {s.name for s in loop.body if isinstance(s, Assign)}
    return any(names_read(e) & assigned or any(isinstance(n, Load) for n in walk(e)) for e in index)


def _reads_previous_store(store: Store, load: Load, var: str) -> bool:
    """Whether `load` reads the element that `store` wrote one iteration before."""
    previous = {var: index_sub(Var(var, INDEX), 1)}
    pairs = list(zip(store.index, load.index, strict=True))
    forms = [
        (affine_form(substitute(a, previous), (var,)), affine_form(b, (var,))) for a, b in pairs
    ]
    store_forms = [affine_form(a, (var,)) for a, _ in pairs]
    is_same_element = all(a is not None and a == b for a, b in forms)
    return is_same_element and any(m is not None and m.coefficient(var) for m in store_forms)


def _as_accumulator(loop: Loop, store: Store, load: Load, fresh: FreshNames) -> If:
    """`loop` with the load replaced by an accumulator of the stored value, which starts as a load
    before the loop.
    """
    assert isinstance(loop.range, Interval)
    dtype = load.dtype
    first, acc, stored = (Var(fresh.name(load.array), dtype) for _ in range(3))
    replaced = (load.array, load.index)

    def with_acc(n: object) -> object:
        """The accumulator, for the load."""
        return acc if isinstance(n, Load) and (n.array, n.index) == replaced else n

    body: list[Stmt] = []
    for s in loop.body:
        new = bottom_up(s, with_acc)
        if s is store:
            body += [Assign(stored.name, new.value, span=s.span), replace(new, value=stored)]
        else:
            body.append(new)
    start_index = (substitute(e, {loop.var: loop.range.lo}) for e in load.index)
    simplified_index = tuple(bottom_up(e, rewrite) for e in start_index)
    initial_load = Assign(first.name, replace(load, index=simplified_index))
    accs = (Accum(acc.name, first, stored, span=store.span),)
    carried = replace(loop, body=tuple(body), accs=accs)
    return If(is_nonempty(loop.range), (initial_load, carried), span=loop.span)
