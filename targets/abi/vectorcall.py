"""Vectorcall: objects whose calls Python passes to a builtin without a tuple of the arguments.

A class of Python has no vectorcall of its own
(`PEP 590 <https://peps.python.org/pep-0590/>`_): Python puts the arguments into a tuple, looks up
``__call__`` in the class, and calls what it finds, which takes longer than a small kernel. An
object of a class derived from `Vectorcall` has room for the address of a C function, which
`attach_call` sets, together with the flag of the class that tells Python to call it. A second flag
says that the objects bind as functions do (``__get__``): for ``a.method(x)`` Python then makes no
bound method, but calls the object with ``a`` and ``x``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loopir.process.signal_exceptions import failures

if TYPE_CHECKING:
    from .native_entry import Spec

__all__ = ["Vectorcall", "attach_call"]

_HAVE_VECTORCALL, _HAVE_VERSION_TAG, _IS_BASE = 1 << 11, 1 << 18, 1 << 10  # flags of classes
_BINDS_AS_FUNCTIONS_DO = 1 << 17  # Py_TPFLAGS_METHOD_DESCRIPTOR
_ADDRESS_OFFSET = object.__basicsize__
"""Where an object has the address of the C function, in bytes; behind it is its `Spec`."""


def _class_with_address() -> type | None:
    """A class whose objects have one word that Python takes for the address of a C function, once
    the class has the flag. None without CPython's C API.
    """
    try:
        import ctypes
        from ctypes import c_char_p, c_int, c_ssize_t, c_uint, c_void_p

        from_spec = ctypes.pythonapi.PyType_FromSpec
    except failures(ImportError, AttributeError):
        return None

    class Member(ctypes.Structure):
        _fields_ = (
            ("name", c_char_p), ("type", c_int), ("offset", c_ssize_t), ("flags", c_int),
            ("doc", c_char_p),
        )

    class Slot(ctypes.Structure):
        _fields_ = (("slot", c_int), ("value", c_void_p))

    class TypeSpec(ctypes.Structure):
        _fields_ = (
            ("name", c_char_p), ("basicsize", c_int), ("itemsize", c_int), ("flags", c_uint),
            ("slots", ctypes.POINTER(Slot)),
        )

    of_size, read_only, of_members = 19, 1, 72  # Py_T_PYSSIZET, Py_READONLY, Py_tp_members
    member = Member(b"__vectorcalloffset__", of_size, _ADDRESS_OFFSET, read_only, None)
    members = (Member * 2)(member)
    slots = (Slot * 2)(Slot(of_members, ctypes.addressof(members)))
    size = _ADDRESS_OFFSET + ctypes.sizeof(c_void_p)
    name = f"{__name__}.Vectorcall".encode()
    spec = TypeSpec(name, size, 0, _HAVE_VERSION_TAG | _IS_BASE, slots)
    from_spec.restype, from_spec.argtypes = ctypes.py_object, [c_void_p]
    made: type = from_spec(ctypes.addressof(spec))
    _kept.extend((spec, members))
    return made


_kept: list[object] = []
"""What the class `_class_with_address` was made of: up to Python 3.11 it refers to that."""

if TYPE_CHECKING:
    _Base = object
else:
    _Base = _class_with_address() or object


class Vectorcall(_Base):
    """The base class of objects to which `attach_call` attaches a call."""

    __slots__ = ("_spec",)
    _spec: Spec
    """The words of the builtin that the C function calls (`tp_vectorcall` of inline_cache.c)."""


def attach_call(to: Vectorcall, call: Callable[..., Any]) -> None:
    """Make `call` what a call of the object `to` runs, without a tuple of the arguments if `call`
    is a builtin of the trampoline. The class of `to` is its own, derived from `Vectorcall`.
    """
    from .c_api import opened_trampoline
    from .native_entry import Spec
    from .object_layout import type_flags_offset

    type(to).__call__ = staticmethod(call)  # type: ignore[method-assign]  # its own class
    opened, spec = opened_trampoline(), getattr(call, "__self__", None)
    if opened is None or _Base is object or not type_flags_offset():
        return
    from ctypes import c_ulong, c_void_p

    flags = c_ulong.from_address(id(type(to)) + type_flags_offset())
    flags.value |= _BINDS_AS_FUNCTIONS_DO
    if isinstance(spec, Spec):
        to._spec = spec
        c_void_p.from_address(id(to) + _ADDRESS_OFFSET).value = opened.vectorcall
        flags.value |= _HAVE_VECTORCALL
    elif flags.value & _HAVE_VECTORCALL or hasattr(to, "_spec"):
        flags.value &= ~_HAVE_VECTORCALL  # from Python 3.12 on setting ``__call__`` has done so
        del to._spec
