"""Environment variables: what each gives, and that an unknown word is an error."""
from __future__ import annotations

import dataclasses

import pytest

from transpile.knobs import KNOBS, Knobs, read


def test_nothing_set_is_the_default() -> None:
    assert read({}) == Knobs()
    assert read({knob.name: "" for knob in KNOBS}) == Knobs()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("TRANSPILE_TARGET", "avx2", Knobs(target="avx2")),
        ("TRANSPILE_DEBUG", "ir, c", Knobs(debug=frozenset({"ir", "c"}))),
        ("TRANSPILE_DUMP", "some/where", Knobs(dump="some/where")),
        ("TRANSPILE_CHECK", "1", Knobs(check=True)),
        ("TRANSPILE_CHECK", "0", Knobs()),
        ("TRANSPILE_SKIP", "hoist, simplify@2", Knobs(skip=frozenset({"hoist", "simplify@2"}))),
        ("TRANSPILE_FALLBACK", "error", Knobs(fallback_is_error=True)),
        ("TRANSPILE_FALLBACK", "python", Knobs()),
        ("TRANSPILE_CACHE", "kept/by/build", Knobs()),
        ("TRANSPILE_THREADS", "4", Knobs()),
        ("TRANSPILE_MACHINE", "48K,2M,32M", Knobs()),
        ("TRANSPILE_MACHINE", "typical", Knobs()),
    ],
)
def test_each_variable(name: str, value: str, expected: Knobs) -> None:
    assert read({name: value, "HOME": "/"}) == expected


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TRANSPILE_DEBUG", "ir,speed", "unknown word 'speed' .known: macros, python, fuse, ir"),
        ("TRANSPILE_CHECK", "yes", "unknown word 'yes'"),
        ("TRANSPILE_FALLBACK", "raise", "unknown word 'raise'"),
        ("TRANSPILE_SKIP", "hoits", "no pass 'hoits'; did you mean 'hoist'?"),
        ("TRANSPILE_SKIP", "hoist, lower", "no pass 'lower'"),  # a stage that cannot be left out
        ("TRANSPILE_SKIP", "hoist@9", "no pass 'hoist@9'; did you mean 'hoist@1'?"),
        ("TRANSPILE_SPEED", "9", "no such variable"),
    ],
)
def test_unknown_words(name: str, value: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: {said}"):
        read({name: value})


@pytest.mark.parametrize("value", ["0", "-1", "many", "2.5", "True"])
def test_a_wrong_number_of_threads(value: str) -> None:
    with pytest.raises(ValueError, match=f"TRANSPILE_THREADS={value}: must be a whole number, at"):
        read({"TRANSPILE_THREADS": value})


@pytest.mark.parametrize("value", ["large", "32K,1M", "8M,1M,32K"])
def test_wrong_sizes_of_caches(value: str) -> None:
    with pytest.raises(ValueError, match=f"TRANSPILE_MACHINE={value}: want typical, or the sizes"):
        read({"TRANSPILE_MACHINE": value})


SHAPES_NO_CODE = {"target", "debug", "dump", "check", "fallback_is_error", "select"}
"""Fields of `Knobs` that do not change generated code, or are in the key of the disk cache."""


def test_each_field_shapes_code_or_does_not() -> None:
    assert not Knobs().shapes_code
    for field in dataclasses.fields(Knobs):
        other = {"skip": frozenset({"hoist"}), "target": "scalar"}.get(field.name, True)
        changed = Knobs(**{field.name: other})  # type: ignore[arg-type]  # of no one type
        assert changed.shapes_code == (field.name not in SHAPES_NO_CODE), field.name
