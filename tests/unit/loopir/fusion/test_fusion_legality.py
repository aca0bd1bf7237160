"""Each condition of fusion: what it refuses, in which words, and that nothing else would."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fusing import codes, fused, kernel, plainly

from loopir.fusion import fuse_kernel, fuse_loops, fusion_legality
from loopir.ir_printer import parse
from loopir.ir_traversal import bottom_up
from loopir.nodes import (
    Call,
    Const,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Param,
    Return,
    Span,
    Store,
    Var,
)

MUST_REJECT = {
    "another length": (
        "DOMAIN_MISMATCH",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n - 1):
    out[i] = t[i]
""",
    ),
    "a nest and a loop": (
        "DOMAIN_MISMATCH",
        """
for i in loop(0, n):
    for j in loop(0, n):
        t[i] = t[i] + a[j]
for i in loop(0, n):
    out[i] = t[i]
""",
    ),
    "another step": (
        "DOMAIN_MISMATCH",
        """
for i in loop(range(0, n, 3)):
    t[i] = a[i]
for i in loop(range(0, n, 2)):
    out[i] = b[i]
""",
    ),
    "a mirror": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[n - 1 - i]
""",
    ),
    "a[:] = a[::-1]": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[i] = a[n - 1 - i]
for i in loop(0, n):
    a[i] = t[i]
""",
    ),
    "one element for all": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[0]
""",
    ),
    "every second element": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i * 2]
""",
    ),
    "a shift that is not known": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i + shift]
""",
    ),
    "a scatter, then a read": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[index[i]] = t[index[i]] + a[i]
for i in loop(0, n):
    out[i] = t[i]
""",
    ),
    "a scatter, then a test of it with a counter": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[index[i]] = 1.0
for i in loop(0, n, count=0):
    count = step(select(t[i] > 0.0, count + 1, count))
out[0] = f64(count)
""",
    ),
    "a fill, then a scatter": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[i] = 0.0
for i in loop(0, n):
    t[index[i]] = t[index[i]] + 1.0
""",
    ),
    "an index that changes on the way": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n, at=0):
    out[i] = t[at]
    at = step(select(a[i] > 0.0, i, at))
""",
    ),
    "a fold that starts from what the first loop writes": (
        "INDEXMAP_NOT_IDENTITY",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n, s=t[0]):
    s = step(s + a[i])
out[0] = s
""",
    ),
    "an element read too early": (
        "DEPENDENCE",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i + 1]
""",
    ),
    "an element overwritten too early": (
        "DEPENDENCE",
        """
for i in loop(0, n):
    out[i] = b[i]
for i in loop(0, n):
    b[i + 1] = 0.0
""",
    ),
    "an element written in the wrong order": (
        "DEPENDENCE",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    t[i + 2] = b[i]
""",
    ),
    "the step of a fold reads too late": (
        "DEPENDENCE",
        """
for i in loop(0, n, s=0.0):
    s = step(s + b[i])
for i in loop(0, n):
    b[i + 1] = 0.0
out[0] = s
""",
    ),
    "the sum, for each element": (
        "SCALAR_LIVE",
        """
for i in loop(0, n, s=0.0):
    s = step(s + a[i])
for i in loop(0, n):
    out[i] = a[i] - s
""",
    ),
    "the mean, for each element": (
        "SCALAR_LIVE",
        """
for i in loop(0, n, s=0.0):
    s = step(s + a[i])
mean = s / f64(n)
for i in loop(0, n):
    out[i] = a[i] - mean
""",
    ),
    "one fold goes on with the other's result": (
        "SCALAR_LIVE",
        """
for i in loop(0, n, s=0.0):
    s = step(s + a[i])
for i in loop(0, n, r=s):
    r = step(r * b[i])
out[0] = r
""",
    ),
    "an element of the first loop's array, between": (
        "NOT_ADJACENT",
        """
for i in loop(0, n):
    t[i] = a[i]
c = t[0]
for i in loop(0, n):
    out[i] = a[i] * c
""",
    ),
    "a store between": (
        "NOT_ADJACENT",
        """
for i in loop(0, n):
    t[i] = a[i]
t[0] = 7.0
for i in loop(0, n):
    out[i] = t[i]
""",
    ),
    "a way out of the first loop": (
        "CONTROL_FLOW",
        """
for i in loop(0, n):
    if a[i] > 5.0: break
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i]
""",
    ),
    "a way out of the second loop": (
        "CONTROL_FLOW",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    if a[i] > 5.0: break
    out[i] = t[i]
""",
    ),
    "a search": (
        "CONTROL_FLOW",
        """
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n, found=False):
    found = step(t[i] > 5.0)
    until(found)
