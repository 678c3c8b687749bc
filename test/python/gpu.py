"""All proofs of the Python package on a GPU, in one command.

Needs Python with NumPy, make and a C compiler; for some parts torch, pyarrow.

Usage: gpu.py PACKAGE [--only PART,...] [--skip PART,...] [--seconds 230]

PACKAGE is the folder that `millrace export encode --language python` wrote; it is built first. Correctness comes before
speed. Each part is a process of its own with a time limit, and one that fails does not stop the others; the last lines are
one short table. `--backend cpu --quick` tries everything with small sizes on a machine without a GPU. Parts are not begun
after `--seconds`. `seed-full` is 500 batches x 20 trials of every loop, about fifteen minutes; it runs only if it is named.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))


class Part:
    """A command, its limit in seconds, and the lines of the table that it gives."""

    def __init__(self, name, command, limit, rows=None, is_default=True):
        self.name, self.command, self.limit, self.rows, self.is_default = name, command, limit, rows, is_default


def parts(options, temporary):
    data = os.path.join(here, "..", "data", "encode")
    backend = options.backend

    def program(name, *arguments):
        return [sys.executable, os.path.join(here, name), *map(str, arguments)]

    sizes = (1, 3) if options.quick else (1, 5, 10, 11, 13, 14, 16)
    yield Part("build", ["make", "-s", f"-j{os.cpu_count() or 1}", "-C", options.package], 180)
    yield Part("vectors", program("vectors.py", data, backend), 60)
    yield Part("sizes", program("sizes.py", backend, *sizes), 60)
    yield Part("errors", program("errors.py", data, backend, temporary), 60)
    yield Part("files", program("files.py", data, backend, temporary), 90)
    yield Part("requests", program("requests.py", data, backend), 90)
    yield Part("lifetimes", program("lifetimes.py", backend, 300 if options.quick else 10_000), 60)
    if backend == "cuda":
        yield Part("device", program("device.py", data), 60)
    yield Part("consumer", program("consumer.py", data, backend), 120)
    yield Part("calls", program("calls.py", backend), 60)
    if not options.quick:
        yield Part("loop", program("loop.py", backend), 60)
    yield from speeds(options, temporary)


def speeds(options, temporary):
    def bench(name, seconds, rows, *arguments, is_default=True):
        small = ["--qubits", "6", "--batches", "5", "--trials", "2"] if options.quick else []
        command = [sys.executable, "-m", "encode.bench", "--backend", options.backend, "--seconds", str(seconds)]
        prefix = os.path.join(temporary, name)
        return Part(name, [*command, "--output-prefix", prefix, *arguments, *small], 2 * seconds + 60, rows, is_default)

    only = "--only"
    encode_only = ("--mode", "encode-only")
    tensors = "tensor on the device,one call at a time"
    yield bench("pinned", 8, {("engine, page-locked samples", 64): 100_000}, *encode_only, "--batches", "500", only,
                "page-locked,plain samples")  # fmt: skip
    yield bench("tensors", 15, {("engine, float64 tensor on the device", 1024): 1_700_000}, *encode_only, "--batch-sizes",
                "1024", "--batches", "200", only, tensors)  # fmt: skip
    yield bench("tensors-f32", 8, {}, *encode_only, "--precision", "float32", "--batch-sizes", "1024", "--batches", "200",
                only, tensors)  # fmt: skip
    yield bench("coalesce", 10, {}, *encode_only, "--batch-size", "4", "--batch-sizes", "1,16", "--batches", "500", only,
                "one call each,coalesced to 128")  # fmt: skip
    yield bench("seed-loader", 25, {("engine, QuantumDataLoader", 64): 1454}, "--mode", "end-to-end", "--batches", "500",
                "--trials", "20", only, "QuantumDataLoader")  # fmt: skip
    loops = {("engine", 64): 1454}
    yield bench("seed", 35, loops, "--mode", "end-to-end", "--batches", "100", "--trials", "5")
    for encoding in ("iqp", "basis", "angle"):
        yield bench(encoding, 4, {}, *encode_only, "--encoding", encoding, "--batches", "50", "--trials", "3", only,
                    "tensor on the device,plain samples")  # fmt: skip
    full = ("--mode", "end-to-end", "--batches", "500", "--trials", "20")
    yield bench("seed-full", 900, loops, *full, is_default=False)


def run(part, options, temporary):
    """Runs a part; returns the table's lines, each (name, result, detail)."""
    environment = dict(os.environ, PYTHONPATH=options.package)
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            part.command, env=environment, cwd=temporary, capture_output=True, text=True, errors="replace",
            timeout=part.limit,
        )  # fmt: skip
        out, error, status = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as ended:
        out, error = (each.decode(errors="replace") if each else "" for each in (ended.stdout, ended.stderr))
        status = f"ended after {part.limit} s"
    spent = f"{time.perf_counter() - begun:.1f} s"
    text = f"{error}\n{out}"
    print(f"==== {part.name}, {spent}\n{text[-6000:].strip()}", flush=True)
    last = ((out if status == 0 else error or out).strip().split("\n") or [""])[-1][:90]
    if "No module named 'torch'" in text and status != 0:
        return [(part.name, "skipped", "torch is not installed")]
    if status != 0:
        return [(part.name, "FAILED", f"{status}: {last}")]
    if part.rows is None:
        return [(part.name, "ok", f"{spent}, {last}" if last else spent)]
    return [(part.name, "ok", spent), *figures(part, temporary, options.quick)]


