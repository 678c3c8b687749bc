"""Devices and views of arrays."""

import atexit
import ctypes
import os
import threading
from ctypes import byref, c_void_p
from typing import NamedTuple

from ._library import ArgumentError, Info, MillraceError, library

KINDS = ("cpu", "cuda", "opencl")


class DeviceInfo(NamedTuple):
    """The description of a device."""

    id: str
    name: str
    kind: str
    units: int
    memory_bytes: int
    compute_capability: tuple


def _described(info):
    return DeviceInfo(
        info.id.decode(),
        info.name.decode("utf-8", "replace"),
        KINDS[info.kind],
        info.units,
        info.memory_bytes,
        (info.major, info.minor),
    )


class Device:
    """A device, or several that share the work.

    ``name`` is ``cpu``, ``cpu:THREADS``, ``cuda:N``, ``opencl:N``, a list with commas, or ``all``. Without a name it is
    the variable ``MILLRACE_DEVICE``, and otherwise the first of CUDA, an OpenCL GPU and the CPU that is there.
    Use it in a ``with`` statement, or call :meth:`close`.
    """

    def __init__(self, name=None):
        self._opened = None
        self._process = os.getpid()
        handle = c_void_p()
        library.mr_open(None if name is None else os.fsencode(name), byref(handle))
        self._opened = handle.value
        info = Info()
        library.mr_device_info(self._opened, byref(info))
        self.info = _described(info)

    @property
    def handle(self):
        """The ``mr_device``. Raises if the device was closed or belongs to the parent process."""
        if self._opened is None:
            raise ArgumentError("the device was closed")
        if self._process != os.getpid():
            raise MillraceError(
                "the device was opened before fork(): threads and drivers do not survive it; open one in this process"
            )
        return self._opened

    def close(self):
        """Stops all work and frees the device."""
        opened, self._opened = self._opened, None
        if opened is not None and self._process == os.getpid():
            library.mr_close(opened)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        # At the end of the process the system frees everything; threads may still be using the device.
        if _is_running and getattr(self, "_opened", None) is not None:
            self.close()

    def __repr__(self):
        return f"<Device {self.info.id}: {self.info.name}>"


_is_running = True


def is_ending():
    """True once the interpreter ends."""
    return not _is_running


_default = None
_default_lock = threading.Lock()


def default_device():
    """Returns the device that is used if none is given, opened once per process."""
    global _default
    with _default_lock:
        if _default is None or _default._process != os.getpid() or _default._opened is None:
            _default = Device()
        return _default


def devices():
    """Describes the devices of this machine: the CPU, CUDA devices, OpenCL devices."""
    found = []
    for kind, name in enumerate(KINDS):
        for number in range(library.mr_device_count(kind)):
            info = Info()
            library.mr_probe((name if kind == 0 else f"{name}:{number}").encode(), byref(info))
            found.append(_described(info))
    return found


class _PyBuffer(ctypes.Structure):
    """CPython's ``Py_buffer``."""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", c_void_p),
        ("suboffsets", c_void_p),
        ("internal", c_void_p),
    ]


_SIMPLE = 0  # PyBUF_SIMPLE: contiguous bytes


def python_function(name, result, *arguments):
    """A function of CPython's C interface. Those of ``ctypes.pythonapi`` have one type for all packages of a process."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_get_buffer = python_function(
    "PyObject_GetBuffer", ctypes.c_int, ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int
)
_release_buffer = python_function("PyBuffer_Release", None, ctypes.POINTER(_PyBuffer))


def address_of(described):
    """Returns where the memory of a memoryview is. It stays there until the memoryview is released."""
    buffer = _PyBuffer()
    # SAFETY: the memoryview is an export of its own; this second one ends here.
    _get_buffer(described, ctypes.byref(buffer), _SIMPLE)
    address = buffer.buf
    _release_buffer(ctypes.byref(buffer))
    return address


class View:
    """The memory of an object with the buffer protocol, which stays where it is until the view is released."""

    __slots__ = ("_described", "address", "bytes", "shape", "itemsize", "format")

    def __init__(self, array, writable=False):
        described = memoryview(array)
        if not described.c_contiguous:
            raise ArgumentError("the array is not contiguous in C order: copy it, as numpy.ascontiguousarray() does")
        if writable and described.readonly:
            raise ArgumentError("the array for results is read-only")
        self.shape, self.format, self.itemsize = described.shape, described.format, described.itemsize
        self.bytes = described.nbytes
        self.address = address_of(described)
        self._described = described

    def release(self):
        self._described.release()


def _stop():
    global _is_running
    _is_running = False


atexit.register(_stop)