out[0] = f64(found)
""",
    ),
    "a loop inside a branch": (
        "CONTROL_FLOW",
        """
for i in loop(0, n):
    if a[i] > 0.0:
        for j in loop(0, n):
            b[j] = 0.0
for i in loop(0, n):
    out[i] = t[i]
""",
    ),
    "a first loop that may raise": (
        "MAY_RAISE",
        """
for i in loop(0, n):
    check(a[i] > -100.0, "replay")
    t[i] = a[i]
for i in loop(0, n):
    out[i] = t[i]
""",
    ),
    "what follows the first loop may raise": (
        "MAY_RAISE",
        """
for i in loop(0, n, s=0.0):
    s = step(s + a[i])
check(s > -100.0, "replay")
for i in loop(0, n):
    out[i] = t[i]
""",
    ),
    "what goes ahead of a first loop that may raise": (
        "MAY_RAISE",
        """
for i in loop(0, n):
    check(a[i] > -100.0, "replay")
    t[i] = a[i]
out[0] = 1.0
for i in loop(0, n):
    b[i] = t[i]
""",
    ),
}


def case(text: str) -> Kernel:
    return kernel(text, same=False, more="shift: i64, index: i64[::1]")


@pytest.mark.parametrize("name", MUST_REJECT)
def test_must_reject(name: str) -> None:
    code, text = MUST_REJECT[name]
    with plainly():
        f = fused(case(text))
    assert (f.fused, codes(f)) == (0, {code})
    fused(case(text))


@pytest.mark.parametrize("name", MUST_REJECT)
def test_nothing_else_would_refuse(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Knocking out one condition lets its cases through: each is needed, and none hides another."""
    code, text = MUST_REJECT[name]
    knock_out(monkeypatch, code)
    assert fuse_kernel(case(text)).fused == 1


CONDITION_OF = {
    "DOMAIN_MISMATCH": "domain_match",
    "INDEXMAP_NOT_IDENTITY": "access_pattern",
    "NOALIAS_MISSING": "no_alias",
    "EFFECTS_RNG": "effects_rng",
    "EFFECTS_UNKNOWN": "effects_unknown",
    "GUARD_POLICY": "guard_policy",
    "NOT_ADJACENT": "sequential",
    "CONTROL_FLOW": "control_flow",
    "BROADCAST_ND": "broadcast",
    "DEPENDENCE": "dependence",
    "SCALAR_LIVE": "scalar_live",
    "MAY_RAISE": "may_raise",
    "UNPROFITABLE": "worthwhile",
}


@pytest.mark.parametrize(("second", "reason", "help"), [
    ("t[n - 1 - i]", "in opposite directions", "keep both loops: the second one begins with what"),
    ("t[2 * i]", "in different ways", "use one subscript of `t` in both loops"),
    ("t[i64(a[i])]", "in different ways", "keep both loops, unless `t` can have one subscript"),
])
def test_help_on_two_ways_to_walk_an_array(second: str, reason: str, help: str) -> None:
    """It can be followed: loops that run in opposite directions have no common subscript."""
    k = case(f"""
for i in loop(0, n):
    t[i] = a[i]
for i in loop(0, n):
    out[i] = {second}
""")
    with plainly():
        (rejection,) = fuse_kernel(k).rejections
    assert rejection.message.endswith(f"the two walk `t` {reason}")
    assert str(rejection.help).startswith(help)
    assert ("one pass would move" in str(rejection.help)) == ("opposite" not in reason)


