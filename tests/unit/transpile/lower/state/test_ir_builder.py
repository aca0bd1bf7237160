"""A trial restores all of a builder, and keeps its containers the same objects."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from loopir.nodes import Assign, Const, Var
from transpile.lower.state.ir_builder import IRBuilder


def _containers(state: Any) -> Iterator[tuple[str, Any]]:
    """Every list, dict and set in a builder, with its name."""
    for f in fields(state):
        value = getattr(state, f.name)
        if is_dataclass(value):
            yield from ((f"{f.name}.{name}", c) for name, c in _containers(value))
        elif isinstance(value, (list, dict, set)):
            yield f.name, value


def test_a_snapshot_has_every_container() -> None:
    b = IRBuilder()
    kept = {id(container) for container, _ in b.snapshot().contents}
    assert [name for name, c in _containers(b) if id(c) not in kept] == []


def _fields(state: Any) -> Iterator[tuple[Any, str]]:
    """Every field of a builder and of its state records, with the record that has it."""
    for f in fields(state):
        value = getattr(state, f.name)
        yield from _fields(value) if is_dataclass(value) else [(state, f.name)]


def test_a_trial_restores_every_field_but_what_it_is_to_tell() -> None:
    b = IRBuilder()
    before = [(record, name, getattr(record, name)) for record, name in _fields(b)]
    with b.trial():
        for record, name, _ in before:
            setattr(record, name, "changed")
    changed = {name for record, name, value in before if getattr(record, name) is not value}
    assert changed == {"forbidding_mattered", "rounds_otherwise"}


def test_a_trial_is_dropped() -> None:
    b = IRBuilder()
    block, env = b.block, b.env
    with b.trial():
        b.bind(Var("x", "f64"))
        b.emit(Assign("y", Const(1.0, "f64")))
        b.names.add("y")
        b.path.branches += 1
        b.path.used_where = Var("c", "bool")
    assert (b.block, b.names, b.path.branches, b.path.used_where) == ([], set(), 0, None)
    assert b.block is block
    assert b.env is env


def test_a_trial_that_holds_is_kept() -> None:
    b = IRBuilder()
    with b.trial() as trial:
        b.emit(Assign("y", Const(1.0, "f64")))
        trial.keep = True
    assert len(b.block) == 1
