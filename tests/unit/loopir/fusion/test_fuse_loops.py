"""Fusion keeps the meaning: what must fuse, what the fused loop looks like, known miscompiles."""
from __future__ import annotations

import pytest
from fusing import codes, fused, kernel, nest, plainly

from loopir.ir_printer import parse, show
from loopir.ir_traversal import walk
from loopir.nodes import Kernel, Loop

MUST_FUSE = {
    "producer and consumer": """
for i in loop(0, n):
    t[i] = a[i] * 2.0
for j in loop(0, n):
    out[j] = t[j] + 1.0
""",
    "the same array, the same map": """
for i in loop(0, n):
    out[i] = a[i] * 2.0
for i in loop(0, n):
    out[i] = out[i] + b[i]
""",
    "a chain": """
for i in loop(0, n):
    t[i] = a[i] * 2.0
for i in loop(0, n):
    t[i] = t[i] + b[i]
for i in loop(0, n):
    out[i] = t[i] * t[i]
for i in loop(0, n):
    b[i] = out[i] - 1.0
""",
    "two folds": """
for i in loop(0, n, s=0.0):
    s = step(s + a[i])
for i in loop(0, n, p=1.0):
    p = step(max(p, a[i]))
out[0] = s
out[1] = p
""",
    "a map and a fold": """
for i in loop(0, n):
    t[i] = a[i] * 2.0
for i in loop(0, n, s=0.0):
    s = step(s + t[i])
out[0] = s
""",
    "an element read after it was written": """
for i in loop(0, n):
    t[i + 1] = a[i] * 2.0
for i in loop(0, n):
    out[i] = t[i] + t[i + 1]
""",
    "c[i] += …, then c[i] - c[i - 1]": """
for i in loop(0, n):
    t[i + 1] = t[i + 1] + a[i]
for i in loop(0, n):
    out[i] = t[i + 1] - t[i]
""",
    "an element read before it is written": """
for i in loop(0, n):
    out[i] = t[i + 1] + t[i]
for i in loop(0, n):
    t[i] = 0.0
""",
    "a fold loads what the second loop overwrites": """
for i in loop(0, n, s=0.0):
    s = step(s + a[i])
for i in loop(0, n):
    a[i] = 0.0
out[0] = s
""",
    "a conditional write, then a read": """
for i in loop(0, n):
    if a[i] > 0.0:
        t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i] + 1.0
""",
    "a write in both branches, then a read": """
for i in loop(0, n):
    if a[i] > 0.0:
        t[i] = a[i]
    else:
        t[i] = b[i] * 2.0
for i in loop(0, n):
    out[i] = t[i] + 1.0
""",
    "a write, a conditional write, a read": """
for i in loop(0, n):
    t[i] = b[i]
for i in loop(0, n):
    if a[i] > 0.0:
        t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i] + 1.0
""",
    "a read under the condition of the write": """
for i in loop(0, n):
    if a[i] > 0.0:
        t[i] = a[i]
for i in loop(0, n):
    if a[i] > 0.0:
        out[i] = t[i]
""",
    "an accumulator changed in both branches": """
for i in loop(0, n, s=5.0):
    if a[i] > 0.0:
        u = give(s + a[i])
    else:
        u = give(s - 1.0)
    t[i] = u
    s = step(u)
for i in loop(0, n, r=0.0):
    out[i] = t[i]
    r = step(r + t[i])
""",
    "a conditional += with a non-zero start": """
for i in loop(0, n, s=5.0):
    s = step(select(a[i] > 0.0, s + a[i], s))
for i in loop(0, n, r=7.0):
    r = step(select(a[i] > 0.0, r * 2.0, r))
out[0] = s
out[1] = r
""",
    "strided reads that never meet the writes": """
for i in loop(0, n):
    a[i * 2] = b[i]
for i in loop(0, n):
    out[i] = a[i * 2 + 1]
""",
    "the halves of an array": """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i + n]
""",
    "farther apart than the loop is long": """
for i in loop(0, 4):
    t[i] = a[i]
for i in loop(0, 4):
    out[i] = t[i + 4]
""",
    "a step-3 loop": """
for i in loop(range(0, n, 3)):
    t[i] = a[i]
for i in loop(range(0, n, 3)):
    out[i] = t[i] * 2.0
""",
    "a value carried from the previous iteration": """
for i in loop(0, n, last=0.0):
    t[i] = last
    last = step(a[i])
for i in loop(0, n):
    out[i] = t[i] - a[i]
""",
    "a scalar between, not of the first loop": """
for i in loop(0, n):
    t[i] = a[i]
c = b[0] * 2.0
for i in loop(0, n):
    out[i] = t[i] * c
""",
    "a result of the first loop stored between": """
for i in loop(0, n, s=0.0):
    s = step(s + a[i])
half = s * 0.5
b[0] = half
for i in loop(0, n):
    out[i] = a[i]
""",
    "the second loop binds a name of the first": """
for i in loop(0, n):
    x = a[i] * 2.0
    t[i] = x
for j in loop(0, n):
    x = t[j] + 1.0
    out[j] = x
""",
}


