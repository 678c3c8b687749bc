"""Page-locked memory for samples."""

import ctypes
import os
from ctypes import byref, c_double, c_float, c_void_p

from ._device import is_ending
from ._library import library
from .shapes import whole


class _Memory:
    """Memory of the device's runtime, freed with this object. The device stays open until then."""

    def __init__(self, engine, size):
        made = c_void_p()
        library.mr_host_alloc(engine.handle, size, byref(made))
        self._device, self._pool, self.address = engine.handle, engine.pool.handle, made.value
        self._process = os.getpid()
        library.qdp_pool_hold(self._pool)

    def __del__(self):
        if getattr(self, "_process", None) == os.getpid() and not is_ending():
            library.mr_host_free(self._device, self.address)
            library.qdp_pool_drop(self._pool)


def pinned_array(engine, num_samples, sample_size, precision):
    num_samples = whole(num_samples, "num_samples", category="size")
    sample_size = whole(sample_size, "sample_size", category="size")
    engine.check_usable()
    kind, letter = (c_double, "d") if precision == "f64" else (c_float, "f")
    count = num_samples * sample_size
    memory = _Memory(engine, count * ctypes.sizeof(kind))
    array = (kind * count).from_address(memory.address)
    array._memory = memory  # lives as long as the array, which the memoryview keeps
    flat = memoryview(array).cast("B")
    return flat.cast(letter, (num_samples, sample_size))
