"""Measures this engine beside PyTorch, NumPy, PennyLane and Qiskit, where they are installed.

``python -m MODULE.bench --qubits 16 --batch-size 64 --batches 500 --trials 20 --output-prefix report``

*end-to-end* is a loop as its users write it: a thread makes batches, the loop normalises a batch on the CPU, encodes it,
takes it as a tensor and sums its magnitudes. *encode-only* begins with the samples in memory: page-locked, plain, or on the
device. Methods take turns, so that all see the same machine. Samples are checked before states are handed over.
"""

import argparse
import datetime
import itertools
import json
import os
import platform
import queue
import subprocess
import sys
import threading
import time

from .engine import QdpEngine
from .loader import QuantumDataLoader
from .shapes import encoding_of, sample_length


def percentile(values, share):
    """Linear interpolation at position (N - 1) * share, as NumPy has it."""
    ordered = sorted(values)
    at = (len(ordered) - 1) * share
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


class Case:
    """A row of the report: a function that runs `batches` batches, and returns when the device is done."""

    def __init__(self, mode, name, batch_size, run):
        self.mode, self.name, self.batch_size, self.run = mode, name, batch_size, run
        self.rates = []


def _module(name):
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


def _end_to_end(options, engine, torch):
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
    pennylane = _module("pennylane")
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
    if _module("qiskit"):
        from qiskit.quantum_info import Statevector

        def by_qiskit(batches):
            for batch in _produced(options, batches):
                for row in batch:
                    _consume(Statevector(row).data)

        yield Case("end-to-end", "Qiskit", options.batch_size, by_qiskit)


# ---- encode only ----


def _filled(engine, options, size, dtype):
    """Page-locked samples of the specification's synthetic data."""
    from .loader import synthetic_batches

    made = {}

    def allocate(count, length):
        from .files import samples_in

        made["view"] = engine.alloc_input(count, length, dtype)
        return samples_in(made["view"], (count, length))

    next(iter(synthetic_batches(options.encoding, options.qubits, size, 1, 0, options.precision_of_samples, allocate)))
    return made["view"]


def _encode_only(options, engine, torch):
    sizes = [options.batch_size] + [size for size in options.batch_sizes if size != options.batch_size]
    for size in sizes:
        pinned = _filled(engine, options, size, "float64")
        plain = memoryview(bytearray(pinned.nbytes)).cast("d", pinned.shape)
        plain.cast("B")[:] = pinned.cast("B")

        for name, given in (("page-locked", pinned), ("plain", plain)):

            def from_host(batches, given=given):
                stream = itertools.repeat(given, batches)
                for states in engine.encode_stream(stream, options.qubits, options.encoding, options.in_flight):
                    states.release()

            yield Case("encode-only", f"engine, {name} samples", size, from_host)
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


# ---- the report ----


def _asked(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip() or "unknown"
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _facts(engine, options, torch):
    asked = _asked("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").split("\n")[0]
    return {
        "Date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "Git commit": "COMMIT_OF_SOURCE",
        "Build": "MILLRACE_BUILD",
        "GPU": f"{engine.device_name}, {engine.info.name}",
        "Driver": asked,
        "CUDA": str(torch.version.cuda) if torch else "unknown",
        "PyTorch": torch.__version__ if torch else "not installed",
        "Python": platform.python_version(),
        "Processor": f"{platform.machine()}, {os.cpu_count()} threads",
    }


def report_of(facts, parameters, rows):
    """The report in Markdown, in the form of `millrace bench encode`."""
    lines = ["# python -m MODULE.bench", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += ["", "## Parameters", ""]
    lines += [f"- {name}: {value}" for name, value in parameters.items()]
    lines += ["", "## Results", ""]
    for row in rows:
        lines += [f"### {row['mode']}: {row['name']}, batches of {row['batch_size']}", ""]
        lines += ["| Metric | Median | P95 |", "| --- | --- | --- |"]
        throughput, latency = row["throughput"], row["latency"]
        lines.append(f"| Throughput (vectors/sec) | {throughput['median']:.1f} | {throughput['p95']:.1f} |")
        lines += [f"| 1 ÷ throughput (ms/vector) | {latency['median']:.3f} | {latency['p95']:.3f} |", ""]
    lines += ["## By turns", "", "| | batch | vectors/sec | ÷ the first |", "| --- | --- | --- | --- |"]
    for row in rows:
        name, rate = f"{row['mode']}: {row['name']}", row["throughput"]["median"]
        ratio = percentile([own / first for own, first in zip(row["trials"], rows[0]["trials"])], 0.5)
        lines.append(f"| {name} | {row['batch_size']} | {rate:.1f} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


def _row(case):
    latencies = [1000 / rate for rate in case.rates]
    return {
        "mode": case.mode,
        "name": case.name,
        "batch_size": case.batch_size,
        "throughput": {"median": percentile(case.rates, 0.5), "p95": percentile(case.rates, 0.95)},
        "latency": {"median": percentile(latencies, 0.5), "p95": percentile(latencies, 0.95)},
        "trials": case.rates,
    }


def _numbers(text):
    return [int(one) for one in text.split(",")]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m MODULE.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--qubits", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--batch-sizes", type=_numbers, default=[], help="more sizes for encode-only, as in 1,1024")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=5, help="batches before the clock starts")
    parser.add_argument("--prefetch", type=int, default=16)
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--encoding", type=encoding_of, default="amplitude")
    parser.add_argument("--precision", choices=("float32", "float64"), default="float64")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--device-id", type=int, default=0)
    parser.add_argument("--mode", choices=("end-to-end", "encode-only", "both"), default="both")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--output-prefix", help="writes PREFIX_DATE_rep_config.md and .json")
    options = parser.parse_args(arguments)
    options.precision_of_samples = "f64"
    given, options.precision = options.precision, "f64" if options.precision == "float64" else "f32"
    torch = _module("torch")
    if torch and torch.cuda.is_available():
        torch.zeros(1, device="cuda")  # PyTorch first: the context has its settings
    engine = QdpEngine(options.device_id, given, options.backend)
    cases = []
    if options.mode != "encode-only":
        cases += _end_to_end(options, engine, torch)
    if options.mode != "end-to-end":
        cases += _encode_only(options, engine, torch)
    cases = [case for case in cases if options.only in case.name]
    for case in cases:
        case.run(options.warmup)
    for trial in range(options.trials):
        for case in cases:
            engine.synchronize()
            begun = time.perf_counter()
            case.run(options.batches)
            engine.synchronize()
            case.rates.append(options.batches * case.batch_size / (time.perf_counter() - begun))
            print(f"trial {trial + 1}: {case.mode}: {case.name}, {case.batch_size}: {case.rates[-1]:.1f}", file=sys.stderr)
    rows = [_row(case) for case in cases]
    names = ("qubits", "batch_size", "prefetch", "batches", "trials", "encoding", "warmup", "in_flight")
    parameters = {**{name: getattr(options, name) for name in names}, "precision": given}
    facts = _facts(engine, options, torch)
    text = report_of(facts, parameters, rows)
    print(text)
    if options.output_prefix:
        day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d")
        name = f"{options.output_prefix}_{day}_rep_config"
        with open(f"{name}.md", "w", encoding="utf-8") as file:
            file.write(text)
        with open(f"{name}.json", "w", encoding="utf-8") as file:
            json.dump({"facts": facts, "parameters": parameters, "rows": rows}, file, indent=1)
        print(f"wrote {name}.md and {name}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
