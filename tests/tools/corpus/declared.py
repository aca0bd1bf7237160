"""Kinds of arguments that a function's author wrote down: signatures for the compiler, annotations.

`Kind` and its letters: see `inputs`.
"""
from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

__all__ = ["annotated", "of_signature", "signature"]

_SCALARS = {"i": "i", "u": "i", "f": "f", "d": "f", "b": "b", "c": "c"}
_TYPE = re.compile(
    r"^(?:numba\.|nb\.|types\.|numba\.types\.)?"
    r"(?P<name>u?int\w*|intp|float\w*|double|bool\w*|complex\w*|[iufc]\d+|b1)"
    r"(?P<axes>\[[^\]]*\])?$"
)


def signature(decorators: list[ast.expr]) -> tuple[str, ...] | None:
    """The kinds of all arguments, of the last signature that a decorator names; outputs of
    generalised ufuncs that are no arrays of the layout have one element: ``o1``.
    """
    texts = [ast.unparse(d) for d in decorators]
    layout = next((m[0] for t in texts for m in re.finditer(r"[(][\w, ()]*[)]->[\w,()]+", t)), "")
    found = [kinds for d in decorators for kinds in _signatures(d)]
    if not found:
        return None
    ranks = [len([n for n in dims.split(",") if n]) for dims in re.findall(r"\(([^)]*)\)", layout)]
    kinds = found[-1]
    if ranks and len(ranks) == len(kinds):
        kinds = tuple(
            "o1" if k[:1] in "akm" and not r else k for k, r in zip(kinds, ranks, strict=True)
        )
    return kinds


def _signatures(decorator: ast.expr) -> Iterator[tuple[str, ...]]:
    """Those that stand in the arguments of a decorator, as text or as expressions."""
    if not isinstance(decorator, ast.Call):
        return
    for node in (n for a in decorator.args for n in ast.walk(a)):
        match node:
            case ast.Constant(value=str(text)) if "(" in text and "->" not in text:
                yield from of_signature(text)
            case ast.Call() | ast.Tuple():
                yield from of_signature(ast.unparse(node))
            case _:
                pass


def of_signature(text: str) -> Iterator[tuple[str, ...]]:
    """The kinds of ``float64(int32[:], f8)`` or ``(f8[:], f8)``; none where a type is unknown."""
    inner = text[text.find("(") + 1 : text.rfind(")")]
    kinds = [_kind(part.strip()) for part in re.split(r",(?![^\[]*\])", inner) if part.strip()]
    if kinds and all(kinds):
        yield tuple(k for k in kinds if k)


def _kind(text: str) -> str | None:
    found = _TYPE.match(text)
    if found is None:
        return None
    letter = _SCALARS[found["name"][0]]
    if not found["axes"]:
        return letter
    return {"i": "k", "b": "m"}.get(letter, "a") + str(found["axes"].count(":") - (
        "::1" in found["axes"]))


def annotated(parameter: inspect.Parameter, doc: str) -> Iterator[str]:
    """What an annotation, a default or the documentation says of a parameter."""
    written = parameter.annotation
    text = written if isinstance(written, str) else getattr(written, "__name__", "")
    if rank := re.search(r"[Aa]rray([1-4])d|ndim=([1-4])", text):
        yield f"a{rank[1] or rank[2]}"
    elif text and written is not inspect.Parameter.empty:
        yield from _word(text)
    told = re.search(rf"^[ \t]*{re.escape(parameter.name)} ?:(.*(?:\n.*)?)", doc, re.MULTILINE)
    if told is not None:
        yield from _told(told[1])
    for kind_of, kind in ((bool, "b"), (int, "i"), (float, "f")):
        if isinstance(parameter.default, kind_of):
            yield kind
            return


def _told(text: str) -> Iterator[str]:
    shape = re.search(r"shape *[=:]? *`*\(([^)]*)\)", text)
    if shape is not None:
        rank = len([n for n in shape[1].split(",") if n.strip()])
        yield f"a{min(max(rank, 1), 4)}"
    elif rank := re.search(r"\b([1-4])-?[dD]\b", text):
        yield f"a{rank[1]}"
    elif "array" not in text:
        yield from _word(text)


def _word(text: str) -> Iterator[str]:
    for word, kind in (("bool", "b"), ("float", "f"), ("int", "i")):
        if re.search(rf"\b{word}\b", text):
            yield kind
            return
