"""The C library of this package: its functions, structs and errors."""

import ctypes
import os
from ctypes import POINTER, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

NAME = "LIBRARY"
ABI = ABI_VERSION

OK = 0
CAPACITY = -6
CANCELLED = -7

CPU, CUDA, OPENCL = 0, 1, 2


class MillraceError(RuntimeError):
    """A failure that the library reports. ``status`` is its ``mr_status``."""

    status = 0


class ArgumentError(MillraceError, ValueError):
    """A size or a range that is not possible, or a device that was closed."""

    status = -1


class OutOfMemoryError(MillraceError, MemoryError):
    """No memory left, on the host or on the device."""

    status = -2


class DeviceError(MillraceError):
    """A call of a driver failed."""

    status = -3


class DeviceNotFoundError(MillraceError):
    """No such device, or its driver is not installed."""

    status = -4


class CompileError(MillraceError):
    """The driver's compiler refused the kernel."""

    status = -5


class CancelledError(MillraceError):
    """The work was stopped."""

    status = CANCELLED


class AbiError(MillraceError):
    """The kernel was generated for another version of the runtime."""

    status = -8


_ERRORS = {
    error.status: error
    for error in (
        ArgumentError,
        OutOfMemoryError,
        DeviceError,
        DeviceNotFoundError,
        CompileError,
        CancelledError,
        AbiError,
    )
}


class Info(ctypes.Structure):
    """``mr_info``: the description of a device."""

    _fields_ = [
        ("id", c_char * 32),
        ("name", c_char * 256),
        ("kind", c_int),
        ("units", c_uint32),
        ("memory_bytes", c_uint64),
        ("major", c_int32),
        ("minor", c_int32),
    ]


class Data(ctypes.Structure):
    """``mr_data``: the contents of a buffer that is the same for all indices."""

    _fields_ = [("bytes", c_void_p), ("size", c_uint64)]


class Rows(ctypes.Structure):
    """``mr_rows``: an array with a row for each index."""

    _fields_ = [("buffer", c_uint32), ("row_bytes", c_uint64), ("input", c_void_p), ("output", c_void_p)]


ChunkFunction = ctypes.CFUNCTYPE(c_int64, c_void_p, c_uint64, c_uint64, c_void_p, c_void_p)
ProgressFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)


class TaskOptions(ctypes.Structure):
    """``mr_task_options``."""

    _fields_ = [
        ("chunk", ChunkFunction),
        ("progress", ProgressFunction),
        ("user", c_void_p),
        ("ring_hits", c_uint64),
        ("max_indices", c_uint64),
        ("min_indices", c_uint64),
        ("launch_bytes", c_uint64),
        ("launch_buffer", c_uint32),
    ]


class Launch(ctypes.Structure):
    """``mr_launch``: a raw launch."""

    _fields_ = [
        ("chunk", c_void_p),
        ("base", c_uint64),
        ("count", c_uint64),
        ("buffers", POINTER(c_void_p)),
        ("buffer_count", c_size_t),
        ("ring", c_void_p),
        ("count_buffer", c_void_p),
        ("count_word", c_uint64),
    ]


_HANDLE = POINTER(c_void_p)
_TASK = (POINTER(TaskOptions), _HANDLE)
_KERNEL = (c_void_p, c_void_p, c_void_p, c_void_p)

