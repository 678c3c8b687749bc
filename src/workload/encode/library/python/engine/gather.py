"""Many requests: gathered into batches, or streamed."""

import threading
from collections import deque

from .errors import InvalidInputError, QdpError
from .files import is_path
from .inputs import Samples, samples_of
from .shapes import check_batch, check_qubits, encoding_of, whole


def stream_of(engine, batches, num_qubits, encoding_method, in_flight):
    """See :meth:`QdpEngine.encode_stream`."""
    in_flight = whole(in_flight, "in_flight", category="size")
    encoding_of(encoding_method)
    return _stream(engine, iter(batches), num_qubits, encoding_method, in_flight)


def _stream(engine, batches, num_qubits, encoding_method, in_flight):
    waiting = deque()
    for data in batches:
        try:
            waiting.append(engine.encode_batch_submit(data, num_qubits, encoding_method))
        except Exception as error:  # raised in its batch's turn
            waiting.append(_Failed(error))
        if len(waiting) >= in_flight:
            yield waiting.popleft().get()
    while waiting:
        yield waiting.popleft().get()


class _Failed:
    def __init__(self, error):
        self._error = error

    def get(self):
        raise self._error


def joined(parts):
    """Several requests of the same type as one batch. Each is copied to the device from its own memory."""
    first = parts[0]
    if len(parts) == 1:
        return first
    made = Samples(0, (sum(part.count for part in parts), first.length), first.type, parts)
    made.parts = [(part.address, part.bytes) for part in parts]
    return made


class Coalescer:
    """Gathers requests of one shape; see :meth:`QdpEngine.coalesce`."""

    def __init__(self, engine, sample_size, num_qubits, encoding_method):
        self._engine = engine
        self._encoding = encoding_of(encoding_method)
        self._num_qubits = check_qubits(num_qubits)
        check_batch(self._encoding, self._num_qubits, 1, sample_size)
        self._sample_size = sample_size
        self._parts = []
        self._result = None

    def submit(self, row):
        """Adds one sample. It must not change until the scope is left."""
        self._add(row, 1)

    def submit_batch(self, matrix):
        """Adds the rows of a matrix as one request."""
        self._add(matrix, None)

    def _add(self, data, count):
        if self._result is not None:
            raise QdpError("the scope was left: make another one", "consumed")
        if is_path(data):
            raise InvalidInputError("a scope gathers arrays, not files: use encode()", "source")
        samples = samples_of(data, self._encoding, allow_f32=False)
        if samples.is_on_device:
            raise InvalidInputError("a scope gathers samples of the host; encode() takes tensors on a device", "source")
        if samples.length != self._sample_size or (count is not None and samples.count != count):
            shape = (samples.count, samples.length)
            message = f"a request has shape {shape}; samples here have {self._sample_size} values"
            raise InvalidInputError(message, "size")
        self._parts.append(samples)

    def flush(self):
        """Encodes what was gathered. Leaving the scope does it."""
        if self._result is not None:
            return
        if not self._parts:
            raise InvalidInputError("nothing was submitted", "samples")
        boundaries, first = [], 0
        for part in self._parts:
            boundaries.append((first, part.count))
            first += part.count
        states = self._engine._submit(joined(self._parts), self._num_qubits, self._encoding).get()
        self._parts = []
        self._result = (states, boundaries)

    def get_result(self):
        """Returns the states and a list of (first sample, count) for each request."""
        if self._result is None:
            raise QdpError("the scope has not been left yet", "consumed")
        return self._result

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.flush()


class Scheduler:
    """Gathers the requests of :meth:`QdpEngine.encode_async`: up to 8 MiB, or half a millisecond from the first."""

    TARGET_BYTES = 8 << 20
    DELAY_S = 0.0005
    CAPACITY = 1024

    def __init__(self, engine):
        self._engine = engine
        self._changed = threading.Condition()
        self._waiting = deque()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="qdp-scheduler", daemon=True)
        self._thread.start()

    def submit(self, data, num_qubits, encoding_method):
        encoding, num_qubits = encoding_of(encoding_method), check_qubits(num_qubits)
        samples = samples_of(data, encoding)
        check_batch(encoding, num_qubits, samples.count, samples.length)
        if samples.is_on_device or samples.bytes >= self.TARGET_BYTES:
            return self._engine._submit(samples, num_qubits, encoding)
        request = Request(samples, (encoding, num_qubits, samples.length, samples.type))
        with self._changed:
            while len(self._waiting) >= self.CAPACITY and not self._is_closed:
                self._changed.wait()
            if self._is_closed:
                raise QdpError("the engine was closed", "consumed")
            self._waiting.append(request)
            self._changed.notify_all()
        return request

    def close(self):
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join(5)

    def _run(self):
        while True:
            group = self._next_group()
            if group is None:
                return
            try:
                shape = group[0].shape
                samples = joined([request.samples for request in group])
                states = self._engine._submit(samples, shape[1], shape[0]).get()
            except Exception as error:  # every waiter gets it
                self._retry(group, error)
                continue
            if len(group) == 1:
                group[0].finish(states)
                continue
            first = 0
            for request in group:
                request.finish(states.part(first, request.samples.count))
                first += request.samples.count
            states.release()

    def _retry(self, group, error):
        """A bad sample is the error of its own request alone."""
        if len(group) == 1 or not isinstance(error, InvalidInputError):
            for request in group:
                request.fail(error)
            return
        for request in group:
            try:
                encoding, num_qubits = request.shape[:2]
                request.finish(self._engine._submit(request.samples, num_qubits, encoding).get())
            except Exception as own:
                request.fail(own)

    def _next_group(self):
        with self._changed:
            while not self._waiting:
                if self._is_closed:
                    return None
                self._changed.wait()
            self._changed.wait_for(lambda: self._is_closed or self._bytes() >= self.TARGET_BYTES, self.DELAY_S)
            shape, group, size = self._waiting[0].shape, [], 0
            while self._waiting and self._waiting[0].shape == shape:
                if group and size + self._waiting[0].samples.bytes > self.TARGET_BYTES:
                    break
                size += self._waiting[0].samples.bytes
                group.append(self._waiting.popleft())
            self._changed.notify_all()
            return group

    def _bytes(self):
        return sum(request.samples.bytes for request in self._waiting)


class Request:
    """A request of :meth:`QdpEngine.encode_async`."""

    def __init__(self, samples, shape):
        self.samples, self.shape = samples, shape
        self._done = threading.Event()
        self._states = self._error = None

    def get(self):
        """Waits for the states and returns them."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._states

    def is_done(self):
        return self._done.is_set()

    def finish(self, states):
        self._states = states
        self._done.set()

    def fail(self, error):
        self._error = error
        self._done.set()
