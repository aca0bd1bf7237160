"""Stored elements: what the one store to an array writes, seen from each block around it.

    for i:
        for j: (t = x[i, j] - mu; d[i, j] = t)      here  d[i, j] = x[i, j] - mu  for all j
        for k: out[i, k] = d[i, k] / s              so this is x[i, k] - mu, if x was not written

`rematerialize` replaces such loads by the value; `coalesce_arrays` keeps the elements elsewhere.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..analysis.integers.affine import AffineBindings
from ..analysis.mod_ref import arrays_written
from ..ir_names import bound_names, expand_names, names_read, substitute
from ..ir_traversal import contains, has_early_exit, walk_statements
from ..lazy_dataclass import record, replace
from ..nodes import Append, Break, Expr, Kernel, Load, Loop, Return, Scan, Stmt, Store, Var
from ..statement_blocks import backward_slice, nested_blocks
from .iteration_domains import same_range

__all__ = ["Definition", "Level", "single_stores", "store_levels"]


def single_stores(kernel: Kernel) -> Iterator[Store]:
    """The stores without a mask to arrays that nothing else in `kernel` writes, in order."""
    writes = [n for n in walk_statements(kernel) if isinstance(n, (Store, Append, Scan))]
    counts = Counter(n.array for n in writes)
    for n in writes:
        if isinstance(n, Store) and n.mask is None and counts[n.array] == 1:
            yield n


@record(frozen=True, slots=True)
class Definition:
    """What a store writes, seen from a block around it: ``array[index] = value`` in all
    iterations of `loops`, which are in this block, outermost first.

        for j: (t = x[i, j] - mu; d[i, j] = t)    →    index (i, j), value x[i, j] - mu, loops (j,)
    """

    index: tuple[Expr, ...]
    value: Expr
    loops: tuple[Loop, ...] = ()
    operands: tuple[str, ...] = ()  # names of inner blocks whose values are part of `value`

    def at(
        self,
        index: tuple[Expr, ...],
        loops: tuple[Loop, ...],
        local: frozenset[str],
        bindings: AffineBindings,
    ) -> Expr | None:
        """The value at `index`, read inside `loops`, which come later in the block; None if perhaps
        no iteration, or another one than with these subscripts, has stored it, or if a loop reads
        one element repeatedly.

            stored d[i, j], j in loop(0, n);  read d[i, k], k in loop(0, n)    →    the value at j=k

        `local`: names whose value may differ between store and load, variables of loops left out.
        """
        own, around = ({x.var: x for x in nest} for nest in (self.loops, loops))
        variables = {
            stored.name: loaded
            for stored, loaded in zip(self.index, index, strict=True)
            if isinstance(stored, Var) and stored.name in own and isinstance(loaded, Var)
        }
        is_same_element = (
            variables.keys() == own.keys()
            and {v.name for v in variables.values()} == around.keys()
            and tuple(substitute(e, variables) for e in self.index) == index
        )
        if not is_same_element:
            return None
        for name, v in variables.items():
            stored, loaded = own[name].range, around[v.name].range
            names = (names_read(stored) - own.keys()) | (names_read(loaded) - around.keys())
            if names & local or contains(stored, Load) or contains(loaded, Load):
                return None
            if not same_range(substitute(stored, variables), loaded, bindings):
                return None
        return substitute(self.value, variables)


@record(frozen=True, slots=True)
class Level:
    """A block around the store: its statements, which of them contains the store, and what it
    writes; None where an iteration may leave it out: in a branch, or in a loop that may end early.
    """

    stmts: tuple[Stmt, ...]
    place: int
    definition: Definition | None

    def may_end(self, k: int) -> bool:
        """Whether statement `k` may not be run, or not to its end, although the store was."""
        return any(contains(s, (Break, Return)) for s in self.stmts[self.place : k + 1])

    def local(self, k: int) -> frozenset[str]:
        """The names that the statement with the store or statement `k` binds in blocks of its own:
        one name may have different values there.
        """
        return bound_names(self.stmts[self.place], self.stmts[k])


def store_levels(stmts: tuple[Stmt, ...], array: str) -> tuple[Level, ...]:
    """The blocks around the one store to `array`, innermost first; `stmts`, which contain it, are
    the last.
    """
    place = next(k for k, s in enumerate(stmts) if array in arrays_written((s,)))
    s = stmts[place]
    if isinstance(s, Store):
        return (Level(stmts, place, Definition(s.index, s.value)),)
    inside = next(b.stmts for b in nested_blocks(s) if array in arrays_written(b.stmts))
    inner = store_levels(inside, array)
    definition = _outside(inner[-1])
    if definition is None or not isinstance(s, Loop) or has_early_exit(s):
        return (*inner, Level(stmts, place, None))
    definition = replace(definition, loops=(s, *definition.loops))
    return (*inner, Level(stmts, place, definition))


def _outside(level: Level) -> Definition | None:
    """The definition of `level` without names that its block assigns; None if it gets too large."""
    if level.definition is None:
        return None
    before = level.stmts[: level.place]
    operands = {a.name: a.value for a in backward_slice(before, level.definition.value)}
    value = expand_names(level.definition.value, operands)
    if value is None:
        return None
    names = (*level.definition.operands, *operands)
    return replace(level.definition, value=value, operands=names)