# Functions that return a status, with the types of their arguments.
_CHECKED = {
    "mr_open": (c_char_p, _HANDLE),
    "mr_device_info": (c_void_p, POINTER(Info)),
    "mr_probe": (c_char_p, POINTER(Info)),
    "mr_buffer_alloc": (c_void_p, c_uint64, _HANDLE),
    "mr_buffer_adopt": (c_void_p, c_uint64, c_uint64, _HANDLE),
    "mr_host_alloc": (c_void_p, c_uint64, _HANDLE),
    "mr_host_is_locked": (c_void_p, c_void_p, c_uint64),
    "mr_stream_open": (c_void_p, _HANDLE),
    "mr_stream_adopt": (c_void_p, c_void_p, _HANDLE),
    "mr_write": (c_void_p, c_void_p, c_uint64, c_void_p, c_uint64),
    "mr_read": (c_void_p, c_void_p, c_uint64, c_void_p, c_uint64),
    "mr_copy": (c_void_p, c_void_p, c_uint64, c_void_p, c_uint64, c_uint64),
    "mr_fill": (c_void_p, c_void_p, c_uint32, c_uint64, c_uint64),
    "mr_wait": (c_void_p,),
    "mr_is_idle": (c_void_p,),
    "mr_event_open": (c_void_p, _HANDLE),
    "mr_event_record": (c_void_p, c_void_p),
    "mr_event_wait": (c_void_p,),
    "mr_stream_follow": (c_void_p, c_void_p),
    "mr_job_open": (c_void_p, c_void_p, c_void_p, _HANDLE),
    "mr_launch_job": (c_void_p, c_void_p, POINTER(Launch)),
    "mr_search_start": (*_KERNEL, c_uint64, c_uint64, *_TASK),
    "mr_search_hits": (c_void_p, POINTER(c_void_p), POINTER(c_size_t)),
    "mr_generate_start": (*_KERNEL, c_uint32, c_uint64, c_uint64, c_uint64, c_void_p, *_TASK),
    "mr_transform_start": (*_KERNEL, POINTER(Rows), c_size_t, c_uint64, *_TASK),
    "mr_task_is_done": (c_void_p,),
    "mr_task_progress": (c_void_p, POINTER(c_uint64), POINTER(c_uint64)),
    "mr_task_cancel": (c_void_p,),
}
_UNCHECKED = {
    "mr_task_wait": (c_int, (c_void_p,)),
    "mr_error": (c_char_p, (c_void_p,)),
    "mr_device_count": (c_int, (c_int,)),
    "mr_buffer_address": (c_uint64, (c_void_p,)),
    "mr_stream_native": (c_void_p, (c_void_p,)),
    "mr_close": (None, (c_void_p,)),
    "mr_buffer_free": (None, (c_void_p,)),
    "mr_host_free": (None, (c_void_p, c_void_p)),
    "mr_stream_close": (None, (c_void_p,)),
    "mr_event_close": (None, (c_void_p,)),
    "mr_job_close": (None, (c_void_p,)),
    "mr_task_close": (None, (c_void_p,)),
}


# Functions that only look something up or queue a command. They keep the interpreter's lock: giving it up costs more than
# the call, and with another busy thread 5 ms to get it back.
_QUICK = {
    "mr_error",
    "mr_buffer_address",
    "mr_buffer_adopt",
    "mr_stream_native",
    "mr_host_is_locked",
    "mr_event_record",
    "mr_stream_follow",
    "mr_launch_job",
    "mr_is_idle",
    "mr_write",
    "mr_read",
}


class Library:
    """The functions of the shared library, by name."""

    def __init__(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)
        try:
            self._blocking, self._quick = ctypes.CDLL(path), ctypes.PyDLL(path)
        except OSError as error:
            raise ImportError(
                f"cannot load {path}: {error}; build it with `make`, or install the folder with `pip install`"
            ) from None
        for name, arguments in _CHECKED.items():
            self.declare(name, c_int, arguments, name in _QUICK)
        for name, (result, arguments) in _UNCHECKED.items():
            self.declare(name, result, arguments, name in _QUICK)

    def declare(self, name, result, arguments, is_quick=False, alias=None):
        """Makes a function an attribute. A negative result of type int or int64 is an error."""
        function = (self._quick if is_quick else self._blocking)[name]
        function.restype, function.argtypes = result, arguments
        if result in (c_int, c_int64):
            function.errcheck = _check
        setattr(self, alias or name, function)

    def address(self, symbol):
        """The address of a function or a table."""
        return ctypes.addressof(c_char.in_dll(self._blocking, symbol))


def _check(result, _function, _arguments):
    if result < 0:
        raise error_of(result)
    return result


def error_of(status, device=None):
    """Returns the exception of a status, with the text of the thread's last error, or of the device's."""
    text = library.mr_error(device).decode("utf-8", "replace")
    made = _ERRORS.get(status, MillraceError)(text or f"status {status}")
    made.status = status
    return made


library = Library()


def kernel_of(symbol):
    """Returns the address of a kernel's table, after a check of its ABI version."""
    address = library.address(symbol)
    version = c_uint32.from_address(address).value
    if version != ABI:
        raise AbiError(f"{NAME} has ABI version {version}, this module {ABI}: export and build both again")
    return address
