"""Wheels have what installers ask for, and the same bytes for the same files."""
from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile

import pytest

from transpile.ahead.wheel_file import Distribution, wheel_file

FILES = {"a/b.py": b"x = 1\n", "a/__init__.py": b"", "a/k.so": bytes(1000)}


def test_a_wheel_lists_all_of_its_files_with_their_digests() -> None:
    model = Distribution("My.Model", "1.2", "Models.")
    name, data = wheel_file(FILES, model, "linux_x86_64")
    assert name == "my_model-1.2-py3-none-linux_x86_64.whl"
    archive = zipfile.ZipFile(io.BytesIO(data))
    info = "my_model-1.2.dist-info"
    rows = [*csv.reader(archive.read(f"{info}/RECORD").decode().splitlines())]
    assert [path for path, _, _ in rows] == archive.namelist()
    assert rows.pop() == [f"{info}/RECORD", "", ""]
    for path, digest, size in rows:
        content = archive.read(path)
        raw = hashlib.sha256(content).digest()
        assert digest == "sha256=" + base64.urlsafe_b64encode(raw).decode().rstrip("=")
        assert int(size) == len(content)
    assert {path: archive.read(path) for path in FILES} == FILES
    metadata = archive.read(f"{info}/METADATA").decode().splitlines()
    for line in ("Name: My.Model", "Version: 1.2", "Summary: Models.", "Requires-Dist: numpy>=2.0"):
        assert line in metadata
    tags = archive.read(f"{info}/WHEEL").decode().splitlines()
    assert {"Root-Is-Purelib: false", "Tag: py3-none-linux_x86_64"} <= {*tags}


def test_the_order_of_the_files_does_not_matter() -> None:
    model = Distribution("m", "1")
    turned = dict(reversed(FILES.items()))
    assert wheel_file(FILES, model, "any") == wheel_file(turned, model, "any")


@pytest.mark.parametrize("version", ["1", "1.2.0", "2!1.0", "1.0rc1", "1.0.post1.dev2", "1.0+a.1"])
def test_versions_in_normal_form_are_taken(version: str) -> None:
    assert Distribution("m", version).fault() is None


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("m", "1.0-1", "'1.0-1' is not a version"), ("m", "v1", "'v1' is not a version"),
        ("-m", "1", "'-m' is not the name of a distribution"),
        ("a b", "1", "'a b' is not the name of a distribution"),
    ],
)
def test_what_installers_refuse_is_a_fault(name: str, version: str, message: str) -> None:
    assert message in (Distribution(name, version).fault() or "")
