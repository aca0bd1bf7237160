"""Test programs on a CPU that this machine is not, such as one with AVX-512: Bochs emulates it.

    python -m tests.tools.cross_programs build own DIR --share 10
    python -m tests.tools.bochs DIR --linux VMLINUZ [--bochs bochs] [--cpu corei7_skylake_x]

boots Linux with this Python, NumPy and DIR in a file system in memory, and prints what
``DIR/check.py`` prints there: the library has each program for each target, and chooses that of the
CPU. At some 40 million instructions a second the system takes three minutes to start, and a hundred
programs two.

Needed: VMLINUZ, a kernel that has the driver of serial lines built in (Debian:
``linux-image-cloud-amd64``); the packages ``busybox-static``, ``isolinux`` and ``xorriso``; and
Bochs, since 2.8, configured with ``--enable-x86-64 --enable-avx --enable-evex
--enable-handlers-chaining --disable-debugger --with-nogui`` (Debian's has no AVX).
"""
from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

__all__ = ["main"]

ISOLINUX = Path("/usr/lib/ISOLINUX/isolinux.bin")
MODULE = Path("/usr/lib/syslinux/modules/bios/ldlinux.c32")
BIOS = Path("/usr/share/bochs/BIOS-bochs-latest")
VIDEO = Path("/usr/share/bochs/VGABIOS-lgpl-latest")

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
export PYTHONHOME=/py LD_LIBRARY_PATH=/py/lib HOME=/tmp OPENBLAS_NUM_THREADS=1
export NPY_DISABLE_CPU_FEATURES="{without}"
echo "== checked"
/py/bin/python /check/check.py
echo "== ends with status $?"
/bin/busybox sleep 1
/bin/busybox poweroff -f
"""

OWN_AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL X86_V4"
"""The parts of NumPy with AVX-512, which may round otherwise than those that ran elsewhere."""

BOOT = """default it
label it
 kernel /vmlinuz
 append initrd=/initrd console=ttyS0 mitigations=off quiet tsc=reliable panic=1
"""

MACHINE = """memory: guest=1024, host=1024
cpu: model={cpu}, count=1, ips=200000000
romimage: file={bios}
vgaromimage: file={video}
ata0-master: type=cdrom, path={folder}/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={folder}/serial.txt
display_library: nogui
log: {folder}/bochs.log
panic: action=fatal
clock: sync=none, time0=local
"""

NOT_NEEDED = (
    "test", "tests", "site-packages", "idlelib", "ensurepip", "lib2to3", "tkinter", "turtledemo",
    "config-*", "__pycache__", "*.a",
)


def linked(files: Sequence[Path]) -> Iterator[Path]:
    """The libraries of the system that `files` are linked with, and the program that loads them."""
    for file in files:
        told = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        for line in told.splitlines():
            words = [word for word in line.split() if word.startswith("/")]
            yield from (Path(word) for word in words[:1] if Path(word).is_file())


def file_system(root: Path, check: Path) -> None:
    """Make the file system of the machine in `root`: this Python, NumPy, and the folder `check`."""
    (root / "bin").mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox, "busybox-static is not installed"
    shutil.copy(busybox, root / "bin" / "busybox")
    left_out = shutil.ignore_patterns(*NOT_NEEDED)
    home, standard = root / "py", Path(sysconfig.get_path("stdlib"))
    shutil.copytree(standard, home / "lib" / standard.name, ignore=left_out)
    packages = home / "lib" / standard.name / "site-packages"
    for part in (Path(np.__file__).parent, Path(np.__file__).parents[1] / "numpy.libs"):
        if part.is_dir():
            shutil.copytree(part, packages / part.name, ignore=left_out)
    (home / "bin").mkdir()
    shutil.copy(Path(sys.executable).resolve(), home / "bin" / "python")
    for library in Path(sysconfig.get_config_var("LIBDIR")).glob("libpython3*.so*"):
        shutil.copy(library, home / "lib")
    shutil.copytree(check, root / "check", ignore=shutil.ignore_patterns("__pycache__"))
    files = [home / "bin" / "python", *home.rglob("*.so*")]
    for library in {*linked(files)}:
        if not library.is_relative_to(root):
            (root / library.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library.relative_to("/"))
    init = root / "init"
    init.write_text(INIT.format(without=OWN_AVX512))
    init.chmod(0o755)


def boot_image(folder: Path, linux: Path) -> None:
    """Make ``boot.iso`` in `folder`, from the file system in ``root`` and the kernel `linux`."""
    iso = folder / "iso"
    (iso / "isolinux").mkdir(parents=True)
    for file in (ISOLINUX, MODULE):
        shutil.copy(file, iso / "isolinux")
    (iso / "isolinux" / "isolinux.cfg").write_text(BOOT)
    shutil.copy(linux, iso / "vmlinuz")
    pack = f"find . | cpio -o -H newc --quiet | gzip -1 > '{iso}/initrd'"
    subprocess.run(["sh", "-c", pack], cwd=folder / "root", check=True)
    subprocess.run([
        "xorriso", "-as", "mkisofs", "-quiet", "-o", folder / "boot.iso",
        "-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat",
        "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", iso,
    ], check=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if all calls agreed."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.bochs")
    parser.add_argument("check", type=Path, metavar="DIR")
    parser.add_argument("--linux", type=Path, required=True, metavar="VMLINUZ")
    parser.add_argument("--bochs", default="bochs")
    parser.add_argument("--cpu", default="corei7_skylake_x")
    parser.add_argument("--seconds", type=float, default=7200.0)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        file_system(folder / "root", options.check)
        boot_image(folder, options.linux)
        machine = MACHINE.format(cpu=options.cpu, bios=BIOS, video=VIDEO, folder=folder)
        (folder / "machine").write_text(machine)
        words = [options.bochs, "-q", "-f", folder / "machine"]
        subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=options.seconds, check=False,
        )
        printed = (folder / "serial.txt").read_text(errors="replace").replace("\r", "")
    _, found, told = printed.partition("== checked\n")
    print(told if found else f"the machine did not start:\n{printed}")
    return 0 if "== ends with status 0\n" in told else 1


if __name__ == "__main__":
    sys.exit(main())
