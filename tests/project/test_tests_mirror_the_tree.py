"""Tests are found: `tests/unit/a/b/test_c.py` tests the module or package `a/b/c`."""
from __future__ import annotations

from for_each import for_each
from paths import ROOT, TESTS

UNIT = TESTS / "unit"
TOPICS = {
    "targets/c/array_overlap": "whether two arrays share a byte, as kernels test it in C",
    "transpile/frontend/lists_in_objects": "lists of numbers in attributes, tuples and dicts",
    "transpile/frontend/named_tuples": "named tuples as arguments, with methods of their class",
    "transpile/lower/lists/mixed_lists": "lists of ints, given as arguments, that get floats",
    "transpile/lower/lists/packed_arguments": "memoryviews and array.arrays as arguments",
    "transpile/numpy_forms": "every NumPy function, in each form of its arguments",
    "transpile/random_numbers/drawn_arrays": "arrays of random numbers, of every generator",
    "transpile/random_numbers/drawn_numbers": "random numbers one at a time, of every generator",
    "transpile/random_numbers/first_use": "when numpy.random is imported",
    "transpile/runtime/cache/disk_cache_draws": "kernels that draw random numbers, stored",
    "transpile/runtime/cache/disk_cache_helpers": "kernels with inlined functions, stored",
    "transpile/runtime/provisional_calls": "calls while the C code of all kernels is being built",
    "transpile/runtime/kernel_call/native_call_containers": "lists, tuples and objects in a call",
    "transpile/report/help_that_works": "that what reports propose can be followed",
    "transpile/runtime/process/signal_handlers": "that what they raise reaches the caller",
    "transpile/runtime/refused/region_budget": "one budget for a function and its regions",
    "transpile/runtime/region_backoff": "when outlined regions are given up, and tried again",
    "transpile/runtime/kernel_call/snapshot_memory": "that it lives while C writes to it",
    "transpile/runtime/kernel_call/snapshot_stops": "what a loop that raises has written",
}
"""Files of tests that have no module of their name, and what they are about."""

FILES = sorted(UNIT.rglob("test_*.py"))


def _tested(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name.removeprefix('test_').removesuffix('.py')}"


@for_each([str(p.relative_to(UNIT)) for p in FILES])
def test_there_is_a_module_of_that_name(path: str) -> None:
    tested = _tested(path)
    if tested not in TOPICS:
        there = (ROOT / tested).is_dir() or (ROOT / f"{tested}.py").is_file()
        assert there, f"{tested} has no module: rename the test, or add it to TOPICS"


def test_topics_are_tested() -> None:
    assert set(TOPICS) <= {_tested(str(p.relative_to(UNIT))) for p in FILES}


def test_test_files_are_in_their_folders() -> None:
    assert list(TESTS.glob("test_*.py")) == []
    names = [p.name for p in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names)), "two files of tests have the same name"
