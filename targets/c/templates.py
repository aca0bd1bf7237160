"""C templates: sections of prelude.h, vector.h and a target's own headers, filled in for a type."""
from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from loopir.record import record

from .headers import header

__all__ = ["Facts", "fill"]

_CONDITIONS = (
    "lanes", "bits", "narrow", "wide", "fused", "fits", "split", "permutes", "power",
    "128", "256", "512",
)
_WORD = rf"(?:[biufm]+|[iuf]\d+|{'|'.join(_CONDITIONS)})"
_HEAD = re.compile(rf"^/\* ({_WORD}(?: {_WORD})*)(?::.*)? \*/$", re.MULTILINE)
_DEFINED = re.compile(r"\b(tp_\w+)_[A-Z]+\(")


@record(frozen=True, slots=True)
class Facts:
    """What a section's heading is compared with: a dtype (``"m"``: a mask of bits) and words."""

    dtype: str
    words: frozenset[str]
    tokens: Mapping[str, str]


@record(frozen=True, slots=True)
class _Section:
    """The text under a heading of these words."""

    words: tuple[str, ...]
    text: str

    def fits(self, facts: Facts) -> bool:
        conditions = [w for w in self.words if w in _CONDITIONS]
        kinds = [w for w in self.words if w not in _CONDITIONS]
        right = any(w == facts.dtype or (w.isalpha() and facts.dtype[0] in w) for w in kinds)
        return right and facts.words.issuperset(conditions)


def fill(file: str, name: str, facts: Facts) -> str | None:
    """The first section of `file` that defines `name` and fits, filled in; or None."""
    for section in _sections(file).get(name, ()):
        if section.fits(facts):
            return _filled(section.text, facts.tokens)
    return None


@cache
def _sections(file: str) -> dict[str, list[_Section]]:
    """The sections of a template by the names they define, in order."""
    found: dict[str, list[_Section]] = {}
    parts = _HEAD.split(header(file))
    for words, body in zip(parts[1::2], parts[2::2], strict=True):
        defined = _DEFINED.search(body)
        assert defined, f"{file}: nothing after {words}"
        found.setdefault(defined[1], []).append(_Section(tuple(words.split()), body.strip()))
    return found


def _filled(text: str, tokens: Mapping[str, str]) -> str:
    """Long tokens may stand inside a name, short ones between underscores or alone."""
    text = _pattern(tuple(tokens)).sub(lambda m: tokens[m[0]], text)
    for word, count in (("EACH(", 1), ("HALF(", 2)):
        while word in text:
            text = _repeated(text, word, int(tokens["L"]) // count)
    return text


@cache
def _pattern(tokens: tuple[str, ...]) -> re.Pattern[str]:
    inside = [re.escape(x) for x in tokens if len(x) > 3 or not x.isalpha()]
    alone = [x for x in tokens if len(x) <= 3 and x.isalpha()]
    names = "|".join(sorted(alone, key=len, reverse=True))
    return re.compile("|".join([*inside, f"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])"]))


def _repeated(text: str, word: str, count: int) -> str:
    """The first ``EACH(x)`` replaced by x for k = 0 … count-1."""
    start = text.index(word) + len(word)
    depth, end = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    each = (re.sub(r"\bk\b", str(k), text[start : end - 1]) for k in range(count))
    return text[: start - len(word)] + ", ".join(each) + text[end:]
