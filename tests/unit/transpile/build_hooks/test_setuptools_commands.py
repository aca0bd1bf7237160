"""Wheels that setuptools makes."""
from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from wheels import built_wheel, check_wheel, pip, project

pytest.importorskip("pip")
if importlib.util.find_spec("setuptools") is None:
    pytest.skip("needs setuptools", allow_module_level=True)


@pytest.mark.share(1)
def test_the_wheel_of_a_folder(tmp_path: Path) -> None:
    check_wheel(built_wheel(project(tmp_path, "setuptools.build_meta"), tmp_path), tmp_path)


def test_an_editable_installation_has_the_source_alone(tmp_path: Path) -> None:
    home = project(tmp_path, "setuptools.build_meta")
    words = ["install", "--no-build-isolation", "--no-compile", "--target", tmp_path / "site", "-e"]
    pip(*words, home, folder=tmp_path)
    assert not [*home.rglob("*.so")]
