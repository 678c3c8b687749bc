"""Every row of the errors' table: the published cases, and those of Python's own inputs.

Usage: errors.py DATA BACKEND FOLDER
"""

import json
import math
import os
import sys

import numpy as np

import encode

data, backend = sys.argv[1], sys.argv[2]
engine = encode.QdpEngine(0, "float64", backend)
checked = 0


def refused(call, category, *words, kind=encode.QdpError, **where):
    global checked
    before = engine.live_states
    try:
        call()
    except kind as error:
        assert error.category == category, (category, error.category, str(error))
        for word in words:
            assert str(word).lower() in str(error).lower(), (word, str(error))
        for name, value in where.items():
            assert getattr(error, name) == value, (name, value, getattr(error, name))
    else:
        raise SystemExit(f"nothing was raised for {category} {words}")
    assert engine.live_states == before, "a rejected batch yields nothing"
    checked += 1


number = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
with open(f"{data}/errors.json", encoding="utf-8") as file:
    published = json.load(file)
for case in published["single"]:
    values = [number.get(value, value) for value in case["input"]]
    hint = case["hint"].split(" (")[0]
    refused(lambda: engine.encode(values, case["num_qubits"], case["encoding"]), case["category"], hint)
    if values:
        refused(lambda: engine.encode(np.array(values, float), case["num_qubits"], case["encoding"]), case["category"], hint)
for case in published["batch"]:
    values = np.array([number.get(value, value) for value in case["input"]], float)
    where = {"sample": case["bad_sample"]} if "bad_sample" in case else {}
    if "bad_index" in case:
        where["position"] = case["bad_index"]
    sizes = {"num_samples": case["num_samples"], "sample_size": case["sample_size"]}
    refused(
        lambda: engine.encode_batch(values, case["num_qubits"], case["encoding"], **sizes), case["category"], **where
    )

# Numbers in messages.
refused(lambda: engine.encode([1.0], 31), "qubits", 31, 30)
refused(lambda: engine.encode([1.0] * 5, 2), "size", 5, 4)
refused(lambda: engine.encode([1.0] * 5, 2, "iqp"), "size", "iqp", 3, 5)
refused(lambda: engine.encode([1.0] * 5, 2, "iqp-z"), "size", "iqp-z", 2, 5)
refused(lambda: engine.encode_batch(np.ones(7), 2, num_samples=2, sample_size=4), "size", 2, 4, 7)
refused(lambda: engine.encode_batch(np.ones(0), 2, num_samples=2, sample_size=0), "empty", "empty")
refused(lambda: engine.encode([1.0], 2, "nosuch"), "encoding", *encode.ENCODINGS)
refused(lambda: engine.encode(np.array([[1.0, 1.0], [0.0, 0.0], [1.0, math.nan]]), 1), "norm", "sample 1", sample=1)
refused(lambda: engine.encode([[1.0, 2.0], [math.inf, 0.0]], 1), "finite", "sample 1", "inf", sample=1)
refused(lambda: engine.encode([[0.0], [0.5]], 3, "basis"), "integer", "sample 1", sample=1, position=0)
refused(lambda: engine.encode([[0.0], [1.0], [-math.inf]], 3, "basis"), "finite", sample=2)
refused(lambda: engine.encode([2.0**41, 0.0], 2, "phase"), "range", "too large", sample=0, position=0)
refused(lambda: engine.encode([1.0], True), "qubits")
refused(lambda: engine.encode([1.0], 1.5), "qubits")

