"""What a condition says of integers: linear forms that are not negative where it holds."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from loopir.nodes import Call, Expr, Var

from ..ranges import Linear

__all__ = ["implied"]

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq", "eq": "ne"}
_ONE = Linear({}, 1)


def implied(
    cond: Expr, linear: Callable[[Expr], Linear], values: Mapping[str, Expr], holds: bool = True
) -> Iterator[Linear]:
    """Those that are at least 0 where `cond` holds, or where it does not.

    ``values`` says what stands under a name.
    """
    match cond:
        case Var(name) if name in values:
            yield from implied(values[name], linear, values, holds)
        case Call("not", (inner,)):
            yield from implied(inner, linear, values, not holds)
        case Call("and" | "or" as op, (p, q)) if (op == "and") == holds:
            yield from implied(p, linear, values, holds)
            yield from implied(q, linear, values, holds)
        case Call(op, (p, q)) if op in _OPPOSITE and p.dtype == "i64":
            more = linear(p) - linear(q)
            match op if holds else _OPPOSITE[op]:
                case "gt":
                    yield more - _ONE
                case "ge":
                    yield more
                case "lt":
                    yield more * -1 - _ONE
                case "le":
                    yield more * -1
                case "eq":
                    yield from (more, more * -1)
        case _:
            return
