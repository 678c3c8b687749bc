"""Reproducible samples for tests and benchmarks."""

import array
import ctypes
import math

from ._library import library
from .engine import copy_threads
from .native import Ramp
from .shapes import sample_length


def synthetic_batches(encoding, num_qubits, size, numbers, seed, dtype, allocate):
    """The specification's data, of the batches with these numbers: sample s = seed + number * size + row begins at s."""
    length = sample_length(encoding, num_qubits)
    value_bytes = 8 if dtype == "f64" else 4
    if encoding == "basis":
        kind, period = ctypes.c_double if dtype == "f64" else ctypes.c_float, 1 << num_qubits
        for number in numbers:
            samples = allocate(size, length)
            first = seed + number * size
            values = (kind * size).from_address(samples.address)
            values[:] = [float((first + row) % period) for row in range(size)]
            yield samples
        return
    step = 1.0 / length if encoding == "amplitude" else 2 * math.pi / length
    values = array.array("d" if dtype == "f64" else "f", [i * step for i in range(length)] * 2)
    ramp = Ramp(values.buffer_info()[0], length, value_bytes)
    threads = copy_threads()
    for number in numbers:
        samples = allocate(size, length)
        library.qdp_write_rotations(ramp, samples.address, (seed + number * size) % length, size, threads)
        yield samples
