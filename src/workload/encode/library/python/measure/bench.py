"""Measures this engine beside PyTorch, NumPy, PennyLane and Qiskit, where they are installed.

``python -m MODULE.bench --qubits 16 --batch-size 64 --batches 500 --trials 20 --output-prefix report``

*end-to-end* is a loop as its users write it: a thread makes batches, the loop normalises a batch on the CPU, encodes it,
takes it as a tensor and sums its magnitudes. *encode-only* begins with the samples in memory: page-locked, plain, or on the
device. Methods take turns, so that all see the same machine. Samples are checked before states are handed over.
"""

import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import time

from .cases import encode_only, end_to_end, module
from .engine import QdpEngine
from .shapes import encoding_of


def percentile(values, share):
    """Linear interpolation at position (N - 1) * share, as NumPy has it."""
    ordered = sorted(values)
    at = (len(ordered) - 1) * share
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


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
    parser.add_argument("--only", default="", help="rows whose name contains one of these, as in engine,NumPy")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no trial but the first begins after this time")
    parser.add_argument("--output-prefix", help="writes PREFIX_DATE_rep_config.md and .json")
    options = parser.parse_args(arguments)
    given, options.precision = options.precision, "f64" if options.precision == "float64" else "f32"
    torch = module("torch")
    if torch and torch.cuda.is_available():
        torch.zeros(1, device="cuda")  # PyTorch first: the context has its settings
    engine = QdpEngine(options.device_id, given, options.backend)
    cases = []
    if options.mode != "encode-only":
        cases += end_to_end(options, engine, torch)
    if options.mode != "end-to-end":
        cases += encode_only(options, engine, torch)
    cases = [case for case in cases if any(part in case.name for part in options.only.split(","))]
    for case in cases:
        case.run(options.warmup)
    started = time.perf_counter()
    for trial in range(options.trials):
        if trial > 0 and time.perf_counter() - started > options.seconds:
            options.trials = trial
            break
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
