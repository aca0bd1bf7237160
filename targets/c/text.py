"""Small pieces of C text."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

__all__ = ["assignments", "bracketed", "plain"]


def plain(text: str) -> str:
    """`text` without the brackets that enclose all of it."""
    return text[1:-1] if _enclosed(text) else text


def bracketed(text: str) -> str:
    """`text` in brackets, once."""
    return text if _enclosed(text) else f"({text})"


def _enclosed(text: str) -> bool:
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return letter == ")" and at == len(text) - 1
    return False


def assignments(
    new: Iterable[tuple[str, str, str]], fresh: Callable[[str], str]
) -> Iterator[str]:
    """(name, C type, value) …, assigned at once: every value sees the old ones."""
    changed = [x for x in new if x[0] != x[2]]
    if len(changed) == 1:
        yield f"{changed[0][0]} = {changed[0][2]};"
        return
    held = [fresh("next") for _ in changed]
    for h, (_, kind, value) in zip(held, changed, strict=True):
        yield f"const {kind} {h} = {value};"
    yield from (f"{name} = {h};" for h, (name, _, _) in zip(held, changed, strict=True))
