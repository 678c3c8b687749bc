"""States on their device, and their hand-over to other libraries."""

import ctypes
import os
import threading
from ctypes import byref, c_char_p, c_void_p

from . import native  # noqa: F401  declares the functions
from ._device import Device, View, python_function
from ._library import library
from .errors import HandOverError

library.qdp_capsule_functions(
    ctypes.cast(ctypes.pythonapi.PyCapsule_IsValid, c_void_p),
    ctypes.cast(ctypes.pythonapi.PyCapsule_GetPointer, c_void_p),
)
_new_capsule = python_function("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
_destroy = library.address("qdp_capsule_destroy")
# PyCapsule_New keeps the pointer to the name.
_PLAIN, _VERSIONED = c_char_p(b"dltensor"), c_char_p(b"dltensor_versioned")

CPU, CUDA = 1, 2  # DLPack's numbers of devices


class Pool:
    """The memory of results on a device."""

    def __init__(self, device):
        made = c_void_p()
        library.qdp_pool_open(device.handle, byref(made))
        self.handle = made.value
        self.device = device
        self._streams = {}
        # The pool closes the device, once the last tensor is gone.
        device._opened = None
        self._process = device._process

    def take(self, size, stream):
        block = c_void_p()
        library.qdp_block_take(self.handle, size, stream, byref(block))
        return block.value

    def adopted(self, native):
        """The stream of another library as a stream of the runtime, made once. DLPack's 1 is the default stream."""
        made = self._streams.get(native)
        if made is None:
            stream = c_void_p()
            library.qdp_pool_stream(self.handle, None if native in (0, 1) else native, byref(stream))
            made = self._streams[native] = stream.value
        return made

    def close(self):
        handle, self.handle = self.handle, None
        if handle is not None:
            library.qdp_pool_close(handle)


_host_lock = threading.Lock()
_host = None


def _host_pool():
    """Host memory for copies of states that another library cannot take where they are."""
    global _host
    with _host_lock:
        if _host is None or _host._process != os.getpid():
            _host = Pool(Device("cpu:1"))
        return _host


class States:
    """A batch of states: rows of 2^n complex amplitudes, on the device that made them.

    ``torch.from_dlpack(states)`` and ``numpy.from_dlpack(states)`` take them without a copy, once; the memory is used
    again after the consumer has freed it. :meth:`numpy` and :meth:`tolist` copy them, if need be, and leave them.
    """

    __slots__ = ("_engine", "_block", "_offset", "_ended", "shape", "dtype", "path", "__weakref__")

    def __init__(self, engine, block, samples, num_qubits, precision, path, offset=0):
        self._engine = engine
        self._block, self._offset = block, offset
        self._ended = None
        self.shape = (samples, 1 << num_qubits)
        self.dtype = "complex128" if precision == "f64" else "complex64"
        #: Names the kernels that made the states.
        self.path = path

    @property
    def device(self):
        """The device's name, as in ``cuda:0``."""
        return self._engine.device_name

    @property
    def nbytes(self):
        """The bytes of all amplitudes."""
        return self.shape[0] * self.shape[1] * (16 if self.dtype == "complex128" else 8)

    def __len__(self):
        return self.shape[0]

    @property
    def data_ptr(self):
        """Where the states are: a CUDA device pointer, or an address of this process. OpenCL has none."""
        self._check()
        if not self._engine.has_pointers:
            return None
        return library.mr_buffer_address(library.qdp_block_buffer(self._block)) + self._offset

    def __dlpack_device__(self):
        return (CUDA, self._engine.ordinal) if self._engine.kind == "cuda" else (CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Hands the states over as a DLPack capsule, once.

        They are complete, so no stream has to wait; the memory is used again only after what `stream` has queued
        when the consumer frees it. A GPU's states are copied to the host if `dl_device` says so, and OpenCL's always.
        """
        self._check()
        own = self.__dlpack_device__()
        wanted = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if wanted not in ((CPU, 0), own):
            raise HandOverError(f"the states are on {self.device}, not on DLPack device {wanted}", "handover")
        is_copied = not self._engine.has_pointers or wanted != own or bool(copy)
        if is_copied and copy is False:
            raise HandOverError(f"states of {self.device} need a copy to be used on DLPack device {wanted}", "handover")
        consumer = None
        if is_copied:
            if wanted[0] != CPU:
                raise HandOverError("a copy on the same device is not supported: clone the consumer's tensor", "handover")
            pool = _host_pool()
            block = pool.take(self.nbytes, None)
            address = library.mr_buffer_address(library.qdp_block_buffer(block))
            self._engine.read(self._block, address, self._offset, self.nbytes)
            offset = 0
        else:
            block, offset = self._block, self._offset
            if self._engine.kind == "cuda" and stream != -1:
                consumer = self._engine.pool.adopted(0 if stream is None else stream)
        is_versioned = max_version is not None and max_version[0] >= 1
        bits = 128 if self.dtype == "complex128" else 64
        tensor = library.qdp_tensor_make(block, offset, *self.shape, bits, *wanted, int(is_versioned), consumer)
        if not tensor:
            raise MemoryError("no memory for a tensor")
        if is_copied:
            self.release()
        self._block = None
        self._ended = "handed over"
        return _new_capsule(tensor, _VERSIONED if is_versioned else _PLAIN, _destroy)

    def read(self, out=None, first=0, count=None):
        """Copies states to the host: real and imaginary parts alternating, into `out` or a new array of floats."""
        self._check()
        count = self.shape[0] - first if count is None else count
        if not (0 <= first and 0 <= count and first + count <= self.shape[0]):
            raise IndexError(f"states {first} to {first + count} of {self.shape[0]}")
        row = self.nbytes // self.shape[0]
        letter = "d" if self.dtype == "complex128" else "f"
        made = memoryview(bytearray(count * row)).cast(letter) if out is None else out
        view = View(made, writable=True)
        if view.bytes != count * row:
            raise ValueError(f"`out` has {view.bytes} bytes, not {count * row}")
        self._engine.read(self._block, view.address, self._offset + first * row, count * row)
        view.release()
        return made

    def __array__(self, dtype=None, copy=None):
        """``numpy.asarray(states)`` is a copy, and leaves the states. ``numpy.from_dlpack`` makes none."""
        if copy is False:
            raise ValueError("an array of states is a copy: use numpy.from_dlpack(states)")
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def numpy(self):
        """Returns a copy as a NumPy array of complex numbers."""
        import numpy

        made = numpy.empty(self.shape, self.dtype)
        self.read(made.reshape(-1).view("f8" if self.dtype == "complex128" else "f4"))
        return made

    def tolist(self):
        """Returns the amplitudes as lists of complex numbers."""
        flat = self.read()
        parts = [complex(re, im) for re, im in zip(flat[0::2], flat[1::2])]
        width = self.shape[1]
        return [parts[at : at + width] for at in range(0, len(parts), width)]

    def part(self, first, count):
        """Returns the states of some samples, without a copy. The memory is freed after the last of all parts."""
        self._check()
        if not (0 <= first and 1 <= count and first + count <= self.shape[0]):
            raise IndexError(f"states {first} to {first + count} of {self.shape[0]}")
        library.qdp_block_share(self._block)
        num_qubits = self.shape[1].bit_length() - 1
        precision = "f64" if self.dtype == "complex128" else "f32"
        offset = self._offset + first * (self.nbytes // self.shape[0])
        return States(self._engine, self._block, count, num_qubits, precision, self.path, offset)

    def release(self):
        """Frees the memory for other states. After a hand-over it does nothing: the memory is the consumer's."""
        block, self._block = self._block, None
        if block is not None:
            self._ended = "released"
            library.qdp_block_return(block)

    def _check(self):
        if self._ended is not None:
            raise HandOverError(f"these states have been {self._ended} already: the hand-over works once")
        self._engine.check_usable()

    def __del__(self):
        if getattr(self, "_block", None) is not None:
            self.release()

    def __repr__(self):
        return f"<States {self.shape[0]} x {self.shape[1]} {self.dtype} on {self.device}>"
