"""Batches of states from synthetic data or a file, made while the last ones are used."""

import array
import ctypes
import math
import queue
import threading
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from .engine import QdpEngine
from .errors import InvalidInputError, MissingPackageError
from .files import check_basis_f32, parquet_batches, read_samples, rows_of, samples_in
from .inputs import Samples
from .pinned import pinned_array
from .shapes import check_qubits, encoding_of, precision_of, prefetch_depth, sample_length

_NULLS = ("fill_zero", "reject")
_BACKENDS = ("rust", "millrace", "pytorch", "auto")


class QuantumDataLoader:
    """Iterates over batches of states. Each step of the chain checks its arguments at once.

    ``for states in QuantumDataLoader().qubits(10).encoding("angle").source_file("angles.npy"): ...``

    A thread makes or reads the next batches, into page-locked memory where the device has it. Samples of files have
    exactly as many values as the encoding takes; a file is read to its end, and its last batch may be short.
    """

    def __init__(
        self, device_id=0, num_qubits=16, batch_size=64, total_batches=100, encoding_method="amplitude", seed=None
    ):
        self._device_id = device_id
        self._backend = "rust"
        self._device_backend = "auto"
        self._is_synthetic, self._path, self._is_streaming = False, None, False
        self._dtype = None
        self._precision = None
        self._nulls = "fill_zero"
        self._depth = None
        self._seed = None
        self._engine = None
        self.qubits(num_qubits).encoding(encoding_method).batches(total_batches, batch_size)
        if seed is not None:
            self.seed(seed)

    # ---- the chain ----

    def qubits(self, num_qubits):
        check_qubits(num_qubits)
        self._num_qubits = num_qubits
        return self

    def encoding(self, method):
        self._encoding = encoding_of(method)
        return self

    def batches(self, total, size=64):
        """Batches of synthetic data, and samples of a batch."""
        self._total, self._size = _positive(total, "total"), _positive(size, "size")
        return self

    def source_synthetic(self, total_batches=None):
        """Reproducible data: sample s is a rotation of a ramp by s."""
        if total_batches is not None:
            self._total = _positive(total_batches, "total_batches")
        self._is_synthetic = True
        return self

    def source_file(self, path, streaming=False):
        """A file's samples. With `streaming`, which only Parquet has, the file is read piece by piece."""
        if streaming and not str(path).lower().endswith(".parquet"):
            raise InvalidInputError(f"{path}: streaming is for .parquet files", "source")
        self._path, self._is_streaming = path, bool(streaming)
        return self

    def dtype(self, name):
        """The type of the samples on the host: float64 (default for files) or float32 (default for synthetic data)."""
        self._dtype = precision_of(name)
        return self

    def precision(self, name):
        """The type of the states; by default that of the samples."""
        self._precision = precision_of(name)
        return self

    def seed(self, number):
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 64:
            raise InvalidInputError(f"the seed is {number!r}: give a whole number from 0 to 2^64 - 1", "size")
        self._seed = number
        return self

    def null_handling(self, policy):
        """What nulls of Arrow and Parquet files become: ``fill_zero`` or an error (``reject``)."""
        if policy not in _NULLS:
            raise InvalidInputError(f"unknown policy {policy!r}: use {', '.join(_NULLS)}", "source")
        self._nulls = policy
        return self

    def prefetch(self, depth):
        """Batches to make ahead; by default as many as 256 MiB hold, from 1 to 32."""
        self._depth = _positive(depth, "depth")
        return self

    def backend(self, name):
        """``rust`` and ``millrace`` are this engine; ``pytorch`` is a reference; ``auto`` falls back to it, and warns."""
        if name not in _BACKENDS:
            raise InvalidInputError(f"unknown backend {name!r}: use {', '.join(_BACKENDS)}", "source")
        self._backend = name
        return self

    def device(self, backend):
        """The engine's backend: ``auto``, ``cuda``, ``opencl`` or ``cpu``."""
        self._device_backend = backend
        return self

    def as_torch_dataset(self):
        """Returns a ``torch.utils.data.IterableDataset`` of tensors, one for each batch."""
        try:
            from torch import from_dlpack
            from torch.utils.data import IterableDataset
        except ImportError:
            raise MissingPackageError("as_torch_dataset() needs the package torch: pip install torch") from None
        loader = self

        class States(IterableDataset):
            def __iter__(self):
                for states in loader:
                    yield states if hasattr(states, "is_complex") else from_dlpack(states)

        return States()

    def using(self, engine):
        """Iterates with an engine that is open already, in its precision."""
        self._engine = engine
        return self

    # ---- iteration ----

    def __iter__(self):
        if self._is_synthetic and self._path is not None:
            raise InvalidInputError("a loader has one source: source_synthetic() or source_file(), not both", "source")
        dtype = self._dtype or ("f64" if self._path is not None else "f32")
        precision = self._precision or dtype
        if self._backend == "pytorch":
            return _by_torch(self._plain_batches(dtype), self, precision)
        if self._engine is not None:
            return self._encoded(self._engine, dtype)
        try:
            engine = QdpEngine(self._device_id, precision, self._device_backend)
        except Exception as error:
            if self._backend != "auto":
                raise
            warnings.warn(f"the engine cannot be used ({error}): falling back to PyTorch", RuntimeWarning, stacklevel=2)
            return _by_torch(self._plain_batches(dtype), self, precision)
        return self._encoded(engine, dtype)

    def _encoded(self, engine, dtype):
        size = 8 if dtype == "f64" else 4
        depth = self._depth or prefetch_depth(self._encoding, self._num_qubits, self._size, size)
        return pipelined(
            engine, lambda allocate: self._batches(dtype, allocate), depth, dtype, self._num_qubits, self._encoding
        )

    def _plain_batches(self, dtype):
        return self._batches(dtype, lambda count, length: _plain(count, length, dtype))

    def _batches(self, dtype, allocate):
        if self._path is not None:
            return self._file_batches(dtype)
        return synthetic_batches(
            self._encoding, self._num_qubits, self._size, self._total, self._seed or 0, dtype, allocate
        )

    def _file_batches(self, dtype):
        expected = sample_length(self._encoding, self._num_qubits)
        parts = self._streamed(dtype) if self._is_streaming else [self._whole(dtype)]
        for samples in parts:
            if samples.length != expected:
                takes = f"{self._encoding} of {self._num_qubits} qubits takes {expected}"
                raise InvalidInputError(f"{self._path}: samples have {samples.length} values, {takes}", "size")
            row = samples.bytes // samples.count
            for first in range(0, samples.count, self._size):
                count = min(self._size, samples.count - first)
                yield Samples(samples.address + first * row, (count, expected), samples.type, samples)

    def _whole(self, dtype):
        samples = read_samples(self._path, self._encoding, self._num_qubits, self._nulls, "f64")
        if dtype == "f64" or samples.type == "f32":
            return samples
        if self._encoding == "basis":
            check_basis_f32(self._path, samples)
        return _narrowed(self._path, samples)

    def _streamed(self, dtype):
        """Record batches of a Parquet file, cut into batches of the loader's size."""
        letter = "d" if dtype == "f64" else "f"
        kept, length = array.array(letter), None
        for column in parquet_batches(self._path):
            read = rows_of(self._path, column, self._nulls)
            if read is None:
                if length is not None:
                    kept.extend([0.0] * (length * len(column)))
                continue
            flat, own = read
            if length is not None and own != length:
                raise InvalidInputError(f"{self._path}: rows have {length} and {own} values", "size")
            length = own
            values = flat.cast("float64" if letter == "d" else "float32", safe=False).to_numpy(False)
            kept.frombytes(memoryview(values).cast("B"))
            whole = len(kept) // (length * self._size) * self._size
            if whole:
                yield samples_in(kept[: whole * length], (whole, length))
                kept = kept[whole * length :]
        if length is None:
            raise InvalidInputError(f"{self._path}: the file has no rows", "samples")
        if kept:
            yield samples_in(kept, (len(kept) // length, length))


def _positive(number, name):
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidInputError(f"{name} is {number!r}: give a whole number of at least 1", "samples")
    return number


def _narrowed(path, samples):
    values = (ctypes.c_double * (samples.count * samples.length)).from_address(samples.address)
    made = array.array("f", [_float(value) for value in values])
    if any(math.isinf(new) and not math.isinf(old) for new, old in zip(made, values)):
        warnings.warn(f"{path}: values beyond float32 became infinite", RuntimeWarning, stacklevel=2)
    return samples_in(made, (samples.count, samples.length))


_MAX_FLOAT = 3.4028235677973366e38


def _float(value):
    """array refuses what rounds to infinity."""
    return math.copysign(math.inf, value) if abs(value) >= _MAX_FLOAT else value


# ---- synthetic data ----


def synthetic_batches(encoding, num_qubits, size, total, seed, dtype, allocate):
    """The specification's data: sample s = seed + batch * size + row is a ramp that begins at s."""
    length = sample_length(encoding, num_qubits)
    value_bytes = 8 if dtype == "f64" else 4
    if encoding == "basis":
        period, step = 1 << num_qubits, 1.0
    else:
        period, step = length, 1.0 / length if encoding == "amplitude" else 2 * math.pi / length
    # Two periods: every rotation is one piece.
    letter = "d" if dtype == "f64" else "f"
    ramp = None if encoding == "basis" else array.array(letter, [i * step for i in range(period)] * 2)
    start = ramp.buffer_info()[0] if ramp else 0
    # A thread copies 8 GB/s; rows that take longer than waking one are shared out.
    copiers = ThreadPoolExecutor(4, "qdp-synthetic") if ramp and length * value_bytes >= 1 << 17 else None
    try:
        for batch in range(total):
            samples = allocate(size, length)
            first = seed + batch * size
            if ramp is None:
                kind = ctypes.c_double if dtype == "f64" else ctypes.c_float
                values = (kind * size).from_address(samples.address)
                values[:] = [float((first + row) % period) for row in range(size)]
            else:
                row_bytes = length * value_bytes

                def fill(row, first=first, address=samples.address):
                    shift = (first + row) % period
                    ctypes.memmove(address + row * row_bytes, start + shift * value_bytes, row_bytes)

                if copiers is None:
                    for row in range(size):
                        fill(row)
                else:
                    list(copiers.map(fill, range(size)))
            yield samples
    finally:
        if copiers is not None:
            copiers.shutdown()


def _plain(count, length, dtype):
    values = array.array("d" if dtype == "f64" else "f", bytes(count * length * (8 if dtype == "f64" else 4)))
    return samples_in(values, (count, length))


class Prefetch:
    """A thread that makes batches ahead, up to `depth` of them. Spent memory goes back to it."""

    def __init__(self, make, depth, engine, precision):
        self._precision = precision
        self._ready = queue.Queue(depth)
        self._spent = queue.SimpleQueue()
        self._engine = engine
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(make,), name="qdp-prefetch", daemon=True)
        self._thread.start()

    def _allocate(self, count, length):
        try:
            samples = self._spent.get_nowait()
            if (samples.count, samples.length) == (count, length):
                return samples
        except queue.Empty:
            pass
        view = pinned_array(self._engine, count, length, self._precision)
        made = samples_in(view, (count, length))
        made.values = view
        return made

    def _run(self, make):
        try:
            for samples in make(self._allocate):
                if not self._put((samples, None)):
                    return
            self._put((None, None))
        except Exception as error:  # delivered once, and ends the iteration
            self._put((None, error))

    def _put(self, item):
        while not self._is_closed.is_set():
            try:
                self._ready.put(item, timeout=0.05)
                return True
            except queue.Full:
                continue
        return False

    def __iter__(self):
        while True:
            samples, error = self._ready.get()
            if error is not None:
                raise error
            if samples is None:
                return
            yield samples

    def recycle(self, samples):
        """Takes memory back whose batch has been copied."""
        if samples.values is not None:
            self._spent.put(samples)

    def close(self):
        """Ends the thread, also if it waits for a place in a full queue."""
        self._is_closed.set()
        self._thread.join()


def pipelined(engine, make, depth, dtype, num_qubits, encoding, in_flight=3):
    """Yields the states of prefetched batches, in order, with several batches under way."""
    produced = Prefetch(make, depth, engine, dtype)
    waiting = deque()
    try:
        for samples in produced:
            waiting.append((engine._submit(samples, num_qubits, encoding), samples))
            if len(waiting) >= in_flight:
                yield _finished(produced, *waiting.popleft())
        while waiting:
            yield _finished(produced, *waiting.popleft())
    finally:
        produced.close()


def _finished(produced, pending, samples):
    states = pending.get()
    produced.recycle(samples)
    return states


def _by_torch(batches, loader, precision):
    from .reference import encode_by_torch

    for samples in batches:
        yield encode_by_torch(samples, loader._num_qubits, loader._encoding, precision)
