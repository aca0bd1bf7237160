"""Hatchling hook ``[tool.hatch.build.hooks.transpile]``: wheels have the kernels of ``@fuse``.

Wheels of editable installations have none: there, calls are compiled just in time.
"""
from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from ..ahead.build_package import write_package
from ..ahead.module_source import PackageError
from .build_settings import build_settings
from .library_build import BuiltPackage, built_packages, common_tag

__all__ = ["TranspileBuildHook", "hatch_register_build_hook"]


class TranspileBuildHook(BuildHookInterface[BuilderConfig]):
    """Builds the kernels before a wheel is made, and puts their files into it."""

    PLUGIN_NAME = "transpile"

    _folder: str | None = None
    """The files, until they are in the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the packages that `build_settings` names."""
        if self.target_name != "wheel" or version == "editable":
            return
        try:
            packages = built_packages(Path(self.root), build_settings(self.metadata.config))
        except PackageError as error:
            self.app.abort(f"transpile: {error}")
            raise AssertionError from error  # `abort` ends the process
        self._folder = tempfile.mkdtemp()
        for number, package in enumerate(packages):
            self.app.display_info(package.summary)
            home = Path(self._folder, str(number))
            write_package(package.files, home)
            place = self._place_in_wheel(package)
            build_data["force_include"] |= {
                str(home / file): f"{place}/{file}" for file in package.files
            }
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{common_tag(packages)}"

    def _place_in_wheel(self, package: BuiltPackage) -> str:
        """The folder of a package in the wheel."""
        source = package.folder / "__init__.py"
        inside = source.resolve().relative_to(Path(self.root).resolve()).as_posix()
        return self.build_config.get_distribution_path(inside).rpartition("/")[0]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@hookimpl
def hatch_register_build_hook() -> type[TranspileBuildHook]:
    """The hook, for hatchling."""
    return TranspileBuildHook
