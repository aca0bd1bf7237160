"""Commands for setuptools that put the kernels of ``@fuse`` into wheels.

::

    [tool.setuptools.cmdclass]
    build_py = "transpile.build_hooks.setuptools_commands.BuildModules"
    bdist_wheel = "transpile.build_hooks.setuptools_commands.BuildWheel"

Editable installations have no kernels: there, calls are compiled just in time.
"""
from __future__ import annotations

from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.config.pyprojecttoml import load_file
from setuptools.errors import SetupError

from ..ahead.build_package import write_package
from ..ahead.module_source import PackageError
from .build_settings import build_settings
from .library_build import BuiltPackage, built_packages, common_tag

__all__ = ["BuildModules", "BuildWheel"]


class BuildModules(build_py):  # type: ignore[misc]  # setuptools has no types
    """Copies the modules of a library, and puts the files with the kernels beside them."""

    tag: str | None = None
    """The tag of the platform of the kernels that were built."""

    def run(self) -> None:
        """Copy the modules, and build their kernels; ends the command where that cannot be."""
        super().run()
        if self.editable_mode:
            return
        try:
            packages = built_packages(Path.cwd(), build_settings(load_file("pyproject.toml")))
        except PackageError as error:
            raise SetupError(f"transpile: {error}") from error
        for package in packages:
            self.announce(package.summary, 2)
            write_package(package.files, self._built_folder(package))
        self.tag = common_tag(packages)

    def _built_folder(self, package: BuiltPackage) -> Path:
        """The folder of a package in what is built; ends the command if there is none."""
        for name in self.packages or ():
            if Path(self.get_package_dir(name)).resolve() == package.folder.resolve():
                return Path(self.build_lib, *name.split("."))
        raise SetupError(f"transpile: {package.folder} is no package of this project")


class BuildWheel(bdist_wheel):  # type: ignore[misc]  # setuptools has no types
    """Makes a wheel for all versions of Python on a platform."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.distribution.has_ext_modules = lambda: True

    def get_tag(self) -> tuple[str, str, str]:
        """The tag of the wheel."""
        modules = self.get_finalized_command("build_py")
        tag = modules.tag if isinstance(modules, BuildModules) else None
        return ("py3", "none", tag) if tag else super().get_tag()
