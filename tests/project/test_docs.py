"""The documents are true: the map of the tree, the files and names that they cite, the commands.

``--bless`` rewrites the lists of modules in docs/architecture.md from the modules' docstrings.
"""
from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT
from source_trees import PACKAGES, SOURCES, statements_of, tree_of

from transpile import __version__
from transpile.pipeline import STAGES

MAP = ROOT / "docs" / "architecture.md"
GLOSSARY = ROOT / "docs" / "glossary.md"
WHERE_IS = ROOT / "docs" / "where_is.md"
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("transpile/README.md"),
        *ROOT.glob("loopir/README.md"), *ROOT.glob("kernels/README.md"),
    ]
)
STAGE_HEADING = "### The stages"
WHERE = "## Where is …"
REFERENCE = re.compile(r"`([\w./]+\.(?:py|c|h|mlir))`(?:: ((?:`[\w.]+`(?:, )?)+))?")

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))


def folders() -> list[Path]:
    """The folders that hold modules."""
    return sorted({p.parent for p in SOURCES})


@functools.cache
def source_files() -> list[Path]:
    """Python, C and MLIR of the packages, the kernels, the tests, and the scripts of the docs."""
    tops = (*PACKAGES, "kernels", "tests", "examples", "docs")
    found = (p for top in tops for p in (ROOT / top).rglob("*.*"))
    return [p for p in found if p.suffix in (".py", ".c", ".h", ".mlir")]


def first_line(path: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(tree_of(path)) or "").partition("\n")[0]


def first_sentence(path: Path) -> str:
    """The first sentence of the comment that a C file starts with."""
    comment = re.match(r"/\*\s*(.*?)\s*\*/", path.read_text(encoding="utf-8"), re.DOTALL)
    text = " ".join(re.sub(r"\n \*", "\n", comment[1]).split()) if comment else ""
    return re.split(r"(?<=\.) ", text)[0]


def listed(folder: Path) -> list[str]:
    """The lines that the map has of a folder: what it is for, each of its modules and C files."""
    modules = sorted(p for p in folder.glob("*.py") if p.name != "__init__.py")
    lines = ["", first_line(folder / "__init__.py"), ""]
    lines += [f"- `{p.name}`: {first_line(p)}" for p in modules]
    modules += (sources := sorted([*folder.glob("*.c"), *folder.glob("*.h")]))
    lines += [f"- `{p.name}`: {first_sentence(p)}" for p in sources]
    return [*lines, ""] if modules else lines


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each heading and the lines below it, up to the next heading."""
    heading, lines = "", list[str]()
    for line in text.split("\n"):
        if line.startswith("#"):
            yield heading, lines
            heading, lines = line, []
        else:
            lines.append(line)
    yield heading, lines


def folder_of(heading: str) -> Path | None:
    """The folder that a heading ``### `transpile/lower/` `` is about."""
    found = re.fullmatch(r"### `([\w/]+)/`", heading)
    return ROOT / found[1] if found else None


def stage_table() -> list[str]:
    """The rows of the pipeline."""
    rows = [f"| `{s.name}` | {s.from_form} → {s.to_form} | {s.reason} |" for s in STAGES]
    return ["", "| stage | form | reason |", "|---|---|---|", *rows, ""]


def rewritten(text: str) -> str:
    """The map with the lists that it ought to have."""
    parts = []
    for heading, lines in sections(text):
        folder = folder_of(heading)
        if folder is not None:
            lines = listed(folder)
        elif heading == STAGE_HEADING:
            lines = stage_table()
        parts += [heading, *lines] if heading else lines
    return "\n".join(parts)


def test_the_map_lists_every_module_once(request: pytest.FixtureRequest) -> None:
    text = MAP.read_text(encoding="utf-8")
    found = [f for heading, _ in sections(text) if (f := folder_of(heading)) is not None]
    assert sorted(found) == folders(), "one heading ### `folder/` for each folder with modules"
    if request.config.getoption("--bless"):
        MAP.write_text(rewritten(text), encoding="utf-8")
        return
    assert text == rewritten(text), "run: pytest tests/project/test_docs.py --bless"


def names_in(path: Path) -> set[str]:
    """What a module defines, methods and fields as ``Class.name``; of other files every word."""
    if path.suffix != ".py":
        return set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return set(_defined(tree_of(path).body, ""))


def _defined(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner):
                yield prefix + name
                yield from _defined(inner, f"{prefix}{name}.")
            case ast.FunctionDef(name=name):
                yield prefix + name
            case ast.Assign(targets=targets):
                yield from (prefix + t.id for t in targets if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name


def broken_references(text: str) -> list[str]:
    """Of ``file``: ``name``, ``name``: the files, and the names in them, that do not exist."""
    broken = []
    for file, names in REFERENCE.findall(text):
        if not (ROOT / file).is_file():
            broken.append(file)
            continue
        known = names_in(ROOT / file) if names else set()
        broken += [f"{file}: {n}" for n in re.findall(r"`([\w.]+)`", names) if n not in known]
    return broken


def where_is() -> list[str]:
    """The lines of the index "Where is …": ``- a question? `file`: `name` `` and, indented below
    it, ``- what follows: `file`: `name` ``.
    """
    lines = WHERE_IS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.lstrip().startswith("- ")]


def test_where_is_names_what_exists() -> None:
    assert broken_references("\n".join(where_is())) == []


def test_the_map_ends_with_lines_of_where_is() -> None:
    """Some forty questions that are asked first; what the index says is not said otherwise."""
    (lines,) = (lines for h, lines in sections(MAP.read_text("utf-8")) if h == WHERE)
    questions = [line for line in lines if line.startswith("- ")]
    assert 35 <= len(questions) <= 50
    assert [line for line in questions if line not in where_is()] == []


