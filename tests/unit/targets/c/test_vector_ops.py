"""Templates of vector operations: what a section may say is explained at the top of vector.h."""
from __future__ import annotations

import re

import pytest

from targets.c.headers import read_header
from targets.c.vector_ops import _CONDITIONS, _sections, _vector_facts, _with_divisor
from targets.isa.target import Target, Vec
from targets.isa.target_registry import TARGETS

EXPLAINED = set(re.findall(r"\w+", read_header("vector.h").partition("*/")[0]))
VECTORS = [t for t in TARGETS.values() if t.bits]
TEMPLATES = sorted({header for t in VECTORS for header in (*t.headers, "vector.h", "division.h")})


@pytest.mark.parametrize("target", VECTORS, ids=lambda t: t.name)
def test_every_token_is_explained(target: Target) -> None:
    facts = _with_divisor(_vector_facts(Vec("i32", target.lanes("i32")), target), 3)
    assert {*facts.tokens} - EXPLAINED == set()


def test_every_condition_is_explained() -> None:
    assert {*_CONDITIONS} - EXPLAINED == set()


@pytest.mark.parametrize("target", VECTORS, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["f32", "f64", "i8", "u16", "i64"])
def test_the_conditions_that_hold_are_known(target: Target, dtype: str) -> None:
    assert _vector_facts(Vec(dtype, target.lanes(dtype)), target).words <= {*_CONDITIONS}


@pytest.mark.parametrize("header", TEMPLATES)
def test_a_section_has_dtypes(header: str) -> None:
    """A heading of conditions alone would fit no type."""
    for sections in _sections(header).values():
        for section in sections:
            assert [w for w in section.words if w not in _CONDITIONS], (header, section.text)
