"""Memory, threads, processes and the end of the interpreter.

Usage: lifetimes.py BACKEND BATCHES
"""

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading

import numpy as np

import encode
from arrays import taken

backend, batches = sys.argv[1], int(sys.argv[2])
engine = encode.QdpEngine(0, "float64", backend)
random = np.random.default_rng(1)


def right(x, made):
    norm = np.sqrt((x * x).sum(1, keepdims=True))
    return np.abs(made[:, : x.shape[1]] - x / norm).max() < 1e-15


# Zero copy: NumPy sees the engine's own memory, and the memory comes back after the last view of it.
x = random.normal(size=(4, 1024))
states = engine.encode(x, 10)
assert states.shape == (4, 1024) and states.dtype == "complex128" and len(states) == 4 and states.nbytes == 65536
if backend == "cuda":
    assert right(x, taken(states))  # consumer.py proves the rest with PyTorch
else:
    pointer = states.data_ptr
    made = np.from_dlpack(states)
    if backend != "opencl":
        assert made.__array_interface__["data"][0] == pointer, "NumPy took a copy"
    assert right(x, made) and made.flags.writeable
    used = engine.live_states
    row = made[2]
    del made
    gc.collect()
    assert engine.live_states == used, "a view must keep the memory"
    assert abs(np.linalg.norm(row) - 1) < 1e-14
    del row
del states
gc.collect()
assert engine.live_states == 0 or backend == "opencl", engine.live_states

# The unversioned and the versioned capsule; one that nobody consumes is freed.
name = ctypes.pythonapi.PyCapsule_GetName
name.restype, name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
for version, expected in ((None, b"dltensor"), ((1, 0), b"dltensor_versioned"), ((0, 8), b"dltensor")):
    capsule = engine.encode(x, 10).__dlpack__(max_version=version)
    assert name(capsule) == expected
    del capsule
gc.collect()
assert engine.live_states == 0
assert np.array_equal(engine.encode(x, 10).numpy(), np.array(engine.encode(x, 10).tolist()))
states = engine.encode(x, 10)
assert np.array_equal(np.asarray(states), states.numpy()) and np.array(states, np.complex64).dtype == np.complex64
assert right(x, taken(states))  # copies leave them
del states
gc.collect()
part = engine.encode(x, 10).part(1, 2)
assert right(x[1:3], taken(part))

# Parts share memory and are consumed one by one.
states = engine.encode(x, 10)
parts = [taken(states.part(k, 1)) for k in range(4)]
states.release()
assert right(x, np.concatenate(parts))
del parts
gc.collect()
assert engine.live_states == 0


# Flat in memory.
def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


small = random.normal(size=(8, 256))
for _ in range(500):
    taken(engine.encode(small, 8))
before = resident()
for _ in range(batches):
    taken(engine.encode(small, 8))
grown = resident() - before
assert grown < 4 << 20, f"{batches} batches grew by {grown} bytes"

# Threads on one engine, and two engines at a time.
other = encode.QdpEngine(0, "float32", backend)
failures = []


def work(own, seed):
    try:
        mine = np.random.default_rng(seed)
        for _ in range(40):
            n = int(mine.integers(1, 9))
            given = mine.normal(size=(int(mine.integers(1, 5)), 1 << n))
            got = taken(own.encode(given, n)).astype(complex)
            norm = np.sqrt((given * given).sum(1, keepdims=True))
            assert np.abs(got - given / norm).max() < 1e-6
    except BaseException as error:  # noqa: B902
        failures.append(error)


threads = [threading.Thread(target=work, args=(each, seed)) for seed, each in enumerate([engine, other] * 3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures

# fork(): the child gets an error for the parent's engine, may open its own, and ends; the parent goes on.
kept = taken(engine.encode(x, 10))
live = engine.encode(x, 10)
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    status = 1
    try:
        try:
            engine.encode(x, 10)
        except encode.MillraceError as error:
            assert "fork" in str(error)
            assert right(x, kept)
            del kept, live
            gc.collect()
            if backend == "cpu":
                with encode.QdpEngine(0, "float64", "cpu") as own:
                    assert right(x, taken(own.encode(x, 10)))
            status = 0
    finally:
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 if hasattr(os, "waitstatus_to_exitcode") else True
assert right(x, taken(engine.encode(x, 10)))
assert right(x, kept)


def in_child(queue):
    with encode.QdpEngine(0, "float64", "cpu") as own:
        queue.put(taken(own.encode([3.0, 4.0], 1)).tolist())


if backend == "cpu":
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    assert np.allclose(queue.get(timeout=60), [[0.6, 0.8]], atol=1e-15)
    child.join(60)
    assert child.exitcode == 0

# A tensor outlives its engine.
last = taken(other.encode([3.0, 4.0], 1))
other.close()
assert abs(last[0, 1] - 0.8) < 1e-6
pinned = engine.alloc_input(2, 4)
array = np.asarray(pinned)
array[:] = 1
assert right(array, taken(engine.encode(array, 2)))

# Live at the end of the interpreter: tensors, states, a batch under way, page-locked memory, an engine.
pending = engine.encode_batch_submit(x, 10)
print("ok", flush=True)
