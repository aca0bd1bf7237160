"""Makes the pictures of README and docs: ``PYTHONPATH=. python docs/pictures.py [report] [speed]``.

``report`` runs the program of `docs/reports.md` and draws its report as a terminal shows it.
``speed`` draws the table under "Figures" of `docs/benchmarks.md`; it needs matplotlib.
"""
from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

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
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "transpile", "font.size": 9})
    from matplotlib import pyplot as plt

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
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    write("speed.svg", re.sub(r"[ \t]+$", "", out.getvalue(), flags=re.M))


def figures() -> tuple[str, list[str], list[tuple[str, list[float | None]]]]:
    """The machine, the columns, and the rows of the table under "Figures"."""
    page = (FOLDER / "benchmarks.md").read_text(encoding="utf-8")
    section = page.partition("\n## Figures\n")[2].partition("\n## ")[0]
    machine = re.findall(r"^Machine: (.*)\.$", section, re.M)[0]
    heading, _, *lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines() if line.startswith("|")
    ]
    rows = [(cells[0].strip("`"), [float(c) if c else None for c in cells[2:]]) for cells in lines]
    return machine, heading[2:], rows


def write(name: str, svg: str) -> None:
    """Write a picture, which loads nothing from the network."""
    assert not re.search(r"(?:href|src|url\()=?[\"']?https?:", svg), name
    (FOLDER / "pictures" / name).write_text(svg, encoding="utf-8")
    print(f"docs/pictures/{name}")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ("report", "speed"):
        {"report": draw_report, "speed": draw_speed}[wanted]()