@pytest.mark.parametrize("name", MUST_FUSE)
def test_must_fuse(name: str) -> None:
    k = kernel(MUST_FUSE[name], same=False)
    with plainly():
        f = fused(k)
    loops = sum(isinstance(n, Loop) for n in walk(k))
    assert (f.fused, f.rejections) == (loops - 1, ())
    assert sum(isinstance(n, Loop) for n in walk(f.kernel)) == 1


@pytest.mark.parametrize("name", MUST_FUSE)
def test_any_two_arrays_may_be_one(name: str) -> None:
    fused(kernel(MUST_FUSE[name]))


def body(k: Kernel) -> str:
    """The text below the guards."""
    lines = show(k).split("\n")[1:]
    return "\n".join(x[4:] for x in lines if not x.startswith(("    disjoint", "    guard")))


def test_a_value_stored_and_loaded_stays_in_a_register() -> None:
    f = fused(kernel(MUST_FUSE["producer and consumer"]), temporaries=frozenset())
    assert body(f.kernel) == (
        "for i in loop(0, n):\n"
        "    t_here = a[i] * 2.0\n"
        "    t[i] = t_here\n"
        "    out[i] = t_here + 1.0\n"
    )


def test_a_temporary_is_contracted() -> None:
    f = fused(kernel(MUST_FUSE["a chain"]), temporaries=frozenset({"t"}))
    assert f.contracted == ("t",)
    assert "t" not in {p.name for p in f.kernel.params}
    assert body(f.kernel) == (
        "for i in loop(0, n):\n"
        "    t_here = a[i] * 2.0\n"
        "    t_here_1 = t_here + b[i]\n"
        "    out_here = t_here_1 * t_here_1\n"
        "    out[i] = out_here\n"
        "    b[i] = out_here - 1.0\n"
    )


@pytest.mark.parametrize(
    "name",
    [
        "an element read after it was written",
        "a conditional write, then a read",
        "a read under the condition of the write",
    ],
)
def test_a_temporary_that_is_still_read_stays(name: str) -> None:
    f = fused(kernel(MUST_FUSE[name]), temporaries=frozenset({"t"}))
    assert f.contracted == ()


@pytest.mark.parametrize(
    "name", ["a write in both branches, then a read", "a write, a conditional write, a read"]
)
def test_a_temporary_written_on_every_path_is_contracted(name: str) -> None:
    f = fused(kernel(MUST_FUSE[name]), temporaries=frozenset({"t"}))
    assert f.contracted == ("t",)


def test_a_temporary_whose_length_is_used_keeps_its_place() -> None:
    k = kernel(
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i] + f64(t.shape[0])
"""
    )
    f = fused(k, temporaries=frozenset({"t"}))
    assert f.contracted == ()
    assert " t[i]" not in body(f.kernel)


def test_a_store_that_is_overwritten_goes() -> None:
    f = fused(kernel(MUST_FUSE["the same array, the same map"], same=False))
    assert show(f.kernel).count("out[i] =") == 1


def test_an_overwritten_division_is_still_done() -> None:
    k = kernel(
        """
for i in loop(0, n):
    out[i] = 1.0 / a[i]
for i in loop(0, n):
    out[i] = 2.0
"""
    )
    assert "1.0 / a[i]" in show(fused(k).kernel)


def test_a_float32_temporary_rounds() -> None:
    k = parse(
        """
def k(n: i64, a: f64[::1], t: mut(f32[::1]), out: mut(f64[::1])):
    disjoint(a, t)
    disjoint(a, out)
    disjoint(t, out)
    for i in loop(0, n):
        t[i] = f32(a[i] / 3.0)
    for i in loop(0, n):
        out[i] = f64(t[i])
"""
    )
    f = fused(k, temporaries=frozenset({"t"}))
    assert f.contracted == ("t",)
    assert "f32(a[i] / 3.0)" in show(f.kernel)


def test_a_store_between_may_be_to_the_same_memory() -> None:
    """`a` may be `t`: the load of t[i] after the store to a[i] is not the value stored before."""
    k = kernel(
        """
for i in loop(0, n):
    t[i] = b[i] * 2.0
    a[i] = 1.0
for i in loop(0, n):
    out[i] = t[i]
"""
    )
    f = fused(k)
    assert f.fused == 1
    assert "out[i] = t[i]" in show(f.kernel)


def test_one_name_for_two_values() -> None:
    """Both branches call what they store `v`; it is not one value after them."""
    k = kernel(
        """
