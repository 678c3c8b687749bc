"""States on a CUDA device without a consumer that knows CUDA: capsules, streams, tensors of other libraries.

Runs on the fake driver, too, whose device memory is host memory. Usage: device.py DATA
"""

import ctypes
import gc

import numpy as np

import encode
from encode._library import library

engine = encode.QdpEngine(0, "float64", "cuda")
x = np.random.default_rng(4).normal(size=(6, 32))
want = x / np.linalg.norm(x, axis=1, keepdims=True)

states = engine.encode(x, 5)
assert states.__dlpack_device__() == (2, 0) and states.device == "cuda:0"
states.release()


class OnDevice:
    """An array of another library: samples in device memory, by __cuda_array_interface__."""

    def __init__(self, array, stream):
        made = ctypes.c_void_p()
        library.mr_buffer_alloc(engine.handle, array.nbytes, ctypes.byref(made))
        library.mr_write(stream, made.value, 0, self.staged(array), array.nbytes)
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (library.mr_buffer_address(made.value), False),
            "strides": None,
            "version": 3,
            "stream": library.mr_stream_native(stream),
        }

    def staged(self, array):
        made = ctypes.c_void_p()
        library.mr_host_alloc(engine.handle, array.nbytes, ctypes.byref(made))
        ctypes.memmove(made.value, array.ctypes.data, array.nbytes)
        return made.value


own = engine.stream()
assert np.abs(engine.encode(OnDevice(x, own), 5).numpy() - want).max() < 1e-15
assert np.abs(engine.encode(OnDevice(x.astype(np.float32), own), 5).numpy() - want).max() < 1e-6
index = np.array([[3], [0], [31]], np.int64)
made = engine.encode(OnDevice(index, own), 5, "basis").numpy()
assert [list(row).index(1) for row in made] == [3, 0, 31]
for bad, method, category in (
    (np.array([[1], [-1]], np.int64), "basis", "negative"),
    (np.array([[32]], np.int64), "basis", "range"),
    (np.array([[np.nan] * 5], np.float32), "angle", "finite"),
    (np.zeros((2, 32)), "amplitude", "norm"),
    (np.zeros((2, 32), np.int32), "amplitude", "dtype"),
):
    try:
        engine.encode(OnDevice(bad, own), 5, method)
        raise SystemExit("must be refused")
    except encode.QdpError as error:
        assert error.category == category, (category, error)

# Capsules: consumed with a stream, given back, and the memory is used again.
engine.release_memory()
states = engine.encode(x, 5)
pointer = states.data_ptr
capsule = states.__dlpack__(stream=library.mr_stream_native(own))
del states
assert engine.live_states == 1
del capsule
gc.collect()
assert engine.live_states == 0
again = engine.encode(x, 5)
assert again.data_ptr == pointer, "the block is used again"
copied = np.from_dlpack(again, device="cpu") if hasattr(np, "__array_namespace_info__") else again.numpy()
assert np.abs(copied - want).max() < 1e-15
pinned = engine.alloc_input(6, 32)
np.asarray(pinned)[:] = x
assert np.abs(engine.encode(pinned, 5).numpy() - want).max() < 1e-15
large = np.random.default_rng(5).normal(size=(40, 1 << 13))  # 2.5 MiB: several threads and pieces
made = engine.encode(large, 13).numpy()
assert np.abs(made - large / np.linalg.norm(large, axis=1, keepdims=True)).max() < 1e-15
engine.close()
print("ok")
