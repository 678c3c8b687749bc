"""The rows of the benchmark: loops as users write them, and calls of the engine alone."""

import itertools
import queue
import threading

from .inputs import samples_in
from .loader import QuantumDataLoader
from .shapes import sample_length
from .synthetic import synthetic_batches


class Case:
    """A row of the report: a function that runs `batches` batches, and returns when the device is done."""

    def __init__(self, mode, name, batch_size, run):
        self.mode, self.name, self.batch_size, self.run = mode, name, batch_size, run
        self.rates = []


def module(name):
    try:
        return __import__(name)
    except ImportError:
        return None


# ---- end to end ----


def _produced(options, batches):
    """Batches that a thread makes ahead: rows of a ramp that begin at the sample's number, stacked."""
    import numpy

    length = sample_length(options.encoding, options.qubits)
    ready = queue.Queue(options.prefetch)

    def produce():
        ramp = numpy.arange(length, dtype=numpy.float64) / length
        if options.encoding not in ("amplitude", "basis"):
            ramp *= 2 * numpy.pi
        for batch in range(batches):
            first = batch * options.batch_size
            if options.encoding == "basis":
                rows = (first + numpy.arange(options.batch_size, dtype=numpy.float64)) % (1 << options.qubits)
                ready.put(rows.reshape(-1, 1))
            else:
                ready.put(numpy.stack([numpy.roll(ramp, -(first + row)) for row in range(options.batch_size)]))
        ready.put(None)

    threading.Thread(target=produce, daemon=True).start()
    while True:
        batch = ready.get()
        if batch is None:
            return
        if options.encoding == "amplitude":
            batch = batch / numpy.linalg.norm(batch, axis=1, keepdims=True)
        yield batch


def _consume(tensor):
    """Magnitudes, as float32, summed: a small consumer."""
    import numpy

    if isinstance(tensor, numpy.ndarray):
        return float(numpy.abs(tensor).astype(numpy.float32).sum())
    return float(tensor.abs().float().sum())


def end_to_end(options, engine, torch):
    import numpy

    def ours(batches):
        for batch in _produced(options, batches):
            states = engine.encode(batch, options.qubits, options.encoding)
            _consume(torch.from_dlpack(states) if torch else numpy.from_dlpack(states))

    yield Case("end-to-end", "engine", options.batch_size, ours)

    def streamed(batches):
        stream = engine.encode_stream(_produced(options, batches), options.qubits, options.encoding, options.in_flight)
        for states in stream:
            _consume(torch.from_dlpack(states) if torch else numpy.from_dlpack(states))

    yield Case("end-to-end", f"engine, encode_stream, {options.in_flight} in flight", options.batch_size, streamed)

    def coalesced(batches):
        length = sample_length(options.encoding, options.qubits)
        rows = []
        for batch in _produced(options, batches):
            rows.append(batch)
            if len(rows) * options.batch_size >= 128:
                _flush(rows, length)
        if rows:
            _flush(rows, length)

    def _flush(rows, length):
        with engine.coalesce(length, options.qubits, options.encoding) as scope:
            for batch in rows:
                scope.submit_batch(batch)
        states, _ = scope.get_result()
        rows.clear()
        _consume(torch.from_dlpack(states) if torch else numpy.from_dlpack(states))

    yield Case("end-to-end", "engine, coalesced", options.batch_size, coalesced)

    def loaded(batches):
        loader = QuantumDataLoader(
            options.device_id, options.qubits, options.batch_size, batches, options.encoding
        ).source_synthetic()
        loader = loader.dtype("float64").precision(options.precision).prefetch(options.prefetch).device(options.backend)
        for states in loader.using(engine):
            _consume(torch.from_dlpack(states) if torch else numpy.from_dlpack(states))

    yield Case("end-to-end", "engine, QuantumDataLoader", options.batch_size, loaded)
    if torch:
        from .reference import encode_tensor

        def reference(batches):
            for batch in _produced(options, batches):
                x = torch.from_numpy(batch)
                if torch.cuda.is_available():
                    x = x.cuda()
                _consume(encode_tensor(x, options.qubits, options.encoding, options.precision))

        yield Case("end-to-end", "PyTorch", options.batch_size, reference)
    if options.encoding == "amplitude":

        def plain(batches):
            kind = "complex128" if options.precision == "f64" else "complex64"
            for batch in _produced(options, batches):
                _consume(batch.astype(kind))

        yield Case("end-to-end", "NumPy", options.batch_size, plain)
        yield from _simulators(options)


