"""Version statements by alias: one copy for each array that a name in them may stand for."""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from loopir.nodes import Expr

from ...analysis.liveness import names_assigned, names_read
from ...frontend.core_nodes import copy_location, fix_missing_locations
from ..state.symbol_values import ArrayRef, UnionValue
from .alias_states import array_of_common_shape, deciding_condition, first_ambiguous_array
from .array_allocation import Allocations
from .array_allocators import is_allocator

__all__ = ["Forks"]

_TEST_NAME = "#test"


class Forks(Allocations):
    """Asks which of its arrays a name is, and lowers what reads it for each."""

    def apart(self, stmt: ast.stmt) -> UnionValue | None:
        """What `stmt` reads that is one of several arrays; what makes one in a loop must know all.
        """
        match stmt:
            case ast.Assign(targets=[ast.Name()], value=ast.Name()):
                return None
            case ast.Assign(value=ast.Call(func=func)) if (
                self.b.frames and is_allocator(self._resolve(func))
            ):
                return first_ambiguous_array(self.b, sorted(self.b.env))
        return first_ambiguous_array(self.b, self._asked(stmt))

    def _asked(self, node: ast.AST) -> list[str]:
        """The names that `node` reads, but for those of arrays of which it reads lengths that are
        the same for each.
        """
        nodes = list(ast.walk(node))
        measured = Counter(map(_length_of_name, nodes))
        others = Counter(n.id for n in nodes if isinstance(n, ast.Name)) - measured
        alike = {
            n for n in measured if n not in others and array_of_common_shape(self.b.env.get(n))
        }
        return sorted(names_read([node]) - alike)

    def extent_of(self, node: ast.expr) -> ArrayRef | None:
        one = array_of_common_shape(self.b.env.get(node.id)) if isinstance(node, ast.Name) else None
        return one or super().extent_of(node)

    def until_one(self, block: Sequence[ast.stmt], k: int) -> int:
        """Where the statements from `k` on end that read such arrays, or what is made here."""
        bound: set[str] = set()
        for s in block[k:]:
            if not (
                self.apart(s)
                or bound & names_read([s])
                or first_ambiguous_array(self.b, self._asked(s))
            ):
                break
            bound |= names_assigned([s])
            k += 1
        return k

    def fork(self, apart: UnionValue, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
        """`block` for each array that a name in it may be."""
        self.b.forks += 1
        self.either_way(deciding_condition(apart.cases), block, block, block[0], live)
        self.b.forks -= 1

    def test(self, node: ast.expr) -> Expr:
        if first_ambiguous_array(self.b, self._asked(node)) is None:
            return super().test(node)
        twice = ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node))
        bound = ast.Assign([ast.Name(_TEST_NAME, ast.Store())], twice)
        copy_location(bound, node)
        self.statements([fix_missing_locations(bound)], frozenset({_TEST_NAME}))
        return super().test(copy_location(ast.Name(_TEST_NAME, ast.Load()), node))


def _length_of_name(n: ast.AST) -> str:
    """The name of the array of which `n` is a length, or all of them; "" for other nodes."""
    match n:
        case ast.Attribute(value=ast.Name(id=name), attr="shape" | "ndim" | "size") | ast.Call(
            func=ast.Name(id="len"), args=[ast.Name(id=name)]
        ):
            return name
    return ""
