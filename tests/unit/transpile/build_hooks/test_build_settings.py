"""The settings of a library's pyproject.toml, and what is said of wrong ones."""
from __future__ import annotations

from typing import Any

import pytest

from transpile.ahead.module_source import PackageError
from transpile.ahead.platforms import platform_named
from transpile.build_hooks.build_settings import BuildSettings, build_settings


def settings(table: Any) -> BuildSettings:
    return build_settings({"tool": {"transpile": {"build": table}}})


def test_settings_have_defaults() -> None:
    assert settings({"modules": ["src"]}) == BuildSettings(("src",), {}, False)


def test_the_platform_is_that_of_the_variable_or_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = {"modules": ["src"], "platform": "win_arm64"}
    assert settings(table).platform == platform_named("win_arm64")
    monkeypatch.setenv("TRANSPILE_PLATFORM", "macosx_11_0_arm64")
    assert settings(table).platform == platform_named("macosx_11_0_arm64")
    monkeypatch.setenv("TRANSPILE_PLATFORM", "atari")
    with pytest.raises(PackageError, match="TRANSPILE_PLATFORM: there is no platform atari"):
        settings(table)


def test_signatures_are_grouped_by_module() -> None:
    signatures = {"a.b:f": ["int"], "a.b:C.g": ["float, int", "int, int"], "a:f": []}
    found = settings({"modules": ["a"], "signatures": signatures, "check": True})
    assert found.check
    assert found.signatures == {
        "a.b": {"f": ("int",), "C.g": ("float, int", "int, int")}, "a": {"f": ()},
    }


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, r"pyproject.toml has no \[tool.transpile.build\]"),
        ({}, "modules is not a list"),
        ({"modules": []}, "modules is not a list"),
        ({"modules": "src"}, "modules is not a list"),
        ({"modules": [1]}, "modules is not a list"),
        ({"modules": ["a"], "check": "yes"}, "check is not true or false"),
        ({"modules": ["a"], "checks": True}, "has no checks"),
        ({"modules": ["a"], "platform": "atari"}, "platform: there is no platform atari"),
        ({"modules": ["a"], "platform": 5}, "platform: there is no platform 5"),
        ({"modules": ["a"], "signatures": []}, "signatures is not a table"),
        ({"modules": ["a"], "signatures": {"f": ["int"]}}, "'f' is not of the form"),
        ({"modules": ["a"], "signatures": {"a:f": "int"}}, "'a:f' is not bound to a list"),
    ],
)
def test_wrong_settings_are_named(table: Any, message: str) -> None:
    with pytest.raises(PackageError, match=message):
        settings(table)


def test_a_project_without_the_table() -> None:
    with pytest.raises(PackageError, match="has no"):
        build_settings({"project": {"name": "a"}})
