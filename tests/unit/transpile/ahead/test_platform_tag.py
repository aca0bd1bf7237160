"""The tag of a wheel names the oldest glibc that its shared object runs with, and no older one."""
from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from targets.build.c_compiler import find_compiler
from transpile.ahead.fat_library import Unit, built_library, library_units
from transpile.ahead.platform_tag import needed_glibc, platform_tag
from transpile.ahead.platforms import own_platform

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")

NOTHING = "int f(int x) { return x + 1; }"
THREADS = "#include <pthread.h>\nint f(pthread_t *t) { return pthread_create(t, 0, 0, 0); }"
MATH = "#include <math.h>\ndouble f(double x) { return exp(x) + hypot(x, pow(x, 3.5)); }"


def compiled(folder: Path, text: str, *flags: str) -> Path:
    path = folder / "f.so"
    words = [*find_compiler().command, "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), *flags]
    subprocess.run(words, input=text, text=True, check=True)
    return path


@pytest.mark.parametrize("text", [NOTHING, THREADS, MATH])
def test_versions_are_those_that_objdump_shows(tmp_path: Path, text: str) -> None:
    program = shutil.which("objdump")
    if program is None:
        pytest.skip("no objdump")
    path = compiled(tmp_path, text, "-pthread", "-lm")
    shown = subprocess.run([program, "-T", path], capture_output=True, text=True, check=True).stdout
    versions = [(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", shown)]
    assert needed_glibc(path.read_bytes()) == max([(2, 0), *versions])
    oldest = max([(2, 17), *versions])
    name = f"manylinux_{oldest[0]}_{oldest[1]}_{platform.machine()}"
    assert platform_tag(path.read_bytes(), own_platform()) == name


def test_an_object_that_needs_another_library_has_the_tag_of_no_glibc(tmp_path: Path) -> None:
    other = tmp_path / "libother.so"
    compiled(tmp_path, NOTHING, "-Wl,-soname,libother.so.1").rename(other)
    text = "int f(int); int g(int x) { return f(x); }"
    data = compiled(tmp_path, text, "-x", "none", str(other)).read_bytes()
    assert needed_glibc(data) is None
    assert platform_tag(data, own_platform()) == f"linux_{platform.machine()}"


FUNCTIONS = ("exp", "exp2", "log", "log2", "pow", "hypot", "fmod", "erf", "expf", "logf", "powf")


def test_a_library_runs_with_the_oldest_glibc_of_a_tag() -> None:
    """It asks for old versions of functions of which glibc has newer ones since."""
    names = "".join(f"\n    (void *){name}," for name in FUNCTIONS)
    unit = Unit("math", f"#include <math.h>\nvoid *const of_math[] = {{{names}\n}};\n", ("-fPIC",))
    data = built_library(library_units([unit]), own_platform())
    assert needed_glibc(data) is not None
    assert platform_tag(data, own_platform()) == f"manylinux_2_17_{platform.machine()}"
