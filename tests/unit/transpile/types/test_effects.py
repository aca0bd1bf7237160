"""The effect row of a statement, whether or not names mean what they look like."""
from __future__ import annotations

import ast
import logging
import math
import random
import sys
import time

import numpy as np
import pytest

from transpile.frontend.name_resolution import Scope
from transpile.types.effects import PURE, Effect, effects
from transpile.types.value_types import ArrayType, Opaque

RNG, IO, RAISES = {Effect.RNG}, {Effect.IO}, {Effect.RAISES}
MUTATES, UNKNOWN = {Effect.MUTATES}, {Effect.UNKNOWN}

generator = np.random.default_rng(0)
dice = random.Random(0)
log = logging.getLogger(__name__)


def helper(x):
    return x


USED = (math, time, sys)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("y = x + 1", PURE),
        ("y = x[i] / z", PURE),
        ("y = math.sqrt(x) + np.exp(x) + abs(min(x, 2))", PURE),
        ("y = np.float32(x) + np.where(x > 0, x, 0) + len(x)", PURE),
        ("for i in range(len(x)): s = x[i]", PURE),
        ("y = [v for v in x if v]", PURE),
        ("y = x.sum() + x.copy()", PURE),
        ("y = np.zeros(3)", PURE),
        ("x[i] = 1", MUTATES),
        ("x.f = 1", MUTATES),
        ("del x[0]", MUTATES),
        ("x += 1", MUTATES),
        ("y.append(1)", MUTATES),
        ("global y", MUTATES),
        ("raise ValueError('no')", RAISES),
        ("assert x", RAISES),
        ("y = np.random.rand(3)", RNG),
        ("y = np.random.normal()", RNG),
        ("y = random.random()", RNG),
        ("y = random.choice(x)", RNG),
        ("y = generator.normal()", RNG),
        ("y = dice.gauss(0, 1)", RNG),
        ("y = np.random.default_rng(1)", RNG),
        ("print(x)", IO),
        ("y = input()", IO),
        ("open('f')", IO),
        ("logging.info('x')", IO),
        ("log.info('x')", IO),
        ("sys.stdout.write('x')", IO),
        ("y = time.perf_counter()", IO),
        ("helper(x)", UNKNOWN),
        ("x.foo()", UNKNOWN),
        ("x(1)", UNKNOWN),
        ("f()(1)", UNKNOWN),
        ("nowhere(x)", UNKNOWN),
        ("np.seterr(all='raise')", UNKNOWN),
        ("exec('x = 1')", UNKNOWN),
        ("y = yield x", UNKNOWN),
        ("import os", UNKNOWN),
        ("x[print(i)] = random.random()", MUTATES | IO | RNG),
    ],
)
def test_row(text, wanted):
    scope = Scope(local=frozenset("xyzis"), globals=globals())
    (stmt,) = ast.parse(text).body
    assert effects(stmt, scope) == wanted


def test_names_mean_what_they_are_bound_to():
    statement = ast.parse("y = sqrt(print(x))").body[0]
    scope = Scope(local=frozenset("xy"), globals={"sqrt": random.random, "print": math.sqrt})
    assert effects(statement, scope) == RNG


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("y = rng.normal()", RNG),
        ("y = thing.sum()", UNKNOWN),
        ("y = x.sum()", PURE),
        ("x.sort()", MUTATES),
        ("x.tofile('f')", UNKNOWN),
    ],
)
def test_arguments_are_what_their_types_say(text, wanted):
    arguments = {
        "rng": Opaque("numpy.random.Generator", is_generator=True),
        "thing": Opaque("app.Thing"),
        "x": ArrayType("f64", 1, 0),
    }
    scope = Scope(local=frozenset({*arguments, "y"}), globals=globals())
    (stmt,) = ast.parse(text).body
    assert effects(stmt, scope, arguments) == wanted
