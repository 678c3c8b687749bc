"""The engine: samples to states on one device."""

import ctypes
import os
import threading
from ctypes import byref, c_uint64, c_void_p

from ._device import Device, is_ending
from ._library import CUDA, Launch, MillraceError, kernel_of, library
from .batches import Pending, Slot
from .errors import InvalidInputError, MemoryAllocationError
from .files import is_path, read_samples
from .inputs import Samples, samples_of
from .plans import Plan
from .shapes import check_batch, check_qubits, encoding_of, estimate_memory, precision_of
from .staging import Reader, Stager
from .states import Pool

_BACKENDS = {"cuda": "cuda", "opencl": "opencl", "amd": "opencl", "cpu": "cpu"}
_PACKAGE = "MODULE"
# A thread that sleeps wakes up 50 to 200 us late, which is as long as a batch of 64 states of 16 qubits takes.
_SPIN_US = 2000.0


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
        self._process = os.getpid()
        self.handle = device.handle
        self.pool = Pool(device)
        self._lock = threading.Lock()
        self.free_slots = []
        self._plans, self._jobs = {}, {}
        self._copy, self._compute = self.stream(), self.stream()
        self._input_event = self.event()
        self._stager, self._reader = Stager(self, self._copy), Reader(self)
        self._launch = Launch()
        self._arrays = {count: (c_void_p * count)() for count in range(1, 5)}
        self._scheduler = None
        self._submitted = 0

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
        encoding = encoding_of(encoding_method)
        samples = samples_of(data, encoding)
        return self._shaped(samples, num_qubits, encoding, num_samples, sample_size)

    def encode_batch_f32(self, data, num_qubits, encoding_method="amplitude", num_samples=None, sample_size=None):
        """The same for arrays of float32, which take half the time on the bus."""
        encoding = encoding_of(encoding_method)
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
        check_qubits(num_qubits)
        if is_path(data):
            samples = read_samples(data, encoding, num_qubits)
        else:
            samples = samples_of(data, encoding)
        return self._submit(samples, num_qubits, encoding)

    def _submit(self, samples, num_qubits, encoding):
        check_batch(encoding, num_qubits, samples.count, samples.length)
        if samples.is_on_device and (self.kind != "cuda" or samples.ordinal != self.ordinal):
            message = f"the tensor is on cuda:{samples.ordinal}, the engine on {self.device_name}: move it with .to()"
            raise InvalidInputError(message, "device")
        with self._lock:
            self.check_usable()
            plan = self._plan(encoding, num_qubits, samples.length, samples.type)
            size = samples.count * plan.state_bytes
            if not library.qdp_block_is_free(self.pool.handle, size):
                self.check_memory(size, num_qubits)
            if samples.count > plan.max_samples and not self.has_pointers:
                raise InvalidInputError(f"OpenCL takes up to {plan.max_samples} samples of this size at a time", "size")
            slot = self.free_slots.pop() if self.free_slots else Slot(self)
            block = None
            adopted = []
            try:
                source = self._place(slot, samples, plan, adopted)
                block = self.pool.take(size, self._compute)
                self._run(plan, slot, source, block, samples.count, adopted)
            except BaseException:
                library.mr_wait(self._compute)
                for buffer in adopted:
                    library.forget_buffer(buffer)
                if block is not None:
                    library.qdp_block_return(block)
                self.free_slots.append(slot)
                raise
            self._submitted += 1
            return Pending(self, slot, plan, samples, block, source, adopted, self._submitted)

    def _place(self, slot, samples, plan, adopted):
        """Returns the buffer of the samples: copied to the device, or where they are."""
        if samples.is_on_device:
            if samples.stream is not None:
                library.mr_event_record(self._input_event, self.pool.adopted(samples.stream))
                library.mr_stream_follow(self._compute, self._input_event)
            return self._adopt(samples.address, samples.bytes, adopted)
        if self.kind == "cpu" and samples.parts is None and samples.address % 16 == 0:
            return self._adopt(samples.address, samples.bytes, adopted)
        buffer = slot.need("x", samples.bytes)
        self._stager.write_all(buffer, samples.parts or [(samples.address, samples.bytes)])
        library.mr_event_record(slot.copied, self._copy)
        library.mr_stream_follow(self._compute, slot.copied)
        return buffer

    def _adopt(self, address, size, adopted):
        made = c_void_p()
        library.mr_buffer_adopt(self.handle, address, size, byref(made))
        adopted.append(made.value)
        return made.value

    def _run(self, plan, slot, source, block, count, adopted):
        buffers = {name: slot.need(name, count * size) for name, size in plan.scratch.items()}
        buffers["x"], buffers["states"] = source, library.qdp_block_buffer(block)
        if count <= plan.max_samples:
            self._launch_all(plan, buffers, count)
        else:
            sizes = {"x": plan.sample_bytes, "states": plan.state_bytes, **plan.scratch}
            for first in range(0, count, plan.max_samples):
                part = min(plan.max_samples, count - first)
                places = {name: library.mr_buffer_address(buffer) for name, buffer in buffers.items()}
                own = {
                    name: self._adopt(place + first * sizes[name], part * sizes[name], adopted)
                    for name, place in places.items()
                }
                self._launch_all(plan, own, part)
        size = count * plan.scratch[plan.checked]
        library.mr_read(self._compute, buffers[plan.checked], 0, slot.need_host(size), size)
        library.mr_event_record(slot.done, self._compute)

    def _launch_all(self, plan, buffers, count):
        launch = self._launch
        for step, job in zip(plan.steps, self._jobs_of(plan)):
            names = step.buffers
            array = self._arrays[len(names)]
            for at, name in enumerate(names):
                array[at] = buffers[name]
            launch.count = step.items * count
            launch.buffers = array
            launch.buffer_count = len(names)
            library.mr_launch_job(self._compute, job, launch)

    def _plan(self, encoding, num_qubits, length, given):
        key = (encoding, num_qubits, length, given)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = Plan(self.kind, encoding, num_qubits, length, given, self.precision)
        return plan

    def _jobs_of(self, plan):
        jobs = self._jobs.get(plan)
        if jobs is None:
            jobs = []
            for step in plan.steps:
                made = c_void_p()
                values = None if step.values is None else ctypes.addressof(step.values)
                library.mr_job_open(self.handle, kernel_of(f"{_PACKAGE}_{step.kernel}_kernel"), values, byref(made))
                jobs.append(made.value)
            self._jobs[plan] = jobs
        return jobs

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

    def check_memory(self, size, num_qubits):
        """Raises unless the device has this much memory, before it is allocated."""
        free, total = self.memory()
        if size <= free:
            return
        library.qdp_pool_trim(self.pool.handle)
        free, total = self.memory()
        if size <= free:
            return
        about = f" for states of {num_qubits} qubits" if num_qubits else ""
        raise MemoryAllocationError(
            f"{_mebibytes(size)} MiB are needed{about} on {self.device_name}; {_mebibytes(free)} MiB of "
            f"{_mebibytes(total)} MiB are free: use fewer qubits or a smaller batch"
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
        for stream in (self._copy, self._compute):
            library.mr_wait(stream)

    def wait_for(self, pending, slot):
        """Waits for a batch; the last one that was submitted is asked for a while before the thread sleeps."""
        is_last = pending.number == self._submitted
        library.qdp_wait(self._compute, slot.done, _SPIN_US if is_last and self.kind == "cuda" else 0.0)

    def is_idle(self):
        return library.mr_is_idle(self._compute) == 1

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
        return self.pool.handle is not None and self._process == os.getpid()

    def check_usable(self):
        """Raises if the engine was closed, or belongs to the parent process."""
        if self.pool.handle is None:
            raise MillraceError("the engine was closed")
        if self._process != os.getpid():
            raise MillraceError(
                "the engine was opened before fork(): threads and drivers do not survive it; make one in this process"
            )

    def close(self):
        """Frees the engine. States that were handed over stay valid; the device is closed after the last of them."""
        with self._lock:
            scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.close()
        if not self.is_usable():
            return
        self.synchronize()
        self._stager.close()
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
    if isinstance(device_id, bool) or not isinstance(device_id, int) or device_id < 0:
        raise InvalidInputError(f"device_id is {device_id!r}: give a whole number from 0", "source")
    if backend in (None, "auto"):
        if device_id == 0:
            return None
        return f"cuda:{device_id}" if library.mr_device_count(CUDA) else f"opencl:{device_id}"
    kind = _BACKENDS.get(backend)
    if kind is None:
        raise InvalidInputError(f"unknown backend {backend!r}: use auto, {', '.join(_BACKENDS)}", "source")
    return "cpu" if kind == "cpu" else f"{kind}:{device_id}"


def _mebibytes(size):
    return -(-size // 2**20)


__all__ = ["Pending", "QdpEngine", "Samples"]
