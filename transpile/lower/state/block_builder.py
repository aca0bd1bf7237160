"""Block builder: the statements being emitted, and names for the values they compute."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace

from loopir.analysis.affine import LinearForm
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record
from loopir.nodes import Assign, Call, Check, Const, Dim, Expr, Load, Span, Stmt, Store, Var

from ...types.typed_values import Num
from .value_ranges import ValueRanges

__all__ = ["BlockBuilder"]


@record
class BlockBuilder(ValueRanges):
    """``names``: all that the kernel has. ``values``: what those that were bound stand for.
    ``here``: the place of what is being lowered.
    """

    block: list[Stmt] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    values: dict[str, Expr] = field(default_factory=dict)
    here: Span | None = None

    @contextmanager
    def into(self, block: list[Stmt]) -> Iterator[None]:
        """Statements go to `block`."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    def name(self, hint: str) -> str:
        """A name that the kernel does not have yet."""
        base = hint.lstrip("_#") or "t"
        base = base if base[0].isalpha() else f"v{base}"
        out, k = base, 0
        while out in self.names:
            k += 1
            out = f"{base}_{k}"
        self.names.add(out)
        return out

    def emit(self, stmt: Stmt) -> None:
        self.block.append(stmt)

    def bind(self, e: Expr, hint: str = "t") -> Expr:
        """`e` under a name, so that using it twice does not compute it twice."""
        if isinstance(e, (Const, Var, Dim)):
            return e
        name = self.name(hint)
        value = replace(e, span=self.here) if isinstance(e, Call) and e.span is None else e
        self.emit(Assign(name, value, span=self.here))
        self.values[name] = e
        return Var(name, e.dtype)

    def once(self, e: Expr, hint: str) -> Expr:
        """`e` under the name that it has just been given, else under a new one."""
        for s in reversed(self.block if not any(isinstance(n, Load) for n in walk(e)) else []):
            match s:
                case Assign(name=name, value=value) if value == e:
                    return Var(name, e.dtype)
                case Assign() | Check() | Store():
                    continue
            break
        return self.bind(e, hint)

    def linear_atom(self, e: Expr) -> LinearForm:
        """As of `ValueRanges`; the name of a sum or a multiple stands for that."""
        value = self.values.get(e.name) if isinstance(e, Var) else None
        if isinstance(value, Call) and value.op in ("add", "sub", "mul"):
            return self.linear(value)
        return super().linear_atom(e)

    def rebind(self, n: Num, hint: str) -> Num:
        """`n` under a name of its own; a Python int keeps its linear form."""
        e = self.bind(n.ir, hint)
        if e is not n.ir and n.python_int and n.linear is None:
            return self.integer_num(e, n.interval)
        return replace(n, ir=e)