def _simulators(options):
    """PennyLane and Qiskit take a sample at a time."""
    pennylane = module("pennylane")
    if pennylane:
        device = pennylane.device("default.qubit", wires=options.qubits)

        @pennylane.qnode(device)
        def circuit(values):
            pennylane.AmplitudeEmbedding(values, wires=range(options.qubits), normalize=True)
            return pennylane.state()

        def by_pennylane(batches):
            for batch in _produced(options, batches):
                _consume(circuit(batch))

        yield Case("end-to-end", "PennyLane", options.batch_size, by_pennylane)
    if module("qiskit"):
        from qiskit.quantum_info import Statevector

        def by_qiskit(batches):
            for batch in _produced(options, batches):
                for row in batch:
                    _consume(Statevector(row).data)

        yield Case("end-to-end", "Qiskit", options.batch_size, by_qiskit)


# ---- encode only ----


def _filled(engine, options, size):
    """Page-locked samples of the specification's synthetic data."""
    view = engine.alloc_input(size, sample_length(options.encoding, options.qubits))
    shape = (options.encoding, options.qubits, size)
    next(synthetic_batches(*shape, range(1), 0, "f64", lambda *sides: samples_in(view, sides)))
    return view


def encode_only(options, engine, torch):
    sizes = [options.batch_size] + [size for size in options.batch_sizes if size != options.batch_size]
    for size in sizes:
        pinned = _filled(engine, options, size)
        plain = memoryview(bytearray(pinned.nbytes)).cast("d", pinned.shape)
        plain.cast("B")[:] = pinned.cast("B")

        for name, given in (("page-locked", pinned), ("plain", plain)):

            def from_host(batches, given=given):
                stream = itertools.repeat(given, batches)
                for states in engine.encode_stream(stream, options.qubits, options.encoding, options.in_flight):
                    states.release()

            yield Case("encode-only", f"engine, {name} samples", size, from_host)
            if torch:
                by_torch = _torch_from_host(options, torch, given, name)
                yield Case("encode-only", f"PyTorch, {name} samples", size, by_torch)
        yield from _requests(options, engine, size, plain)
        if not torch or engine.kind != "cuda":
            continue
        from .reference import encode_tensor

        on_device = torch.frombuffer(pinned.cast("B"), dtype=torch.float64).reshape(pinned.shape).cuda()
        for name, given in (("float64", on_device), ("float32", on_device.float())):
            if name == "float32" and options.precision == "f64":
                continue

            def ours(batches, given=given):
                stream = itertools.repeat(given, batches)
                for states in engine.encode_stream(stream, options.qubits, options.encoding, options.in_flight):
                    torch.from_dlpack(states)

            def one_at_a_time(batches, given=given):
                for _ in range(batches):
                    torch.from_dlpack(engine.encode(given, options.qubits, options.encoding))

            def reference(batches, given=given, checked=True):
                for _ in range(batches):
                    encode_tensor(given, options.qubits, options.encoding, options.precision, checked)
                torch.cuda.synchronize()

            def unchecked(batches, reference=reference):
                reference(batches, checked=False)

            yield Case("encode-only", f"engine, {name} tensor on the device", size, ours)
            yield Case("encode-only", f"engine, {name} tensor, one call at a time", size, one_at_a_time)
            yield Case("encode-only", f"PyTorch, {name} tensor on the device", size, reference)
            if options.encoding == "amplitude":
                yield Case("encode-only", f"PyTorch, {name} tensor, norms not checked", size, unchecked)


def _torch_from_host(options, torch, given, name):
    """The same samples by PyTorch: copied to the device, if there is one, and encoded there."""
    from .reference import encode_tensor

    x = torch.frombuffer(given.cast("B"), dtype=torch.float64).reshape(given.shape)
    if torch.cuda.is_available() and name == "page-locked":
        x = x.clone().pin_memory()

    def run(batches):
        for _ in range(batches):
            there = x.cuda(non_blocking=True) if torch.cuda.is_available() else x
            encode_tensor(there, options.qubits, options.encoding, options.precision)
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return run


def _requests(options, engine, size, samples):
    """Requests of `size` samples in plain memory: one call each, or gathered to 128 samples."""
    length = samples.shape[1]

    def alone(batches):
        for _ in range(batches):
            engine.encode(samples, options.qubits, options.encoding).release()

    def gathered(batches):
        group = max(1, 128 // size)
        for first in range(0, batches, group):
            with engine.coalesce(length, options.qubits, options.encoding) as scope:
                for _ in range(min(group, batches - first)):
                    scope.submit_batch(samples)
            scope.get_result()[0].release()

    yield Case("requests", "engine, one call each", size, alone)
    yield Case("requests", "engine, coalesced to 128", size, gathered)