def test_where_is_has_one_address_a_line() -> None:
    """A line names one file, and the function in it to open, so that nobody has to choose."""
    questions = [line for line in where_is() if line.startswith("- ")]
    assert len(questions) >= 90
    found = [(line, REFERENCE.findall(line)) for line in where_is()]
    assert [line for line, addresses in found if len(addresses) != 1] == []
    assert [line for line, ((_, names),) in found if not names] == []
    assert [line for line in questions if "? `" not in line] == []


def test_the_glossary_is_in_order_and_names_what_exists() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    terms = re.findall(r"^\| \*\*(.+?)\*\*", text, re.MULTILINE)
    assert len(terms) >= 40
    assert terms == sorted(set(terms), key=str.lower)
    assert broken_references(text) == []


@each_document
def test_files_that_are_named_exist(path: Path) -> None:
    """What stands in backquotes and is a path of this project."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    quoted = re.findall(r"`([\w.-]+/[\w./-]*)`", text) + re.findall(r"\]\(([\w./-]+)\)", text)
    tops = {p.name for p in ROOT.iterdir()}
    near = (p for p in quoted if not any((base / p).exists() for base in (ROOT, path.parent)))
    assert [p for p in near if p.split("/")[0] in tops] == []


@each_document
def test_modules_that_are_named_exist(path: Path) -> None:
    """A file without its folder, as `nodes.py`, or with a part of its path."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    quoted = re.findall(r"`([\w/]+\.(?:py|c|h|mlir))`", text)
    files = [f"/{p.relative_to(ROOT)}" for p in source_files()]
    examples = {"tour.py", "file.py"}
    missing = {q for q in quoted if not any(f.endswith(f"/{q}") for f in files)}
    assert missing - examples == set()


def test_first_lines_of_modules_are_sentences() -> None:
    """The map shows the first line of a module's docstring alone."""
    lines = {p: first_line(p) for folder in folders() for p in folder.glob("*.py")}
    assert not [f"{p.relative_to(ROOT)}: {line}" for p, line in lines.items() if line[-1:] != "."]


def test_files_that_module_docstrings_name_exist() -> None:
    """Paths of this project in ``double`` backquotes, as ``tests/unit/paths.py``."""
    tops = {p.name for p in ROOT.iterdir()}
    missing = []
    for path in source_files():
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PACKAGES:
            quoted = re.findall(r"`([\w/]+/[\w/]+\.\w+)`", ast.get_docstring(tree_of(path)) or "")
            near = (q for q in quoted if q.split("/")[0] in tops and "NAME" not in q)
            missing += [f"{path.name}: {q}" for q in near if not (ROOT / q).is_file()]
    assert missing == []


@each_document
def test_modules_that_are_run_exist(path: Path) -> None:
    """``python -m tests.snapshot`` and the like."""
    text = path.read_text(encoding="utf-8")
    run = set(re.findall(r"python -m ((?:tests|transpile)[\w.]*)", text))
    missing = [
        name for name in sorted(run)
        if not (ROOT / f"{name.replace('.', '/')}.py").exists()
        and not (ROOT / name.replace(".", "/") / "__main__.py").exists()
    ]
    assert missing == []


RAISES = re.compile(r"\bRaises\s+((?:`?[A-Z]\w+`?(?:,\s+(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+)?)+)")


def raised_names(docstring: str) -> list[str]:
    """The classes that "Raises X" and "Raises X, Y or Z" in a docstring name."""
    return [n for some in RAISES.findall(docstring) for n in re.findall(r"\w*[A-Z]\w+", some)]


@functools.cache
def exception_names() -> set[str]:
    """The exception classes of Python and of the packages, by their base classes."""
    found = {n for n, o in vars(builtins).items()
             if isinstance(o, type) and issubclass(o, BaseException)}
    bases = {
        n.name: {ast.unparse(b) for b in n.bases}
        for p in SOURCES for n in statements_of(tree_of(p)) if isinstance(n, ast.ClassDef)
    }
    while more := {c for c, names in bases.items() if c not in found and names & found}:
        found |= more
    return found


def test_exceptions_that_docstrings_name_exist() -> None:
    known, missing = exception_names(), list[str]()
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for path in SOURCES:
        for node in statements_of(tree_of(path)):
            said = (ast.get_docstring(node) or "") if isinstance(node, kinds) else ""
            missing += [f"{path.name}: {n}" for n in raised_names(said) if n not in known]
    assert missing == []


def test_the_changelog_has_this_version() -> None:
    """The version stands in `transpile/__init__.py` alone: hatchling reads it there."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '[tool.hatch.version]\npath = "transpile/__init__.py"' in project
    assert not re.search("^version", project, re.MULTILINE)
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[:2] == ["Unreleased", __version__]


def test_the_checks_see_a_fault() -> None:
    assert broken_references("`loopir/nodes.py`: `Kernel`, `no_such`; `loopir/none.py`") == [
        "loopir/nodes.py: no_such", "loopir/none.py",
    ]
    assert broken_references("`loopir/nodes.py`: `Disjoint.or_same`") == []
    assert folder_of("### `loopir/passes/`") == ROOT / "loopir" / "passes"
    assert folder_of("### The rest") is None
    assert raised_names("It. Raises Refused, Aaa or\n    `Bbb`. More.") == ["Refused", "Aaa", "Bbb"]
    assert "Refused" in exception_names()
    assert "Bbb" not in exception_names()