def figures(part, temporary, is_quick):
    (path,) = glob.glob(os.path.join(temporary, f"{part.name}_*.json"))
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    for row in report["rows"]:
        rate = row["throughput"]["median"]
        asked = None if is_quick else part.rows.get((row["name"], row["batch_size"]))
        result = "" if asked is None else "met" if rate >= asked else "MISSED"
        detail = f"{rate:14,.0f} vec/s, {len(row['trials'])} trials" + (f", asked {asked:,}" if asked else "")
        yield (f"  {row['name']}, {row['batch_size']}", result, detail)
    rates = {(row["name"], row["batch_size"]): row["throughput"]["median"] for row in report["rows"]}
    for (name, size), rate in rates.items():
        if name != "engine, coalesced to 128":
            continue
        gain = rate / rates["engine, one call each", size]
        is_asked = size <= 4 and part.name == "coalesce" and not is_quick
        result = "" if not is_asked else "met" if gain >= 1.5 else "MISSED"
        yield (f"  gathered / one call each, {size}", result, f"{gain:14.2f}" + (", asked 1.5" if is_asked else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--seconds", type=float, default=230)
    options = parser.parse_args()
    options.package = os.path.abspath(options.package)
    only, skip = [set(filter(None, text.split(","))) for text in (options.only, options.skip)]
    begun = time.perf_counter()
    table = []
    with tempfile.TemporaryDirectory() as temporary:
        known = list(parts(options, temporary))
        unknown = (only | skip) - {part.name for part in known}
        if unknown:
            names = ", ".join(part.name for part in known)
            parser.error(f"unknown parts: {', '.join(sorted(unknown))}; there are {names}")
        for part in known:
            if part.name in skip or (part.name not in only if only else not part.is_default):
                continue
            if time.perf_counter() - begun > options.seconds:
                table.append((part.name, "not run", "no time left"))
                continue
            try:
                table += run(part, options, temporary)
            except Exception as error:  # the next parts go on
                table.append((part.name, "FAILED", f"{type(error).__name__}: {error}"))
    print(f"\n{time.perf_counter() - begun:.0f} s in all")
    for name, result, detail in table:
        print(f"{name:52s} {result:8s} {detail}")
    sys.exit(1 if any(result in ("FAILED", "MISSED", "not run") for _, result, _ in table) else 0)


if __name__ == "__main__":
    main()
