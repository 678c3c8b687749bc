"""Batches of states from synthetic data or a file, made while the last ones are used."""

import array
import itertools
import warnings

from ._library import library
from .columns import arrow_samples, column_rows, parquet_columns
from .engine import QdpEngine
from .errors import FileFormatError, InvalidInputError, MissingPackageError
from .files import check_basis_f32, check_path, read_samples
from .inputs import Samples, samples_in
from .prefetch import pipelined
from .shapes import check_qubits, encoding_of, precision_of, prefetch_depth, sample_length, whole
from .synthetic import synthetic_batches

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
        """The number of qubits, 1 to 30: states have 2^n amplitudes."""
        self._num_qubits = check_qubits(num_qubits)
        return self

    def encoding(self, method):
        """One of ``ENCODINGS``, in upper or lower case."""
        self._encoding = encoding_of(method)
        return self

    def batches(self, total, size=64):
        """Batches of synthetic data, and samples of a batch."""
        self._total, self._size = whole(total, "total"), whole(size, "size")
        return self

    def source_synthetic(self, total_batches=None):
        """Reproducible data: sample s is a rotation of a ramp by s."""
        if total_batches is not None:
            self._total = whole(total_batches, "total_batches")
        self._is_synthetic = True
        return self

    def source_file(self, path, streaming=False):
        """A file's samples. With `streaming`, which only Parquet has, the file is read piece by piece."""
        if check_path(path) != ".parquet" and streaming:
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
        """The number of the first sample of synthetic data, 0 to 2^64 - 1."""
        self._seed = whole(number, "seed", 0, (1 << 64) - 1, "size")
        return self

    def null_handling(self, policy):
        """What nulls of Arrow and Parquet files become: ``fill_zero`` or an error (``reject``)."""
        if policy not in _NULLS:
            raise InvalidInputError(f"unknown policy {policy!r}: use {', '.join(_NULLS)}", "source")
        self._nulls = policy
        return self

    def prefetch(self, depth):
        """Batches to make ahead; by default as many as 256 MiB hold, from 1 to 32."""
        self._depth = whole(depth, "depth")
        return self

    def backend(self, name):
        """``rust`` and ``millrace`` are this engine; ``pytorch`` is a reference; ``auto`` falls back to it, and warns."""
        if name not in _BACKENDS:
            known = ", ".join(_BACKENDS)
            raise InvalidInputError(f"unknown backend {name!r}: use {known}; device() chooses cuda, opencl or cpu", "source")
        self._backend = name
        return self

    def device(self, backend):
        """The engine's backend: ``auto``, ``cuda``, ``opencl`` or ``cpu``."""
        self._device_backend = backend
        return self

    def as_torch_dataset(self):
        """Returns a ``torch.utils.data.IterableDataset`` of tensors, one for each batch.

        In a ``DataLoader`` use ``batch_size=None``: batches are made already. Workers share the batches out and make
        their own engines: on CPUs. On a GPU use ``num_workers=0``; a thread makes the next batches anyway.
        """
        try:
            from .dataset import StatesDataset
        except ImportError:
            raise MissingPackageError("as_torch_dataset() needs the package torch: pip install torch") from None
        return StatesDataset(self)

    def using(self, engine):
        """Iterates with an engine that is open already, in its precision."""
        self._engine = engine
        return self

    # ---- iteration ----

    def __iter__(self):
        return self.share(0, 1)

    def share(self, first, step):
        """Iterates over every `step`-th batch, from number `first` on: the share of one of `step` workers."""
        if self._is_synthetic and self._path is not None:
            raise InvalidInputError("a loader has one source: source_synthetic() or source_file(), not both", "source")
        dtype = self._dtype or ("f64" if self._path is not None else "f32")
        precision = self._precision or dtype

        def batches(allocate):
            return self._batches(dtype, allocate, first, step)

        if self._backend == "pytorch":
            return self._by_torch(batches, dtype, precision)
        if self._engine is not None:
            return self._encoded(self._engine, batches, dtype)
        try:
            engine = QdpEngine(self._device_id, precision, self._device_backend)
        except Exception as error:
            if self._backend != "auto":
                raise
            warnings.warn(f"the engine cannot be used ({error}): falling back to PyTorch", RuntimeWarning, stacklevel=2)
            return self._by_torch(batches, dtype, precision)
        return self._encoded(engine, batches, dtype)

    def _encoded(self, engine, batches, dtype):
        size = 8 if dtype == "f64" else 4
        depth = self._depth or prefetch_depth(self._encoding, self._num_qubits, self._size, size)
        return pipelined(engine, batches, depth, dtype, self._num_qubits, self._encoding)

    def _by_torch(self, batches, dtype, precision):
        from .reference import encode_by_torch

        for samples in batches(lambda count, length: _plain(count, length, dtype)):
            yield encode_by_torch(samples, self._num_qubits, self._encoding, precision)

    def _batches(self, dtype, allocate, first, step):
        if self._path is not None:
            return itertools.islice(self._file_batches(dtype), first, None, step)
        numbers = range(first, self._total, step)
        return synthetic_batches(
            self._encoding, self._num_qubits, self._size, numbers, self._seed or 0, dtype, allocate
        )

    def _file_batches(self, dtype):
        expected = sample_length(self._encoding, self._num_qubits)
        stored = "f64" if dtype == "f64" else None
        parts = self._streamed(stored) if self._is_streaming else [read_samples(self._path, self._nulls, stored)]
        for samples in parts:
            if samples.length != expected:
                takes = f"{self._encoding} of {self._num_qubits} qubits takes {expected}"
                raise InvalidInputError(f"{self._path}: samples have {samples.length} values, {takes}", "size")
            if samples.type != dtype:
                samples = self._narrowed(samples)
            row = samples.bytes // samples.count
            for first in range(0, samples.count, self._size):
                count = min(self._size, samples.count - first)
                yield Samples(samples.address + first * row, (count, expected), samples.type, samples)

    def _narrowed(self, samples):
        """The same samples as float32. Values beyond its range become infinite."""
        if self._encoding == "basis":
            check_basis_f32(self._path, samples)
        count = samples.count * samples.length
        values = array.array("f", bytes(4 * count))
        if library.qdp_narrow(samples.address, values.buffer_info()[0], count):
            warnings.warn(f"{self._path}: values beyond float32 became infinite", RuntimeWarning, stacklevel=2)
        return samples_in(values, (samples.count, samples.length))

    def _streamed(self, precision):
        """Record batches of a Parquet file, cut at multiples of the loader's batch size."""
        import pyarrow

        kept, length = None, 0
        for column, length in column_rows(self._path, parquet_columns(self._path), self._nulls, precision):
            kept = column if kept is None else pyarrow.concat_arrays([kept, column])
            whole = len(kept) // (length * self._size) * length * self._size
            if whole:
                yield arrow_samples(kept[:whole], length)
                kept = kept[whole:]
        if kept is None:
            raise FileFormatError(self._path, "the file has no rows")
        if len(kept):
            yield arrow_samples(kept, length)


def _plain(count, length, dtype):
    values = array.array("d" if dtype == "f64" else "f", bytes(count * length * (8 if dtype == "f64" else 4)))
    return samples_in(values, (count, length))
