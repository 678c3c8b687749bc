"""Measures the loader: `QdpBenchmark`."""

import time
from typing import NamedTuple

from .engine import QdpEngine
from .loader import QuantumDataLoader
from .prefetch import pipelined
from .shapes import check_qubits, encoding_of, precision_of, whole
from .synthetic import synthetic_batches


class ThroughputResult(NamedTuple):
    duration_sec: float
    vectors_per_sec: float


class LatencyResult(NamedTuple):
    duration_sec: float
    latency_ms_per_vector: float


class QdpBenchmark:
    """Times synthetic batches from the producer to states on the device: batches × size ÷ wall seconds."""

    def __init__(self, device_id=0):
        self._device_id = device_id
        self._num_qubits, self._encoding = 16, "amplitude"
        self._total, self._size = 100, 64
        self._depth, self._warmup = 16, 0
        self._backend, self._device_backend, self._dtype = "rust", "auto", "f32"

    def qubits(self, num_qubits):
        """The number of qubits; 16 by default."""
        self._num_qubits = check_qubits(num_qubits)
        return self

    def encoding(self, method):
        """One of ``ENCODINGS``; amplitude by default."""
        self._encoding = encoding_of(method)
        return self

    def batches(self, total, size=64):
        """Batches of a run, and samples of a batch; 100 of 64 by default."""
        self._total, self._size = whole(total, "total"), whole(size, "size")
        return self

    def prefetch(self, depth):
        """Batches that the producer makes ahead."""
        self._depth = whole(depth, "depth")
        return self

    def warmup(self, batches):
        """Batches before the clock starts; at least one is run."""
        self._warmup = whole(batches, "warmup", 0, category="size")
        return self

    def backend(self, name):
        """``pytorch`` measures the reference in PyTorch; ``rust``, ``millrace`` and ``auto`` measure this engine."""
        QuantumDataLoader().backend(name)
        self._backend = name
        return self

    def device(self, backend):
        """The engine's backend: ``auto``, ``cuda``, ``opencl`` or ``cpu``."""
        self._device_backend = backend
        return self

    def dtype(self, name):
        """The type of samples and states: float32 (default) or float64."""
        self._dtype = precision_of(name)
        return self

    def run_throughput(self):
        """Runs the batches and returns the time and the vectors per second."""
        seconds = self._run()
        return ThroughputResult(seconds, self._total * self._size / seconds)

    def run_latency(self):
        """The same run, as milliseconds per vector. It is not the time that one request waits."""
        seconds = self._run()
        return LatencyResult(seconds, 1000 * seconds / (self._total * self._size))

    def _run(self):
        if self._backend == "pytorch":
            return self._run_torch()
        with QdpEngine(self._device_id, self._dtype, self._device_backend) as engine:
            for _ in self._states(engine, max(1, self._warmup)):
                pass
            engine.synchronize()
            begun = time.perf_counter()
            for _ in self._states(engine, self._total):
                pass
            engine.synchronize()
            return time.perf_counter() - begun

    def _states(self, engine, total):
        shape = (self._encoding, self._num_qubits, self._size, range(total), 0, self._dtype)
        return pipelined(
            engine,
            lambda allocate: synthetic_batches(*shape, allocate),
            self._depth,
            self._dtype,
            self._num_qubits,
            self._encoding,
        )

    def _run_torch(self):
        loader = QuantumDataLoader(self._device_id).qubits(self._num_qubits).encoding(self._encoding)
        loader = loader.dtype(self._dtype).backend("pytorch")
        for _ in loader.batches(max(1, self._warmup), self._size):
            pass
        begun = time.perf_counter()
        last = None
        for last in loader.batches(self._total, self._size):
            pass
        if last is not None and last.is_cuda:
            import torch

            torch.cuda.synchronize()
        return time.perf_counter() - begun
