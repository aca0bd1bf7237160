"""Programs on lists of tuples that are made by comprehensions, or grow, and are taken apart."""
# ruff: noqa: PERF401 (programs as people write them)
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Rng, program, whole


def vector(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n, rng, np.float64),)


def on_tuples(first: int = 0) -> Any:
    return program(sizes=(first, first + 1, 9, 17), f64=vector)


@on_tuples(1)
def pairs_of_rows(x):
    pairs = [(i, j) for i in range(len(x)) for j in range(i + 1, len(x)) if x[i] < x[j]]
    total = 0.0
    for i, j in pairs:
        total += x[i] * x[j]
    return total, len(pairs), pairs


@on_tuples()
def items_of_items(x):
    pairs = [(v, 2 * i) for i, v in enumerate(x)]
    total = 0.0
    for k in range(len(pairs)):
        total += pairs[k][0] * pairs[k][1] + pairs[-1][-1]
    return total


@on_tuples()
def weighted_edges(x):
    edges = []
    for i in range(len(x) - 1):
        edges.append((i, i + 1, x[i]))
    total = 0.0
    for a, b, weight in edges:
        total += weight * (b + a)
    return total, len(edges)


@on_tuples(1)
def lists_of_one_of(x):
    steps = [(i, i + 1) for i in range(len(x) - 1)]
    rises = [x[b] - x[a] for a, b in steps]
    first = [a for a, _ in steps]
    return rises, first, sum(x[a] * x[b] for a, b in steps)


@on_tuples(1)
def the_best_tuple(x):
    marks = [(v, i) for i, v in enumerate(x)]
    best = marks[0]
    for mark in marks:
        if mark[0] > best[0]:
            best = mark
    return best, max(v - i for v, i in marks)


@on_tuples(1)
def tuples_of_tuples(x):
    places = [(i, j) for i in range(len(x)) for j in range(3)]
    moved = [(a + 1, b) for a, b in places if a != b]
    total = 0.0
    for k, (i, j) in enumerate(moved):
        total += x[i - 1] * j + k
    return moved, total


@on_tuples()
def in_reverse(x):
    marks = [(v, i) for i, v in enumerate(x)]
    for v, i in reversed(marks):
        if v > 0:
            return i
    return -1


@on_tuples()
def made_in_each_turn(x):
    out = []
    for i in range(len(x)):
        before = [(x[j], j) for j in range(i)]
        total = 0.0
        for v, j in before:
            total += v * j
        out.append(total)
    return out


@on_tuples()
def twice_at_once(x):
    marks = [(i, v) for i, v in enumerate(x)]
    count = 0
    for i, v in marks:
        if v < 0:
            continue
        for j, w in marks:
            if j > i and w > v:
                count += 1
    return count


@on_tuples()
def taken_from_the_end(x):
    marks = [(i, v) for i, v in enumerate(x)]
    marks.append((len(x), 0.5))
    total = 0.0
    while marks:
        i, v = marks.pop()
        total += i * v
    return total


@on_tuples()
def swapped_under_its_own_name(x):
    a, b = 0, 1.0
    marks = [(a + i, b * v) for i, v in enumerate(x)]
    for i in range(len(marks)):
        b, a = marks[i]
        a = a + marks[b][0]
    return a, b


@on_tuples()
def taken_back_in_turn(x):
    left = np.float64(3)
    picked = []
    for i in range(len(x), 0, -1):
        if x[i - 1] != left:
            picked.append(i - 1)
            left -= x[i - 1]
    rises = []
    for v in x:
        if v > 0:
            rises.append(v)
    return left, picked[::-1], rises[::-1]
