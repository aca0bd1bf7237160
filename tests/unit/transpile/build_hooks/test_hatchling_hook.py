"""Wheels that hatchling makes: of a folder, of a source archive, and for development."""
from __future__ import annotations

from pathlib import Path

import pytest
from wheels import build_tool, built_wheel, check_wheel, pip, project

pytest.importorskip("pip")
pytest.importorskip("hatchling")

@pytest.mark.share(1)
def test_the_wheel_of_a_source_archive(tmp_path: Path) -> None:
    home = project(tmp_path)
    build_tool("hatchling", "build", "-t", "sdist", folder=home)
    (archive,) = (home / "dist").glob("*.tar.gz")
    check_wheel(built_wheel(archive, tmp_path), tmp_path)


def test_an_editable_installation_has_the_source_alone(tmp_path: Path) -> None:
    home = project(tmp_path)
    site = tmp_path / "site"
    words = ["install", "--no-build-isolation", "--no-compile", "--target", site, "-e", home]
    pip(*words, folder=tmp_path)
    (link,) = site.glob("*.pth")
    assert Path(link.read_text().strip()) == home / "src"
    assert not [path for path in tmp_path.rglob("*.so") if "registered" not in path.parts]


def test_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    home = project(tmp_path)
    with (home / "src" / "lib" / "sums.py").open("a") as file:
        file.write("from transpile import macro\n")
    with pytest.raises(AssertionError) as caught:
        built_wheel(home, tmp_path)
    lines = str(caught.value).splitlines()
    (line,) = (line.strip() for line in lines if "transpile: " in line)
    assert line.endswith("sums.py: line 10: a built package has no `macro`")
    assert "Traceback" not in str(caught.value)
