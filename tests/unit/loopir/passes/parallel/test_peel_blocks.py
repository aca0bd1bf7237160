"""Peeled blocks: fused loops in blocks give the same as in order; what depends otherwise stays."""
from __future__ import annotations

import random

import numpy as np
import pytest
from example_counts import examples

from loopir.analysis.parallelism import parallel_loops
from loopir.ir_interpreter import run_kernel
from loopir.ir_parser import parse
from loopir.ir_verifier import verify
from loopir.nodes import Kernel, Loop
from loopir.passes.parallel.parallelize import parallelize

HEAD = """
def k(
    t: mut(f64[:, ::1]), new: mut(f64[:, ::1]), u: mut(f64[:, ::1]), n: i64, m: i64
):
    disjoint(t, new)
    disjoint(t, u)
    disjoint(new, u)
    for i in loop(2, n):
"""
JACOBI = "new[i + 1, j] = t[i, j] + t[i + 2, j + 1]\n"
SHARED = {
    "a row later": f"for j in loop(0, m):\n    {JACOBI}    t[i, j] = new[i, j]",
    "in vectors": "for j in vec(0, m, width=W):\n"
    "    new[i + 1, j:W] = t[i, j:W] + t[i + 2, j + 1:W]\n    t[i, j:W] = new[i, j:W]",
    "two loops": f"for j in loop(0, m):\n    {JACOBI}for j_1 in loop(0, m):\n"
    "    t[i, j_1] = new[i, j_1] + t[i, j_1]",
    "a column later": f"for j in loop(1, m):\n    {JACOBI}    t[i, j - 1] = new[i, j]",
    "two arrays": f"for j in loop(0, m):\n    {JACOBI}    u[i, j] = new[i, j]\n"
    "    t[i, j] = new[i, j]",
    "names": "for j in loop(0, m):\n    c = j + 1\n    new[i + 1, c] = t[i, c] + t[i + 2, j]\n"
    "    t[i, c] = new[i, c]",
}
ALONE = {
    "each row needs the one before": f"for j in loop(0, m):\n    {JACOBI}"
    "    t[i, j] = t[i - 1, j] + new[i, j]",
    "the later stores come first": "for j in loop(0, m):\n    t[i, j] = new[i, j]\n"
    "    new[i + 1, j] = t[i, j] + t[i + 2, j + 1]",
    "a later row is overwritten": f"for j in loop(0, m):\n    {JACOBI}    t[i + 1, j] = new[i, j]",
    "the neighbour is overwritten": "for j in loop(1, m):\n"
    "    new[i + 1, j] = t[i, j - 1] + t[i + 2, j]\n    t[i, j] = new[i, j]",
    "read before": "for j in loop(0, m):\n    old = new[i, j]\n"
    "    new[i, j] = t[i, j] + t[i + 1, j]\n    t[i, j] = old",
    "a row that is read far away": f"for j in loop(0, m):\n    {JACOBI}    t[i - 5, j] = new[i, j]",
    "twice the same row": f"for j in loop(0, m):\n    {JACOBI}    t[i // 2, j] = new[i, j]",
}


def kernel(body: str) -> Kernel:
    return parse(HEAD + "        " + body.replace("\n", "\n        ") + "\n")


def is_in_blocks(k: Kernel) -> bool:
    return any(isinstance(n, Loop) and n.var.startswith("i") for n in parallel_loops(k))


def assert_same(serial: Kernel, parallel: Kernel, rows: int) -> None:
    rng = np.random.default_rng(rows)
    arrays = {name: rng.random((rows, 7)) for name in ("t", "new", "u")}
    results = []
    for k in (serial, parallel):
        given = {name: a.copy() for name, a in arrays.items()}
        run_kernel(k, {**given, "n": rows - 4, "m": 5})
        results.append([a.tobytes() for a in given.values()])
    assert results[0] == results[1], rows


@pytest.mark.parametrize("name", SHARED)
def test_shared(name: str) -> None:
    serial = kernel(SHARED[name])
    parallel = parallelize(serial)
    verify(parallel, "vector")
    assert is_in_blocks(parallel)
    assert len([*parallel_loops(parallel)]) == 2
    for rows in (4, 7, 134, 135, 136, 199, 200):
        assert_same(serial, parallel, rows)


@pytest.mark.parametrize("name", ALONE)
def test_alone(name: str) -> None:
    assert not is_in_blocks(parallelize(kernel(ALONE[name])))


def random_body(r: random.Random) -> str:
    """Two or three stores in one or several loops, at random distances."""
    def element(array: str, rows: tuple[int, ...]) -> str:
        return f"{array}[i + {r.choice(rows)}, j + {r.choice((0, 0, 0, 1, 2))}]"

    stores = [
        f"new[i + {r.choice((0, 1, 1, 2))}, j] = {element('t', (0, 1, 2, 3))} + "
        f"{element(r.choice(('t', 't', 'u')), (0, 1, 2, 3))}",
        f"t[i + {r.choice((-1, 0, 0, 0, 1))}, j + {r.choice((0, 0, 1))}] = "
        f"{element('new', (0, 0, 1))} * 0.5",
    ]
    if r.random() < 0.4:
        stores.insert(r.randint(0, 2), f"u[i, j] = {element(r.choice(('new', 't')), (0, 1))}")
    if r.random() < 0.2:
        stores.reverse()
    lines = ["for j in loop(0, m):"]
    for k, store in enumerate(stores):
        if k and r.random() < 0.3:
            lines.append("for j in loop(0, m):")
        if r.random() < 0.2:
            place, value = store.split(" = ")
            lines += [f"    v{k} = {value}", f"    {place} = v{k}"]
        else:
            lines.append(f"    {store}")
    body, count = "\n".join(lines), 0
    while "in loop" in body:  # each loop has a variable of its own
        head, _, rest = body.rpartition("for j in loop")
        body = head + f"for j_{count} in LOOP" + rest.replace("j]", f"j_{count}]").replace(
            "j +", f"j_{count} +")
        count += 1
    return body.replace("LOOP", "loop")


@pytest.mark.share(3)
@pytest.mark.parametrize("part", range(3))
def test_at_random(part: int) -> None:
    """The interpreter runs blocks in another order: rows that depend otherwise would differ."""
    shared = 0
    for seed in range(part, examples(600), 3):
        serial = kernel(random_body(random.Random(seed)))
        parallel = parallelize(serial)
        if is_in_blocks(parallel):
            shared += 1
            assert_same(serial, parallel, random.Random(seed).choice((136, 150, 200)))
    assert shared > 5
