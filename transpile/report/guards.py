"""What is tested before the first store, in the words of the source."""
from __future__ import annotations

from collections.abc import Mapping

from loopir.nodes import Disjoint, Guard, Kernel, Span
from loopir.text import show

__all__ = ["guard_texts", "segment"]

_PHRASES: dict[str, str] = {
    "GUARD_BOUNDS": "`{}` is within its array",
    "GUARD_DIVISION": "`{}` does not divide by zero",
    "GUARD_INT_RANGE": "`{}` fits its integers",
    "GUARD_EMPTY": "`{}` has a value",
    "GUARD_SHAPE": "the arrays of `{}` fit",
    "GUARD_RAISES": "`{}` does not raise",
}


def guard_texts(kernel: Kernel, source: Mapping[int, str]) -> tuple[str, ...]:
    """A sentence for each guard, once."""
    return tuple(dict.fromkeys(_text(guard, source) for guard in kernel.guards))


def _text(guard: Guard | Disjoint, source: Mapping[int, str]) -> str:
    match guard:
        case Disjoint(a, b, or_same):
            return f"`{a}` and `{b}` share no memory{' or are one array' * or_same}"
        case Guard(cond, code, span=span):
            said = segment(span, source) if span else None
            return _PHRASES.get(code, code + " at `{}`").format(said) if said else show(cond)


def segment(span: Span, source: Mapping[int, str]) -> str | None:
    """The text at `span`; None where it has several lines, or none."""
    line = source.get(span.line, "") if span.line == span.end_line else ""
    return line.encode()[span.col : span.end_col].decode(errors="replace").strip() or None
