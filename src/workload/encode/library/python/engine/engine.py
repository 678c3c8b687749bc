"""The engine: samples to states on one device."""

import os
import threading
from ctypes import addressof, byref, c_uint64, c_void_p

from ._device import Device, is_ending
from ._library import CUDA, MillraceError, library
from .batches import Pending
from .errors import InvalidInputError, MemoryAllocationError
from .files import is_path, read_samples
from .inputs import Samples, samples_of
from .native import NO_MEMORY, NativeSamples, Started
from .plans import Plan
from .reader import Reader
from .shapes import check_batch, check_qubits, encoding_of, estimate_memory, precision_of, whole
from .states import Pool

_BACKENDS = {"cuda": "cuda", "opencl": "opencl", "amd": "opencl", "cpu": "cpu"}
# A thread that sleeps wakes up 50 to 200 us late, which is as long as a batch of 64 states of 16 qubits takes.
_SPIN_US = 2000.0
# A call that gives up the interpreter's lock may get it back 5 ms later; a GPU needs less for what is left of a batch when
# its samples have been copied.
_HOLD_US = 300.0
# One thread copies 6 to 9 GB/s, the bus takes 55: more than eight add little.
MAX_COPY_THREADS = 8


class QdpEngine:
    """Encodes classical data as quantum states, on one device.

    Arguments:
        device_id: the device's number, from 0
        precision: of the amplitudes: ``float32`` (also ``f32``, ``float``) or ``float64`` (``f64``, ``double``)
        backend: ``cuda``, ``opencl`` (also ``amd``) or ``cpu``; ``auto`` is the first of CUDA, an OpenCL GPU and the CPU
            that is there, or what the variable ``MILLRACE_DEVICE`` names

    An engine may be used by several threads, and several engines may be used at a time. It does not survive ``fork()``.
    """

    def __init__(self, device_id=0, precision="float32", backend="auto"):
        self.precision = precision_of(precision)
        self.device_id = device_id
        device = Device(_device_name(device_id, backend))
        if "," in device.info.id:
            raise InvalidInputError("an engine has one device, not a list", "source")
        self.info = device.info
        self.kind = device.info.kind
        self.device_name = device.info.id
        self.ordinal = int(device.info.id.partition(":")[2] or 0) if self.kind != "cpu" else 0
        self.has_pointers = self.kind != "opencl"
        self.process = os.getpid()
        self.spin_us = _SPIN_US if self.kind == "cuda" else 0.0
        self.hold_us = 0.0 if self.kind == "cpu" else _HOLD_US
        self._lock = threading.Lock()
        self._scheduler = None
        self._plans = {}
        # Arguments of a submission, used under the lock.
        self._place, self._size = c_uint64(), c_uint64()
        self._given, self._started = NativeSamples(), Started()
        self._native = None
        self.handle = device.handle
        self.pool = Pool(device)
        made = c_void_p()
        library.qdp_engine_open(self.handle, self.pool.handle, copy_threads(), byref(made))
        self._native = made.value
        self._reader = Reader(self)

    # ---- encoding ----

    def encode(self, data, num_qubits, encoding_method="amplitude"):
        """Encodes one sample, or a batch, and returns its :class:`States`.

        `data` is a flat list of numbers (one sample), a list of lists, a NumPy array or CPU tensor of float64 with one
        or two dimensions, a CUDA tensor, an object with ``__dlpack__``, or the path of a file.
        A CUDA tensor is read where it is, after what its library's current stream has queued.
        """
        return self.encode_batch_submit(data, num_qubits, encoding_method).get()

    def encode_batch(self, data, num_qubits, encoding_method="amplitude", num_samples=None, sample_size=None):
        """Encodes a matrix, or a flat array as `num_samples` samples of `sample_size` values."""
        encoding, num_qubits = encoding_of(encoding_method), check_qubits(num_qubits)
        samples = samples_of(data, encoding)
        return self._shaped(samples, num_qubits, encoding, num_samples, sample_size)

    def encode_batch_f32(self, data, num_qubits, encoding_method="amplitude", num_samples=None, sample_size=None):
        """The same for arrays of float32, which take half the time on the bus."""
        encoding, num_qubits = encoding_of(encoding_method), check_qubits(num_qubits)
        samples = samples_of(data, encoding, allow_f32=True)
        return self._shaped(samples, num_qubits, encoding, num_samples, sample_size)

    def _shaped(self, samples, num_qubits, encoding, num_samples, sample_size):
        if num_samples is not None or sample_size is not None:
            values = samples.count * samples.length
            count = num_samples if num_samples is not None else values // max(1, sample_size)
            length = sample_size if sample_size is not None else values // max(1, count)
            check_batch(encoding, num_qubits, count, length, values)
            samples.count, samples.length = count, length
        return self._submit(samples, num_qubits, encoding).get()

    def encode_batch_submit(self, data, num_qubits, encoding_method="amplitude"):
        """Starts :meth:`encode` and returns a handle whose ``get()`` waits. The data must not change until then."""
        encoding = encoding_of(encoding_method)
        num_qubits = check_qubits(num_qubits)
        samples = read_samples(data) if is_path(data) else samples_of(data, encoding)
        return self._submit(samples, num_qubits, encoding)

    def _submit(self, samples, num_qubits, encoding):
        key = (encoding, num_qubits, samples.length, samples.type)
        if key not in self._plans or samples.count < 1:
            check_batch(encoding, num_qubits, samples.count, samples.length)
        if samples.is_on_device and (self.kind != "cuda" or samples.ordinal != self.ordinal):
            message = f"the tensor is on cuda:{samples.ordinal}, the engine on {self.device_name}: move it with .to()"
            raise InvalidInputError(message, "device")
        with self._lock:
            self.check_usable()
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = Plan(self.handle, self.kind, *key, self.precision)
            if samples.count > plan.max_samples and not self.has_pointers:
                raise InvalidInputError(f"OpenCL takes up to {plan.max_samples} samples of this size at a time", "size")
            is_quick = self._describe(samples)
            submit = library.qdp_submit_quick if is_quick else library.qdp_submit
            started = self._started
            if submit(self._native, plan.native, self._given, started) == NO_MEMORY:
                raise self._memory_error(started.needed_bytes, num_qubits)
            return Pending(self, started.batch, started.block, plan, samples)

    def _describe(self, samples):
        """Tells the library where the samples are. Returns whether it only has to queue commands."""
        given = self._given
        given.count = samples.count
        given.is_in_place = samples.is_on_device or self.kind == "cpu"
        given.writer = None if samples.stream is None else self.pool.adopted(samples.stream)
        if samples.parts is None:
            self._place.value, self._size.value = samples.address, samples.bytes
            given.addresses, given.sizes, given.parts = addressof(self._place), addressof(self._size), 1
        else:
            count = len(samples.parts)
            self._places = (c_uint64 * count)(*(address for address, _ in samples.parts))
            self._sizes = (c_uint64 * count)(*(size for _, size in samples.parts))
            given.addresses, given.sizes, given.parts = addressof(self._places), addressof(self._sizes), count
        given.is_locked = self.kind == "cuda" and not samples.is_on_device and self._is_locked(samples)
        return given.is_in_place or given.is_locked

    def _is_locked(self, samples):
        """True if the bus takes the samples from where they are."""
        if samples.is_locked:
            return True
        parts = samples.parts or ((samples.address, samples.bytes),)
        return all(library.mr_host_is_locked(self.handle, address, size) for address, size in parts)

    # ---- several requests ----

    def encode_list(self, samples, sample_size, num_qubits, encoding_method="amplitude"):
        """Encodes a list of samples, an array each, as one batch.

        Returns the states, and a list of (first sample, count) for each entry.
        """
        with self.coalesce(sample_size, num_qubits, encoding_method) as scope:
            for sample in samples:
                scope.submit(sample)
        return scope.get_result()

    def coalesce(self, sample_size, num_qubits, encoding_method="amplitude"):
        """Returns a scope that gathers requests: ``submit(row)`` and ``submit_batch(matrix)``.

        Leaving the scope encodes them as one batch, and ``get_result()`` returns the states and a list of (first sample,
        count), one for each request.
        """
        from .gather import Coalescer

        return Coalescer(self, sample_size, num_qubits, encoding_method)

    def encode_async(self, data, num_qubits, encoding_method="amplitude"):
        """Encodes one sample together with those of other callers. Returns a handle whose ``get()`` waits."""
        from .gather import Scheduler

        with self._lock:
            self.check_usable()
            if self._scheduler is None:
                self._scheduler = Scheduler(self)
        return self._scheduler.submit(data, num_qubits, encoding_method)

    def encode_stream(self, batches, num_qubits, encoding_method="amplitude", in_flight=4):
        """Yields the states of each batch, in order, while the next ones run. An error is raised in its batch's turn."""
        from .gather import stream_of

        return stream_of(self, batches, num_qubits, encoding_method, in_flight)

    # ---- memory ----

    def alloc_input(self, num_samples, sample_size, dtype="float64"):
        """Returns page-locked memory for samples, from which they are copied at the speed of the bus.

        It is a memoryview of two dimensions, which ``numpy.asarray`` takes without a copy, and freed with its last user.
        """
        from .pinned import pinned_array

        return pinned_array(self, num_samples, sample_size, precision_of(dtype))

    def estimate_memory(self, encoding_method, num_qubits, batch_size, dtype=None, prefetch_depth=16):
        """Estimates the memory of a loader; see :func:`estimate_memory`."""
        given = dtype or ("float64" if self.precision == "f64" else "float32")
        return estimate_memory(encoding_method, num_qubits, batch_size, given, prefetch_depth)

    def memory(self):
        """Returns the free and the total bytes of the device."""
        self.check_usable()
        free, total = c_uint64(), c_uint64()
        library.mr_memory(self.handle, byref(free), byref(total))
        return free.value, total.value

    def _memory_error(self, size, num_qubits):
        free, total = self.memory()
        return MemoryAllocationError(
            f"{_mebibytes(size)} MiB are needed for states of {num_qubits} qubits on {self.device_name}; "
            f"{_mebibytes(free)} MiB of {_mebibytes(total)} MiB are free: use fewer qubits or a smaller batch"
        )

    def release_memory(self):
        """Frees memory that is kept for the next states."""
        self.check_usable()
        library.qdp_pool_trim(self.pool.handle)

    @property
    def live_states(self):
        """The number of batches whose memory is in use, by this program or by consumers."""
        self.check_usable()
        return library.qdp_pool_used(self.pool.handle)

    # ---- the device ----

    def synchronize(self):
        """Waits until all batches that were started have been made."""
        self.check_usable()
        library.qdp_engine_wait(self._native)

    def read(self, block, address, offset, size):
        """Copies from a block to the host, and waits."""
        self.check_usable()
        self._reader.read(library.qdp_block_buffer(block), offset, address, size)

    def read_buffer(self, buffer, address, offset, size):
        self._reader.read(buffer, offset, address, size)

    def event(self):
        made = c_void_p()
        library.mr_event_open(self.handle, byref(made))
        return made.value

    def stream(self):
        made = c_void_p()
        library.mr_stream_open(self.handle, byref(made))
        return made.value

    def is_usable(self):
        return self.pool.handle is not None and self.process == os.getpid()

    def check_usable(self):
        """Raises if the engine was closed, or belongs to the parent process."""
        if self.pool.handle is None:
            raise MillraceError("the engine was closed")
        if self.process != os.getpid():
            raise MillraceError(
                "the engine was opened before fork(): threads and drivers do not survive it; make one in this process"
            )

    def close(self):
        """Frees the engine. States that were handed over stay valid; the device is closed after the last of them."""
        with self._lock:
            scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.close()
        with self._lock:
            if not self.is_usable():
                return
            if self._native is not None:
                library.qdp_engine_wait(self._native)
                library.qdp_engine_close(self._native)
            self.pool.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "pool", None) is not None and not is_ending():
            self.close()

    def __repr__(self):
        return f"<QdpEngine on {self.device_name}, {'float64' if self.precision == 'f64' else 'float32'}>"


def _device_name(device_id, backend):
    device_id = whole(device_id, "device_id", 0, category="source")
    if backend in (None, "auto"):
        if device_id == 0:
            return None
        return f"cuda:{device_id}" if library.mr_device_count(CUDA) else f"opencl:{device_id}"
    kind = _BACKENDS.get(backend)
    if kind is None:
        raise InvalidInputError(f"unknown backend {backend!r}: use auto, {', '.join(_BACKENDS)}", "source")
    return "cpu" if kind == "cpu" else f"{kind}:{device_id}"


def copy_threads():
    """Threads that copy samples to page-locked memory."""
    return max(1, min(MAX_COPY_THREADS, (os.cpu_count() or 1) // 2))


def _mebibytes(size):
    return -(-size // 2**20)


__all__ = ["Pending", "QdpEngine", "Samples"]
