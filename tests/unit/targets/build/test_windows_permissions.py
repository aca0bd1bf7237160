"""Windows permissions: files that others can write are refused. `tests.tools.wine` runs this."""
from __future__ import annotations

import ctypes
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from targets.build import windows_permissions
from targets.build.object_cache import cache_clear, find_cached
from targets.build.trusted_files import Untrusted, make_folder, open_folder

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="permissions of Windows")

ONLY_ME, READ_BY_ALL, WRITTEN_BY_ALL = (
    "D:P(A;;FA;;;{user})", "D:P(A;;FA;;;{user})(A;;FR;;;WD)", "D:P(A;;FA;;;{user})(A;;FA;;;WD)"
)


def permit(path: Path, text: str) -> None:
    """Give a file or folder the DACL that `text` describes (SDDL)."""
    api: Any = windows_permissions._advapi()
    convert = api.ConvertStringSecurityDescriptorToSecurityDescriptorW
    convert.argtypes = [ctypes.c_wchar_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p]
    api.SetFileSecurityW.argtypes = [ctypes.c_wchar_p, ctypes.c_uint32, ctypes.c_void_p]
    descriptor = ctypes.c_void_p()
    text = text.format(user=windows_permissions._user())
    assert convert(text, 1, ctypes.byref(descriptor), None)
    assert api.SetFileSecurityW(str(path), 4, descriptor)  # DACL_SECURITY_INFORMATION


@pytest.mark.parametrize(
    ("text", "fault"), [
        (ONLY_ME, None), (READ_BY_ALL, None), (WRITTEN_BY_ALL, "others can write to {}"),
    ],
)
def test_who_may_write(text: str, fault: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    permit(path, text)
    assert windows_permissions.fault_of_permissions(str(path)) == fault


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        windows_permissions.fault_of_permissions(str(tmp_path / "none"))


def test_a_folder_of_files(tmp_path: Path) -> None:
    with make_folder(str(tmp_path / "a" / "b")) as folder:
        folder.write_file("x", b"text")
        folder.rename("x", "y")
        assert (folder.names(), folder.status("y").st_size) == (["y"], 4)
        permit(tmp_path / "a" / "b" / "y", WRITTEN_BY_ALL)
        with pytest.raises(Untrusted, match="others can write to the file"):
            folder.open_file("y")
        folder.remove("y")
        assert folder.names() == []
    permit(tmp_path / "a" / "b", WRITTEN_BY_ALL)
    with pytest.raises(Untrusted, match="others can write to the folder"):
        open_folder(str(tmp_path / "a" / "b"))


def test_objects_that_others_could_write_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from targets.build.build_kernel import build_object, object_name

    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))
    text = "int answer(void) { return 42; }\n"
    path = build_object(text)
    name = object_name(text)
    assert find_cached(name) == path
    permit(Path(path), WRITTEN_BY_ALL)
    with caplog.at_level(logging.WARNING):
        assert find_cached(name) is None
    assert "others can write to the file" in caplog.text
    assert cache_clear() == 1
