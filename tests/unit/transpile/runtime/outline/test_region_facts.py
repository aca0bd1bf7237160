"""Facts for outlining: which statements may be in no region, whatever else they do."""
from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse
from transpile.runtime.refused import outlined_function

READS = {
    "through": "for v in b: s += x[0]",
    "in turn": "for i, v in enumerate(b): s += x[i]",
    "beside": "for u, v in zip(x, b): s += u",
    "back": "for v in reversed(b): s += x[0]",
    "by item": "for i in range(len(x)): s += x[i] if b[i % 3] else 0.0",
    "as often": "for i in range(len(b)): s += x[i]",
    "compared": "for i in range(len(x)): s += x[i] if b == k else 0.0",
    "in a list": "s += sum([x[0] for v in b])",
}
VALUES: dict[str, Any] = {
    "str": "a text that is long" * 9, "strs": ["ab", "", "c"], "mixed": ["b", 1, None],
    "complex": ["b", {}, 2j],
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("read", READS)
def test_a_value_that_compiled_code_cannot_read_is_in_no_region(
    read: str, value: str, tmp_path: Path
) -> None:
    """So no call compiles a part that reads it only to find that out."""
    source = f"""
    def f(b, x, k):
        print(b[0], end="")
        s = 0.0
        {READS[read]}
        print(end="")
        for v in x:
            s += v * v
        return s
    """
    f = written(tmp_path, dedent(source)).f
    fused, args = fuse(f, on_reject="silent"), (VALUES[value], np.ones(300), "k")
    assert fused(*args) == f(*args)
    (spec,) = fused._specializations.values()
    assert spec.outlined is not None
    (region,) = spec.outlined.regions
    assert [a.arg for a in region.tree.args.args] == ["s", "x"]
    assert not any(s.rejection for s in region.fused._specializations.values())  # type: ignore[attr-defined]


def test_a_value_whose_use_depends_on_a_condition_may_be_in_a_region(tmp_path: Path) -> None:
    source = """
    def f(b, x):
        print(end="")
        s = 0.0
        for v in x:
            if b is not None:
                s += v if b == 3 else 0.0
        return s
    """
    fused = fuse(written(tmp_path, dedent(source)).f, on_reject="silent")
    fused("text of some length", np.ones(30))
    (spec,) = fused._specializations.values()
    assert spec.outlined is not None
    assert [a.arg for a in spec.outlined.regions[0].tree.args.args] == ["b", "x"]


def test_facts_are_found_once_for_all_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regions that are dropped change the plan, and no fact; without a region there is no plan."""
    made = []

    class Counted(outlined_function.RegionFacts):
        def __init__(self, *args: Any) -> None:
            made.append(args)
            super().__init__(*args)

    monkeypatch.setattr(outlined_function, "RegionFacts", Counted)
    source = """
    def f(x):
        s = 0.0
        for v in x:
            s += v
        print(end="")
        for v in x:
            s += v
        return s
    """
    f = written(tmp_path, dedent(source)).f
    fused = fuse(f, on_reject="silent")
    fused(np.ones(30))
    (spec,) = fused._specializations.values()
    count, refusal, types = len(made), spec.refusal, spec.types_by_name(f)
    whole = refusal.plan(f, types, frozenset())
    helpers = [r.region.helper for r in whole.regions]
    assert len(helpers) == 2
    (left,) = refusal.plan(f, types, frozenset(helpers[:1])).regions
    assert left.region.helper == helpers[1]
    assert refusal.plan(f, types, frozenset(helpers)) is None
    assert len(made) == count
