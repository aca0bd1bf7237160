"""Wheel file: a package as an archive that installers take; the same files make the same bytes."""
from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Mapping

from loopir.lazy_dataclass import record

from .. import __version__

__all__ = ["Distribution", "wheel_file"]

_VERSION = re.compile(
    r"(\d+!)?\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?"
)
"""Versions in the normal form of PEP 440."""

_NAME = re.compile(r"[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]")

_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of all files in the archive: the first one that the format can express."""


@record(frozen=True, slots=True)
class Distribution:
    """What the metadata of a wheel say."""

    name: str
    version: str
    summary: str = ""

    def fault(self) -> str | None:
        """Why installers do not take it; None if they do."""
        if not _NAME.fullmatch(self.name):
            return f"{self.name!r} is not the name of a distribution, as my-model is"
        if not _VERSION.fullmatch(self.version):
            return f"{self.version!r} is not a version, as 1.2.0 and 1.2rc1 are"
        return None


def wheel_file(
    files: Mapping[str, bytes], distribution: Distribution, platform: str
) -> tuple[str, bytes]:
    """The name and the bytes of a wheel for any Python 3 on a platform, such as ``linux_x86_64``.

    ``files``: by their paths in ``site-packages``.
    """
    name = re.sub(r"[-_.]+", "_", distribution.name).lower()
    stem, tag = f"{name}-{distribution.version}", f"py3-none-{platform}"
    info = f"{stem}.dist-info"
    contents = dict(sorted(files.items())) | {
        f"{info}/METADATA": _metadata(distribution).encode(),
        f"{info}/WHEEL": _wheel(tag).encode(),
    }
    rows = [f"{path},{_digest(data)},{len(data)}" for path, data in contents.items()]
    record_path = f"{info}/RECORD"
    contents[record_path] = "\n".join([*rows, f"{record_path},,", ""]).encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for path, data in contents.items():
            entry = zipfile.ZipInfo(path, _TIME)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = 0o100644 << 16
            file.writestr(entry, data, compresslevel=9)
    return f"{stem}-{tag}.whl", archive.getvalue()


def _metadata(distribution: Distribution) -> str:
    """The file ``METADATA``."""
    lines = [
        "Metadata-Version: 2.1", f"Name: {distribution.name}", f"Version: {distribution.version}",
        *([f"Summary: {distribution.summary}"] if distribution.summary else []),
        "Requires-Python: >=3.10", "Requires-Dist: numpy>=2.0",
    ]
    return "\n".join([*lines, ""])


def _wheel(tag: str) -> str:
    """The file ``WHEEL``."""
    return (
        f"Wheel-Version: 1.0\nGenerator: transpile {__version__}\nRoot-Is-Purelib: false\n"
        f"Tag: {tag}\n"
    )


def _digest(data: bytes) -> str:
    """The digest of a file as ``RECORD`` has it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"
