"""Windows permissions: whether nobody but this user can write to a file or folder.

A security descriptor names the owner, and has a list (DACL) of entries that allow or deny rights to
users and groups, each known by its SID
(`Access control lists <https://learn.microsoft.com/windows/win32/secauthz/access-control-lists>`_).
`trusted_files` asks; it is not imported on other systems.
"""
from __future__ import annotations

import ctypes
from ctypes import c_ubyte, c_uint16, c_uint32, c_void_p
from functools import cache
from typing import Any

__all__ = ["fault_of_permissions"]

_SYSTEM, _ADMINISTRATORS, _OWNER_RIGHTS = "S-1-5-18", "S-1-5-32-544", "S-1-3-4"
"""SIDs: the system itself, its administrators, who may do anything anyway, and the owner."""

_FILE, _OWNER, _DACL = 1, 1, 4  # SE_FILE_OBJECT, OWNER_ and DACL_SECURITY_INFORMATION
_QUERY, _USER = 8, 1  # TOKEN_QUERY, TokenUser
_ALLOWED, _DENIED, _INHERITED_ONLY = 0, 1, 8  # types of entries; a flag: for what is in a folder
_WRITES = 0x500D0156
"""Rights by which others could change a file, or what is in a folder: to write data, attributes or
permissions, to delete, to take ownership, and the generic rights that contain these."""


class _Entry(ctypes.Structure):
    """ACCESS_ALLOWED_ACE: an entry; the SID begins at `sid`."""

    _fields_ = (
        ("type", c_ubyte), ("flags", c_ubyte), ("size", c_uint16), ("mask", c_uint32),
        ("sid", c_ubyte),
    )


class _ListSize(ctypes.Structure):
    """ACL_SIZE_INFORMATION."""

    _fields_ = (("entries", c_uint32), ("used", c_uint32), ("free", c_uint32))


def fault_of_permissions(path: str) -> str | None:
    """Why the file or folder at `path` cannot be trusted, with ``{}`` for what it is; None if it
    can: it belongs to this user, or to the administrators, and no entry allows others to write.

    Raises OSError if that cannot be told.
    """
    api, owner, dacl, descriptor = _advapi(), c_void_p(), c_void_p(), c_void_p()
    status = api.GetNamedSecurityInfoW(
        path, _FILE, _OWNER | _DACL, ctypes.byref(owner), None, ctypes.byref(dacl), None,
        ctypes.byref(descriptor),
    )
    if status:
        raise ctypes.WinError(status)  # type: ignore[attr-defined]
    try:
        if _text_of(owner) not in {_user(), _SYSTEM, _ADMINISTRATORS}:
            return "{} belongs to another user"
        if not dacl.value or any(map(_allows_others, _entries(dacl))):
            return "others can write to {}"  # without a list everybody may do anything
        return None
    finally:
        _kernel().LocalFree(descriptor)


def _allows_others(entry: _Entry) -> bool:
    """Whether the entry may allow somebody else to write. Entries of rare kinds count as such."""
    if entry.type == _DENIED or entry.flags & _INHERITED_ONLY:
        return False
    if entry.type != _ALLOWED:
        return True
    sid = ctypes.addressof(entry) + _Entry.sid.offset
    trusted = {_user(), _SYSTEM, _ADMINISTRATORS, _OWNER_RIGHTS}
    return bool(entry.mask & _WRITES) and _text_of(c_void_p(sid)) not in trusted


def _entries(dacl: c_void_p) -> list[_Entry]:
    """The entries of a DACL."""
    api, size, entries = _advapi(), _ListSize(), []
    if not api.GetAclInformation(dacl, ctypes.byref(size), ctypes.sizeof(size), 2):
        raise ctypes.WinError()  # type: ignore[attr-defined]
    for k in range(size.entries):
        place = c_void_p()
        if not api.GetAce(dacl, k, ctypes.byref(place)):
            raise ctypes.WinError()  # type: ignore[attr-defined]
        entries.append(_Entry.from_address(place.value or 0))
    return entries


@cache
def _user() -> str:
    """The SID of the user whose rights this process has."""
    api, kernel, token, size = _advapi(), _kernel(), c_void_p(), c_uint32()
    process = c_void_p(kernel.GetCurrentProcess())
    if not api.OpenProcessToken(process, _QUERY, ctypes.byref(token)):
        raise ctypes.WinError()  # type: ignore[attr-defined]
    try:
        api.GetTokenInformation(token, _USER, None, 0, ctypes.byref(size))
        user = ctypes.create_string_buffer(size.value)
        if not api.GetTokenInformation(token, _USER, user, size, ctypes.byref(size)):
            raise ctypes.WinError()  # type: ignore[attr-defined]
        return _text_of(c_void_p.from_buffer(user))  # TOKEN_USER begins with a pointer to the SID
    finally:
        kernel.CloseHandle(token)


def _text_of(sid: c_void_p) -> str:
    """A SID as text, such as ``"S-1-5-18"``."""
    text = ctypes.c_wchar_p()
    if not _advapi().ConvertSidToStringSidW(sid, ctypes.byref(text)):
        raise ctypes.WinError()  # type: ignore[attr-defined]
    try:
        return text.value or ""
    finally:
        _kernel().LocalFree(text)


@cache
def _advapi() -> Any:
    """The library of security functions, with the types of the arguments that are pointers."""
    api = ctypes.WinDLL("advapi32")  # type: ignore[attr-defined]
    api.GetNamedSecurityInfoW.argtypes = [
        ctypes.c_wchar_p, c_uint32, c_uint32, *[c_void_p] * 5
    ]
    api.GetNamedSecurityInfoW.restype = c_uint32
    api.GetAclInformation.argtypes = [c_void_p, c_void_p, c_uint32, c_uint32]
    api.GetAce.argtypes = [c_void_p, c_uint32, c_void_p]
    api.OpenProcessToken.argtypes = [c_void_p, c_uint32, c_void_p]
    api.GetTokenInformation.argtypes = [c_void_p, c_uint32, c_void_p, c_uint32, c_void_p]
    api.ConvertSidToStringSidW.argtypes = [c_void_p, c_void_p]
    return api


@cache
def _kernel() -> Any:
    """The library of functions of the system."""
    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]
    kernel.GetCurrentProcess.restype = c_void_p
    kernel.CloseHandle.argtypes = kernel.LocalFree.argtypes = [c_void_p]
    return kernel