# Ranks, types, layouts.
refused(lambda: engine.encode(np.ones((2, 2, 2)), 2), "rank", 3, "1", "2", kind=ValueError)
refused(lambda: engine.encode(np.float64(3.0), 2), "rank", 0)
refused(lambda: engine.encode(np.ones(4, np.float32), 2), "dtype", "float32", "float64", "astype", kind=TypeError)
refused(lambda: engine.encode(np.ones(4, np.float32), 2), "dtype", "encode_batch_f32")
refused(lambda: engine.encode(np.ones(4, complex), 2), "dtype", "complex128", "real")
refused(lambda: engine.encode(np.ones(4, np.int64), 2), "dtype", "int64", "float64")
refused(lambda: engine.encode(np.ones(4, ">f8"), 2), "dtype", ">f8")
refused(lambda: engine.encode(np.ones((4, 4))[:, ::2], 2), "dtype", "contiguous", "ascontiguousarray")
refused(lambda: engine.encode(np.ones((4, 4)).T[:2], 2), "dtype", "contiguous")
refused(lambda: engine.encode({"a": 1}, 2), "dtype", "dict", "NumPy", ".npy", ".parquet", ".pb")
refused(lambda: engine.encode(["a", "b"], 1), "dtype", "numbers")
refused(lambda: engine.encode([[1.0, 2.0], [1.0]], 1), "size", "different")
refused(lambda: engine.encode("samples.csv", 2), "source", ".csv", ".npy", ".parquet", ".arrow", ".pt", ".pb")
refused(lambda: engine.encode("s3://bucket/samples.npy", 2), "source", "s3://bucket/samples.npy", "download")
refused(lambda: engine.encode([], 2), "empty", "empty")
refused(lambda: engine.encode(np.ones((0, 4)), 2), "samples", "no samples")
refused(lambda: encode.QdpEngine(0, "float16"), "dtype", "float16", "float32", "float64")
refused(lambda: encode.QdpEngine(0, "float32", "tpu"), "source", "tpu", "cuda", "cpu")
refused(lambda: encode.QdpEngine(-1, "float32", "cpu"), "source", "-1")

# Memory: refused before it is allocated.
free, total = engine.memory()
samples = (total >> 34) + 1  # of 16 GiB
encode_samples = lambda: engine.encode(np.ones((samples, 30)), 30, "angle")
if engine.kind == "opencl" and samples > 3:  # refused for their number, before their memory is looked at
    refused(encode_samples, "size", "up to 3 samples")
else:
    refused(encode_samples, "memory", samples << 14, -(-total >> 20), "MiB", "30 qubits", "fewer qubits", kind=MemoryError)

# The hand-over works once.
states = engine.encode([3.0, 4.0], 1)
taken = states.__dlpack__(stream=-1)
refused(lambda: states.__dlpack__(stream=-1), "consumed", "handed over", "once", kind=BufferError)
refused(lambda: states.numpy(), "consumed", "once")
refused(lambda: states.part(0, 1), "consumed")
states = engine.encode([3.0, 4.0], 1)
states.release()
states.release()
refused(lambda: states.__dlpack__(stream=-1), "consumed", "released")
refused(lambda: engine.encode([3.0, 4.0], 1).__dlpack__(dl_device=(4, 0)), "handover", "(4, 0)")

# A file's index that float32 does not hold.
path = os.path.join(sys.argv[3], "large-index.npy")
np.save(path, np.array([[1.0], [2.0**24 + 1]]))
loader = encode.QuantumDataLoader(num_qubits=25, encoding_method="basis").device(backend).source_file(path).dtype("float32")
refused(lambda: list(loader), "range", 2**24 + 1, 2**24, "float64", sample=1)

# The engine goes on.
assert abs(engine.encode([3.0, 4.0], 1).numpy()[0, 1] - 0.8) < 1e-15
pending = engine.encode_batch_submit([3.0, 4.0], 1)
engine.close()
engine.close()
for call in (
    lambda: engine.encode([1.0], 1),
    lambda: engine.encode_async([1.0], 1),
    lambda: engine.alloc_input(1, 1),
    lambda: engine.live_states,
    lambda: engine.memory(),
    lambda: engine.synchronize(),
    lambda: engine.release_memory(),
    lambda: pending.get().numpy(),
):
    try:
        call()
        raise SystemExit("a closed engine must raise")
    except encode.MillraceError as error:
        assert "closed" in str(error)
del pending
print("ok", checked)