def knock_out(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    kept = tuple(c for c in fusion_legality.CONDITIONS if c.__name__ != CONDITION_OF[code])
    assert len(kept) == len(fusion_legality.CONDITIONS) - 1
    monkeypatch.setattr(fusion_legality, "CONDITIONS", kept)
    monkeypatch.setattr(
        fusion_legality, "keeps_vectors", lambda _: ()
    )  # which is asked of the legal


def test_every_condition_is_tested() -> None:
    assert {c.__name__ for c in fusion_legality.CONDITIONS} == set(CONDITION_OF.values())


def assert_only(k: Kernel, code: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    assert codes(fuse_kernel(k, **options)) == {code}
    knock_out(monkeypatch, code)
    assert fuse_kernel(k, **options).fused == 1


# -- aliases

def test_what_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
for i in loop(0, n):
    t[i + 1] = a[i]
for i in loop(0, n):
    out[i] = t[i{}] - t[i + 1]
"""
    assert_only(case(text.format("")), "UNPROFITABLE", monkeypatch)
    assert fused(case(text.format(" + 1"))).fused == 1


def test_many_arrays_of_which_none_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
for i in loop(0, n):
    a[i] = b[i]
    c[i] = d[i]
for i in loop(0, n):
    e[i] = f[i] + {}[i]
    g[i] = h[i]
"""
    names = "a b c d e f g h q"
    assert_only(kernel(text.format("q"), names), "UNPROFITABLE", monkeypatch)
    assert fused(kernel(text.format("d"), names)).fused == 1
    assert fused(kernel(text.format("h"), names)).fused == 1


STENCIL = """
for i in loop(0, n):
    t[i] = a[i] + a[i + 2]
for i in loop(0, n):
    out[i + 1] = t[i]{}
"""


def test_arrays_never_used_together_are_guarded_to_be_two() -> None:
    f = fused(kernel(STENCIL.format(""), "a t out"))
    assert (f.fused, f.rejections, f.tightened) == (1, (), (("a", "out"), ("t", "out")))


def test_arrays_that_may_be_updated_in_place_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    k = kernel(STENCIL.format(" + a[i + 1]"), "a t out")
    assert fused(k).fused == 0
    assert_only(k, "NOALIAS_MISSING", monkeypatch)


def case_of(code: str) -> Kernel:
    """A kernel whose two loops are not joined for this reason alone."""
    if code == "NOALIAS_MISSING":
        return kernel(STENCIL.format(" + a[i + 1]"), "a t out")
    return case(next(text for c, text in MUST_REJECT.values() if c == code))


@pytest.mark.parametrize("code", sorted(fusion_legality.ALIGNMENT_DEPENDENT_CODES))
def test_a_pair_with_another_code_is_not_realigned(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops that only such a condition keeps apart are tried in another order."""
    tried = list[object]()
    monkeypatch.setattr(fuse_loops, "alignments", lambda *args: tried.append(args) or ())
    k = case_of(code.removeprefix("FUSE_REJECT_"))
    fuse_kernel(k)
    assert tried
    others = fusion_legality.ALIGNMENT_DEPENDENT_CODES - {code}
    monkeypatch.setattr(fusion_legality, "ALIGNMENT_DEPENDENT_CODES", others)
    tried.clear()
    fuse_kernel(k)
    assert tried == []


def test_one_array_under_two_names() -> None:
    """`a` may be `t`: the maps agree, so it does not matter."""
    text = "for i in loop(0, n):\n    a[i] = b[i]\nfor i in loop(0, n):\n    t[i] = a[i]"
    f = fused(kernel(text))
    assert (f.fused, f.tightened) == (1, ())


# -- domains that only guards make equal

LENGTHS = """
def k(a: f64[::1], b: f64[::1], t: mut(f64[::1]), out: mut(f64[::1])):
    {}
    disjoint(a, t)
    disjoint(a, out)
    disjoint(b, t)
    disjoint(b, out)
    disjoint(t, out)
    for i in loop(0, a.shape[0]):
        t[i] = a[i]
    for i in loop(0, {}):
        out[i] = b[i]
"""


@pytest.mark.parametrize(
    ("guards", "length"),
    [
        ('guard(a.shape[0] == b.shape[0], "GUARD_LENGTH")', "b.shape[0]"),
        (
            'guard(a.shape[0] <= b.shape[0], "GUARD_BOUNDS")\n'
            '    guard(b.shape[0] - a.shape[0] <= 0, "GUARD_BOUNDS")',
            "b.shape[0]",
        ),
        (
            'guard((a.shape[0] - 1 < b.shape[0]) | (a.shape[0] <= 0), "GUARD_BOUNDS")\n'
            '    guard((a.shape[0] > b.shape[0] - 1) | (b.shape[0] <= 0), "GUARD_BOUNDS")',
            "b.shape[0]",
        ),
        (
            'guard((a.shape[0] + 1 == b.shape[0]) & (a.shape[0] > 3), "GUARD_LENGTH")',
            "b.shape[0] - 1",
        ),
        ("disjoint(a, b)", "max(a.shape[0], 0)"),
        ("disjoint(a, b)", "a.shape[0] * 2 - a.shape[0]"),
    ],
)
def test_lengths_that_guards_make_equal(guards: str, length: str) -> None:
    assert fused(parse(LENGTHS.format(guards, length))).fused == 1


@pytest.mark.parametrize(
    "guard",
    [
        'guard(a.shape[0] <= b.shape[0], "GUARD_BOUNDS")',
        'guard(a.shape[0] + 1 == b.shape[0], "GUARD_BOUNDS")',
        'guard(a.shape[0] == t.shape[0], "GUARD_BOUNDS")',
        'guard((a.shape[0] == b.shape[0]) | (t.shape[0] == 0), "GUARD_BOUNDS")',
    ],
)
def test_lengths_that_guards_do_not_make_equal(guard: str) -> None:
    assert codes(fuse_kernel(parse(LENGTHS.format(guard, "b.shape[0]")))) == {"DOMAIN_MISMATCH"}


def test_a_length_under_a_name() -> None:
    k = kernel(
        """
m = n - 1
for i in loop(0, m):
    t[i] = a[i]
last = n
for i in loop(0, last - 1):
    out[i] = t[i]
"""
    )
    assert fused(k).fused == 1


# -- nests

NEST = """
def k(n: i64, a: f64[:, ::1], t: mut(f64[:, ::1]), r: mut(f64[::1]), out: mut(f64[:, ::1])):
    for i in loop(0, n):
        for j in loop(0, n):
            {}
    for i in loop(0, n):
        for j in loop(0, n):
            {}
"""
BROADCAST = {
    "a row for all": ("t[i, j] = a[i, j]", "out[i, j] = t[0, j]"),
    "a row written by all": ("r[j] = a[i, j]", "out[i, j] = r[j]"),
    "a row summed up": ("r[j] = r[j] + a[i, j]", "out[i, j] = r[j]"),
    "a column for all": ("r[i] = r[i] + a[i, j]", "out[i, j] = r[j]"),
}


@pytest.mark.parametrize("name", BROADCAST)
def test_broadcast_of_what_is_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    k = parse(NEST.format(*BROADCAST[name]))
    fused(k)
    assert_only(k, "BROADCAST_ND", monkeypatch)


def test_broadcast_of_what_is_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    k = parse(NEST.format("t[i, j] = a[i, j] + r[j]", "out[i, j] = t[i, j]"))
    assert fused(k).fused == 1
    assert_only(k, "BROADCAST_ND", monkeypatch, allow_broadcast_identity=False)


def test_a_transposed_read() -> None:
    k = parse(NEST.format("t[i, j] = a[i, j]", "out[i, j] = t[j, i]"))
    assert codes(fused(k)) == {"INDEXMAP_NOT_IDENTITY"}


# -- options, effects, guards


def test_a_branch_is_admitted_by_its_option(monkeypatch: pytest.MonkeyPatch) -> None:
    for branch in (0, 1):  # in the first loop only, in the second only
        plain, branching = "t[i] = a[i]", "if a[i] > 0.0:\n        t[i] = b[i]"
        bodies = (branching, plain) if branch == 0 else (plain, branching)
        k = kernel("\n".join(f"for i in loop(0, n):\n    {b}" for b in bodies), same=False)
        assert fused(k).fused == 1
        with monkeypatch.context() as m:
            assert_only(k, "CONTROL_FLOW", m, allow_control_flow_simple=False)


def test_nobody_sees_what_a_private_array_holds_when_the_first_loop_raises() -> None:
    k = case(MUST_REJECT["a first loop that may raise"][1])
    assert fused(k, private=frozenset({"out"})).fused == 1


def test_a_second_loop_may_raise() -> None:
    text = MUST_REJECT["a first loop that may raise"][1]
    first, second = text.strip().split("\nfor")
    assert fused(case(f"for{second}\n{first}")).fused == 1


@pytest.mark.parametrize("loop", [0, 1])
@pytest.mark.parametrize(
    ("op", "code"), [("random_normal", "EFFECTS_RNG"), ("print", "EFFECTS_UNKNOWN")]
)
def test_effects(op: str, code: str, loop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    k = case("for i in loop(0, n):\n    t[i] = a[i]\nfor i in loop(0, n):\n    out[i] = t[i]")
    loops = list(k.body)
    loops[loop] = bottom_up(loops[loop], lambda n: _called(n, op))
    assert_only(replace(k, body=tuple(loops)), code, monkeypatch)


@pytest.mark.parametrize(("which", "reason"), [
    ((0,), "only one of the two draws random numbers, one after the other"),
    ((0, 1), "the order in which random numbers are drawn would change"),
])
def test_what_keeps_draws_apart(which: tuple[int, ...], reason: str) -> None:
    k = case("for i in loop(0, n):\n    t[i] = a[i]\nfor i in loop(0, n):\n    out[i] = t[i]")
    loops = list(k.body)
    for loop in which:
        loops[loop] = bottom_up(loops[loop], lambda n: _called(n, "random_normal"))
    rejections = fuse_kernel(replace(k, body=tuple(loops))).rejections
    assert {r.message.partition(": ")[2] for r in rejections} == {reason}


def _called(n: Node, op: str) -> Node:
    return replace(n, value=Call(op, (n.value,), "f64")) if isinstance(n, Store) else n


def test_a_guard_that_reads_what_the_first_loop_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "for i in loop(0, n):\n    t[i] = a[i]\nfor i in loop(0, n):\n    out[i] = t[i]"
    k = kernel(text, same=False, head='guard(t[0] > -100.0, "GUARD_BOUNDS")')
    assert_only(k, "GUARD_POLICY", monkeypatch)


def test_a_return_in_a_loop() -> None:
    k = case("for i in loop(0, n):\n    t[i] = a[i]\nfor i in loop(0, n):\n    out[i] = t[i]")
    first, second = k.body
    assert isinstance(first, Loop)
    k = replace(k, body=(replace(first, body=(*first.body, Return())), second))
    assert codes(fuse_kernel(k)) == {"CONTROL_FLOW"}


# -- words


def _at(line: int, col: int, end: int) -> Span:
    return Span(line, col, line, end)


def test_a_rejection_shows_both_places_and_the_smallest_case() -> None:
    i, n = Var("i", "i64"), Var("n", "i64")
    ahead = Call("add", (i, Const(1, "i64")), "i64")
    whole = Interval(Const(0, "i64"), Call("sub", (n, Const(1, "i64")), "i64"))
    first = Store("t", (i,), Load("a", (i,), "f64"), span=_at(13, 8, 12))
    second = Store("out", (i,), Load("t", (ahead,), "f64", span=_at(15, 17, 25)))
    arrays = (Param(a, "f64", 1, 0, written=a != "a") for a in ("a", "t", "out"))
    k = Kernel(
        "smooth",
        (Param("n", "i64"), *arrays),
        (
            Loop("i", whole, (first,), span=_at(12, 4, 26)),
            Loop("i", whole, (second,), span=_at(14, 4, 26)),
        ),
    )
    with plainly():
        [r] = fuse_kernel(k).rejections
    assert (r.code, r.line) == ("FUSE_REJECT_DEPENDENCE", 14)
    assert r.message == (
        "cannot join the loop at line 12: it would read elements of `t` before they are written"
    )
    assert [(x.span.line, x.text) for x in r.labels] == [
        (13, "writes `t`"),
        (15, "reads `t`; the first loop writes this element one iteration later"),
    ]
    assert r.note == (
        "with 2 iterations, iteration 0 would read `t[1]` before iteration 1 has written it"
    )


def test_all_reasons_are_given_at_once() -> None:
    k = kernel(
        """
for i in loop(0, n, s=0.0):
    check(a[i] > -100.0, "replay")
    t[i] = a[i]
    s = step(s + a[i])
for i in loop(0, n - 1):
    out[i] = t[i + 1] + s
"""
    )
    wanted = {"DOMAIN_MISMATCH", "DEPENDENCE", "SCALAR_LIVE", "MAY_RAISE"}
    assert codes(fuse_kernel(k)) == wanted