for i in loop(0, n):
    if a[i] > 0.0:
        v = a[i] * 2.0
        t[i] = v
    else:
        v = b[i] * 3.0
        t[i] = v
for i in loop(0, n):
    out[i] = t[i] + 1.0
""",
        same=False,
    )
    assert fused(k, temporaries=frozenset({"t"})).contracted == ("t",)


def test_a_count_is_another_element_after_an_append() -> None:
    k = kernel(
        """
for i in loop(0, n, c=0):
    t[c] = 1.0
    append(out, c, a[i])
    t[c] = 2.0
for i in loop(0, n):
    b[i] = a[i]
""",
        same=False,
    )
    f = fused(k)
    assert f.fused == 1
    assert show(f.kernel).count("t[c] =") == 2


def test_lists_are_built_side_by_side() -> None:
    k = kernel(
        """
for i in loop(0, n, c=0):
    if a[i] > 0.0:
        append(t, c, a[i])
for i in loop(0, n, d=0):
    if b[i] > 0.0:
        append(out, d, b[i])
out[0] = f64(c)
out[1] = f64(d)
""",
        same=False,
    )
    assert fused(k).fused == 1


# -- nests


def test_a_nest_joins_a_nest_whose_variables_are_swapped() -> None:
    k = nest(
        """
for i in loop(0, n):
    for j in loop(0, n):
        t[i, j] = a[i, j] * 2.0
for j in loop(0, n):
    for i in loop(0, n):
        out[j, i] = t[j, i] + 1.0
"""
    )
    f = fused(k, temporaries=frozenset({"t"}))
    assert (f.fused, f.rejections, f.contracted) == (1, (), ("t",))
    assert body(f.kernel) == (
        "for i in loop(0, n):\n"
        "    for j in loop(0, n):\n"
        "        t_here = a[i, j] * 2.0\n"
        "        out[i, j] = t_here + 1.0\n"
    )


def test_three_nests() -> None:
    k = nest(
        """
for i in loop(0, n):
    for j in loop(0, n):
        t[i, j] = a[i, j] * 2.0
for i in loop(0, n):
    for j in loop(0, n):
        t[i, j] = t[i, j] + 1.0
for i in loop(0, n):
    for j in loop(0, n):
        out[i, j] = t[i, j] * t[i, j]
"""
    )
    f = fused(k)
    assert (f.fused, f.rejections) == (2, ())
    assert sum(isinstance(n, Loop) for n in walk(f.kernel)) == 2


def test_the_row_above_may_be_read_and_the_row_below_not() -> None:
    text = """
for i in loop(0, n):
    for j in loop(0, n):
        t[i + 1, j] = a[i, j] * 2.0
for i in loop(0, n):
    for j in loop(0, n):
        out[i, j] = t[{}, j + 1]
"""
    above = fused(nest(text.format("i"), same=False))
    assert (above.fused, above.rejections) == (1, ())
    k = nest(text.format("i + 2"), same=False)
    with plainly():
        below = fused(k)
    assert (below.fused, codes(below)) == (0, {"DEPENDENCE"})
    assert fused(k).fused == 1  # a row late


def test_rows_join_where_columns_may_not() -> None:
    k = nest(
        """
for i in loop(0, n):
    for j in loop(0, n):
        t[i, j] = a[i, j] * 2.0
for i in loop(0, n):
    for j in loop(0, n):
        out[i, j] = t[i, j + 1]
"""
    )
    f = fused(k)
    assert (f.fused, codes(f)) == (1, {"DEPENDENCE"})
    assert sum(isinstance(n, Loop) for n in walk(f.kernel)) == 3


def test_a_fold_of_each_row_and_its_use() -> None:
    k = nest(
        """
for i in loop(0, n):
    for j in loop(0, n, s=0.0):
        s = step(s + a[i, j])
    r[i] = s
for i in loop(0, n):
    for j in loop(0, n):
        out[i, j] = a[i, j] - r[i]
"""
    )
    f = fused(k)
    assert f.fused == 1
    assert "out[i, j] = a[i, j] - s" in show(f.kernel)


def test_loops_inside_a_loop() -> None:
    k = nest(
        """
for i in loop(0, n):
    for j in loop(0, n):
        r[j] = a[i, j]
    for j in loop(0, n):
        out[i, j] = r[j] * 2.0
"""
    )
    f = fused(k, temporaries=frozenset({"r"}))
    assert (f.fused, f.contracted) == (1, ("r",))


def test_fusion_can_be_switched_off() -> None:
    k = kernel(MUST_FUSE["a chain"])
    assert fused(k, enabled=False).kernel is k


def test_what_is_not_fused_is_the_same_kernel() -> None:
    k = kernel("for i in loop(0, n):\n    t[i] = a[i]\nfor i in loop(0, n):\n    out[i] = t[n - i]")
    assert fused(k).kernel is k
