"""The body of a function → statements without ``return``, and the value that they leave."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..macros.context import Context
from ..macros.exits import Structure
from ..macros.ways import exits, leaves

__all__ = ["without_return"]

Body = list[ast.stmt]


def without_return(body: Body, cx: Context) -> tuple[Body, ast.expr]:
    """What `body` does, and what it returns. Raises NotStructured.

        if v < 0:
            return 0.0
        return v
    →
        if v < 0:
            _r = 0.0
        else:
            _r = v
    """
    nothing = ast.copy_location(ast.Constant(None), body[-1])
    if not any("return" in exits(s) for s in body):
        return body, nothing
    if isinstance(body[-1], ast.Return) and not any("return" in exits(s) for s in body[:-1]):
        return body[:-1], body[-1].value or nothing
    returns = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Return)]
    ends = leaves(body)
    names = _names([r.value for r in returns], ends, cx)
    if not ends:
        body = [*body, ast.copy_location(ast.Return(nothing), body[-1])]
    made = _Ending(cx, names)
    new = (None if _in_loop(body) else made.in_place(body)) or made.at_the_end(body)
    values: list[ast.expr] = [ast.Name(n, ast.Load()) for n in names]
    if not names:
        return new, nothing
    tupled = any(map(_is_display, (r.value for r in returns))) and len(names) > 1
    return new, ast.Tuple(values, ast.Load()) if tupled else values[0]


def _names(values: Sequence[ast.expr | None], ends: bool, cx: Context) -> list[str]:
    """A name for the result; one for each of several; none where it is always None."""
    if all(v is None or (isinstance(v, ast.Constant) and v.value is None) for v in values):
        return []
    sizes = {len(v.elts) if _is_display(v) else 0 for v in values}  # type: ignore[union-attr]  # is one
    count = max(sizes) if ends and len(sizes) == 1 else 0
    return [cx.fresh("r") for _ in range(count or 1)]


def _is_display(v: ast.expr | None) -> bool:
    return isinstance(v, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in v.elts)


def _in_loop(body: Sequence[ast.stmt]) -> bool:
    loops = (n for s in body for n in ast.walk(s) if isinstance(n, (ast.For, ast.While)))
    return any("return" in exits(s) for loop in loops for s in loop.body)


class _Ending(Structure):
    """Results of ``names``: bound where they are returned, or at the end if that is in a loop."""

    def __init__(self, cx: Context, names: list[str]) -> None:
        super().__init__(cx)
        self.names = names
        self.done: str | None = None

    def in_place(self, body: Body) -> Body | None:
        """All of `body`, which binds the results wherever it returns; None if what follows has to
        ask whether it did.
        """
        self.done = self.cx.fresh("returned")
        new, done = self.block(body), self.done
        self.done, self.returns = None, []
        asked = (n for s in new for n in ast.walk(s) if isinstance(n, ast.Name))
        asks = any(n.id == done and isinstance(n.ctx, ast.Load) for n in asked)
        return None if asks else _without(done, new)

    def at_the_end(self, body: Body) -> Body:
        """All of `body`, and then what is returned by the way that it was left."""
        *new, last = self.function(body)
        assert isinstance(last, ast.Return)
        tail = self.bind(last)
        if not tail:
            return [s for s in new if not _returns(s)]
        while new and _returns(way := new[-1]):
            assert isinstance(way, ast.If)
            assert isinstance(way.body[0], ast.Return)
            tail = [ast.copy_location(ast.If(way.test, self.bind(way.body[0]), tail), way)]
            new.pop()
        return [*new, *tail]

    def flag(self, s: ast.stmt) -> str:
        if self.done is None or not isinstance(s, ast.Return):
            return super().flag(s)
        self.returns.append((self.done, s))
        return self.done

    def leave(self, s: ast.stmt) -> Body:
        placed = isinstance(s, ast.Return) and self.done is not None
        return [*(self.bind(s) if placed else []), *super().leave(s)]  # type: ignore[arg-type]  # is one

    def bind(self, s: ast.Return) -> Body:
        """The result of `s` in its names."""
        self.cx.at = s
        values = [s.value or ast.Constant(None)]
        if len(self.names) > 1:
            assert isinstance(s.value, ast.Tuple)
            values = s.value.elts
        pairs = zip(self.names, values, strict=False)
        return [line for n, v in pairs for line in self.cx.code("NAME = E", NAME=n, E=v)]


def _returns(s: ast.stmt) -> bool:
    return isinstance(s, ast.If) and isinstance(s.body[0], ast.Return)


def _without(name: str, block: Body) -> Body:
    """`block` without the assignments of `name`, which nothing reads."""
    out: Body = []
    for s in block:
        match s:
            case ast.Assign(targets=[ast.Name(id=bound)]) if bound == name:
                continue
            case ast.If():
                s.body = _without(name, s.body) or [ast.copy_location(ast.Pass(), s)]
                s.orelse = _without(name, s.orelse)
        out.append(s)
    return out
