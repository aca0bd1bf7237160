"""Makes the pictures of README and docs: ``PYTHONPATH=. python docs/pictures.py [NAME …]``.

``report`` runs the program of `docs/reports.md` and draws its report as a terminal shows it.
``speed`` draws the table under "Figures" of `docs/benchmarks.md`, ``times`` the tables under
"Times" of the pages in `docs/how_to`; both need matplotlib.
"""
from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent


def draw_report() -> None:
    """``pictures/report.svg``: the report of the first program of `reports.md`."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console

    page = (FOLDER / "reports.md").read_text(encoding="utf-8")
    name, text = re.findall(r"^```python (\S+)\n(.*?)^```", page, re.M | re.S)[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(text, encoding="utf-8")
        names: dict[str, object] = {"__name__": "picture"}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, str(path), "exec"), names)
            a = names["np"].arange(1000.0)  # type: ignore[attr-defined]
            report = names["differences"].report(a, a.copy(), a.copy())  # type: ignore[attr-defined]
    console = Console(record=True, width=112, file=io.StringIO(), force_terminal=True)
    console.print(report)
    form = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.S)  # from the net
    title = f"print({name.removesuffix('.py')}.report(a, t, out))"
    svg = console.export_svg(title=title, code_format=form, unique_id="report")
    write("report.svg", svg.replace("Fira Code", "DejaVu Sans Mono"))


def draw_speed() -> None:
    """``pictures/speed.svg``: how many times as long the others take, as bars."""
    plt = pyplot()
    machine, others, rows = figures()
    figure, axes = plt.subplots(figsize=(8.4, 0.42 * len(rows) + 1.3))
    step = 0.8 / len(others)
    for k, other in enumerate(others):
        places = [i + (k - (len(others) - 1) / 2) * step for i, (_, times) in enumerate(rows)
                  if times[k] is not None]
        widths = [times[k] - 1 for _, times in rows if times[k] is not None]
        axes.barh(places, widths, 0.9 * step, left=1, label=other)
    axes.axvline(1, color="black", linewidth=1)
    said = "time divided by that of transpile; to the right of the line transpile is faster"
    axes.set(xscale="log", xlabel=f"{said}\n{machine}")
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(ncols=len(others), loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False)
    save("speed.svg", figure)


UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
COLOURS = {"Python": "C7", "NumPy": "C0", "numba": "C1", "compiled": "C2"}


def draw_times() -> None:
    """``pictures/times_NAME.svg`` for each page ``how_to/NAME.md`` with a section "Times"."""
    for page in sorted((FOLDER / "how_to").glob("*.md")):
        section = page.read_text(encoding="utf-8").partition("\n## Times\n")[2]
        if section:
            draw_times_of(page.stem, section.partition("\n## ")[0])


def draw_times_of(name: str, section: str) -> None:
    """The times of one page, by size, as lines."""
    heading, rows = table_of(section)
    machine = re.findall(r"^Machine: (.*)\.$", section, re.M)[0]
    sizes = [float(row[0].replace(",", "")) for row in rows]
    figure, axes = pyplot().subplots(figsize=(7.2, 3.4))
    for k, column in enumerate(heading[1:], 1):
        numbers = (row[k].split() for row in rows)
        times = [float(number) * UNITS[unit] for number, unit in numbers]
        axes.plot(sizes, times, marker="o", color=COLOURS[column], label=column)
    axes.set(xscale="log", yscale="log", ylabel="time of a call",
             xlabel=f"{heading[0]}\n{machine}")
    axes.set_xticks(sizes, [row[0] for row in rows])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(lambda value, _: in_units(value))
    axes.grid(alpha=0.3)
    axes.legend(ncols=len(heading), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    save(f"times_{name}.svg", figure)


def in_units(seconds: float) -> str:
    """A time as an axis has it: 100 µs."""
    unit = next((unit for unit, size in UNITS.items() if seconds >= size * 0.999), "ns")
    return f"{seconds / UNITS[unit]:.3g} {unit}"


def table_of(section: str) -> tuple[list[str], list[list[str]]]:
    """The heading and the rows of the table in a section."""
    heading, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines() if line.startswith("|")
    ]
    return heading, rows


def pyplot() -> Any:
    """Matplotlib, which draws the same text for the same figures."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "transpile", "font.size": 9})
    from matplotlib import pyplot as plt

    return plt


def save(name: str, figure: Any) -> None:
    """Write a figure as a picture."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    write(name, re.sub(r"[ \t]+$", "", out.getvalue(), flags=re.M))


def figures() -> tuple[str, list[str], list[tuple[str, list[float | None]]]]:
    """The machine, the columns, and the rows of the table under "Figures"."""
    page = (FOLDER / "benchmarks.md").read_text(encoding="utf-8")
    section = page.partition("\n## Figures\n")[2].partition("\n## ")[0]
    machine = re.findall(r"^Machine: (.*)\.$", section, re.M)[0]
    heading, lines = table_of(section)
    rows = [(cells[0].strip("`"), [float(c) if c else None for c in cells[2:]]) for cells in lines]
    return machine, heading[2:], rows


def write(name: str, svg: str) -> None:
    """Write a picture, which loads nothing from the network."""
    assert not re.search(r"(?:href|src|url\()=?[\"']?https?:", svg), name
    (FOLDER / "pictures" / name).write_text(svg, encoding="utf-8")
    print(f"docs/pictures/{name}")


if __name__ == "__main__":
    PICTURES = {"report": draw_report, "speed": draw_speed, "times": draw_times}
    for wanted in sys.argv[1:] or PICTURES:
        PICTURES[wanted]()
