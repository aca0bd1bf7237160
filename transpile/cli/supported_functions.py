"""Table of supported functions: a page made from the operation rows and the macros.

``python -m transpile.cli.supported_functions`` prints it; it is ``transpile/README.md``, and a
test compares.
"""
from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

from loopir.dtypes import DTYPES
from loopir.op_table import OPS

from ..expand import MACROS
from ..numpy.function_table import FUNCTIONS, REDUCE_ARGUMENTS, Row, signatures
from ..numpy.functions.call_identities import IDENTITIES
from ..random_numbers import METHODS, part_templates
from ..random_numbers.ziggurat import ZIGGURAT_TABLES

__all__ = ["supported_functions"]


def supported_functions() -> str:
    """Markdown: operations of numbers, functions of whole arrays, and what each macro takes."""
    return "\n".join([
        "# What is accepted", "",
        "Made by `python -m transpile.cli.supported_functions` from the rows of",
        "`loopir/op_table.py` and the macros of `transpile/expand.py`. What stands in no row here",
        "stays Python's, or NumPy's.", "",
        "## Operations of numbers, and of arrays element by element", "", *_operations(), "",
        "## Functions of arrays, with the arguments that they may be given", "", *_functions(), "",
        "## Generators of random numbers: one a call, or an array (`size`, not of `choice`)",
        "", *_draws(), "",
        "## Macros: what is brought into loops", "", *_macros(),
    ]) + "\n"  # fmt: skip


def _operations() -> Iterable[str]:
    """A row each: the spellings, and the kinds of dtypes."""
    yield "| spelled | of | within, in units of the last place |"
    yield "|---|---|---|"
    kinds = {"b": "bools", "i": "ints", "u": "unsigned", "f": "floats"}
    for op in OPS.values():
        spellings = [s for s in op.spellings if s]
        if spellings:
            said = " ".join(f"`{s}`" for s in spellings).replace("|", "\\|")
            of = ", ".join(kinds[k] for k in op.kinds if k in kinds)
            of += "".join(f", not {DTYPES[d].numpy.name}" for d in op.excluded)
            yield f"| {said} | {of} | {op.ulps if op.ulps else 'the same bits'} |"


def _functions() -> Iterable[str]:
    """The functions of arrays by kind, each with the arguments that it takes."""
    sayings: dict[str, str] = {}
    for row in IDENTITIES:
        name, *words = row.call.split()
        text = " ".join((row.result, row.requires, *row.bindings, *row.replay_if))
        known = [w for w in (word.partition("=")[0] for word in words) if w.upper() in text]
        sayings[name] = " ".join(dict.fromkeys([*sayings.get(name, "").split(), *known]))
    def reductions(row: Row) -> str:
        """The arguments of a reduction, or an empty text if the row is none."""
        if row.accumulator or row.same_as:
            return row.accumulator or REDUCE_ARGUMENTS
        if row.reduction:
            return "a axis keepdims initial where"
        return "a axis keepdims" if row.moment else ""

    tables: Mapping[str, Mapping[str, str]] = {
        "of each element a formula": signatures("formula"),
        "elements in other places": signatures("movement"),
        "views in other words": signatures("view"),
        "folds": {name: text for name, row in FUNCTIONS.items() if (text := reductions(row))},
        "along an axis": dict.fromkeys(
            (name for name, row in FUNCTIONS.items() if row.scan or row.search), "a axis"
        ),
        "said by other functions": sayings,
        "searched and counted": signatures("loops") | signatures("pair"),
    }
    for title, table in tables.items():
        calls = (f"`{name}({', '.join(names.split())})`" for name, names in sorted(table.items()))
        yield f"- {title}: {' '.join(calls)}"


def _draws() -> Iterable[str]:
    """The methods of each class of random generators, with their arguments."""
    of = {
        "python": "`random.Random`, and the functions of `random`",
        "legacy": "`np.random.RandomState` of MT19937, and the functions of `np.random`",
        "pcg": "`np.random.Generator` of PCG64, as `np.random.default_rng` makes them",
    }
    for family, methods in METHODS.items():
        calls = []
        for name, run in sorted(methods.items()):
            known = (
                p for p in inspect.signature(run).parameters if p not in part_templates(family)
            )
            calls.append(f"`{name}({', '.join(p for p in known if p not in ZIGGURAT_TABLES)})`")
        yield f"- {of[family]}: {' '.join(calls)}"


def _macros() -> Iterable[str]:
    """The macros in order, each with the summary and the example of its docstring."""
    yield "| macro | | for example |"
    yield "|---|---|---|"
    for macro in MACROS:
        summary, _, example = (inspect.getdoc(macro) or "").partition("\n\n")
        before = example.partition("→\n")[0].strip().splitlines()
        said = " ".join(summary.split()).replace("|", "\\|")
        lines = "<br>".join(f"`{line.rstrip()}`" for line in before).replace("|", "\\|")
        yield f"| `{macro.__name__}` | {said} | {lines} |"


if __name__ == "__main__":
    print(supported_functions(), end="")
