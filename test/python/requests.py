"""Lists, scopes, asynchronous requests, streams, loaders and benchmarks.

Usage: requests.py DATA BACKEND
"""

import json
import sys
import threading

import numpy as np

import encode
from arrays import taken

data, backend = sys.argv[1], sys.argv[2]
engine = encode.QdpEngine(0, "float64", backend)
random = np.random.default_rng(3)


def states_of(x):
    return x / np.sqrt((x * x).sum(1, keepdims=True))


def raises(call, category):
    try:
        call()
    except encode.QdpError as error:
        assert error.category == category, (category, error.category, str(error))
        return error
    raise SystemExit(f"nothing was raised: {category}")


# A list of samples: one tensor, and boundaries in the order of submission.
x = random.normal(size=(9, 64))
states, boundaries = engine.encode_list(list(x), 64, 6, "amplitude")
assert boundaries == [(k, 1) for k in range(9)]
assert np.abs(taken(states) - states_of(x)).max() < 1e-15
raises(lambda: engine.encode_list([], 64, 6), "samples")
raises(lambda: engine.encode_list([x[0], x[0][:3]], 64, 6), "size")
with engine.coalesce(64, 6) as scope:
    scope.submit(x[0])
    scope.submit_batch(x[1:5])
    scope.submit(x[5].tolist())
    raises(scope.get_result, "consumed")
states, boundaries = scope.get_result()
assert boundaries == [(0, 1), (1, 4), (5, 1)]
assert np.abs(taken(states) - states_of(x[:6])).max() < 1e-15
raises(lambda: scope.submit(x[0]), "consumed")

# Asynchronous requests of several threads: each gets its own sample, and only a bad one its error.
results = {}


def ask(k):
    angles = np.full(5, 0.1 * k) if k % 7 != 3 else np.full(5, np.nan)
    handle = engine.encode_async(angles, 5, "angle")
    try:
        results[k] = taken(handle.get())
    except encode.QdpError as error:
        results[k] = error


threads = [threading.Thread(target=ask, args=(k,)) for k in range(40)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for k in range(40):
    if k % 7 == 3:
        assert results[k].category == "finite", results[k]
    else:
        assert results[k].shape == (1, 32) and abs(results[k][0, 0] - np.cos(0.1 * k) ** 5) < 1e-15
handles = [engine.encode_async(np.ones(1 << 4), 4) for _ in range(100)]
assert all(np.allclose(taken(handle.get()), 0.25) for handle in handles)

# A stream: in order, errors in their batch's turn, an empty one yields nothing.
matrices = [random.normal(size=(3, 16)) for _ in range(11)]
got = [taken(states) for states in engine.encode_stream(matrices, 4, in_flight=3)]
assert len(got) == 11 and all(np.abs(a - states_of(b)).max() < 1e-15 for a, b in zip(got, matrices))
assert list(encode.encode_stream(engine, [], 4)) == []
stream = engine.encode_stream([matrices[0], np.zeros((2, 16)), matrices[1], np.ones((2, 99))], 4)
assert next(stream).shape == (3, 16)
assert raises(lambda: next(stream), "norm").sample == 0
raises(lambda: engine.encode_stream([], 4, in_flight=0), "size")
for states in engine.encode_stream(iter(matrices), 4):
    break  # the others are dropped
first, second = (engine.encode_batch_submit(matrix, 4) for matrix in matrices[:2])
second.get()
assert first.is_done()  # in order, so the first has ended, too
assert first.get() is first.get()

# The published sizes.
with open(f"{data}/sizes.json", encoding="utf-8") as file:
    sizes = json.load(file)
for case in sizes["vector_len"]:
    assert encode.shapes.sample_length(case["encoding"], case["num_qubits"]) == case["len"]
for case in sizes["prefetch_depth"]:
    arguments = (case["encoding"], case["num_qubits"], case["batch_size"], case["bytes_per_element"])
    assert encode.shapes.prefetch_depth(*arguments) == case["depth"], case
for case in sizes["memory_estimate"]:
    made = encode.estimate_memory(
        case["encoding"], case["num_qubits"], case["batch_size"], case["dtype"], case["prefetch_depth"]
    )
    assert made == (case["cpu_prefetch_bytes"], case["gpu_state_bytes"], case["total"]), (made, case)
assert engine.estimate_memory("amplitude", 16, 64, "f32").total_bytes == 335544320
raises(lambda: encode.estimate_memory("amplitude", 30, 1 << 40, "f64", 1 << 20), "memory")

# Synthetic data: the published values.
with open(f"{data}/synthetic_generator.json", encoding="utf-8") as file:
    published = json.load(file)["cases"]
for case in published:
    seed, at, size = case["seed"], case["batch_index"], case["batch_size"]
    n, method = case["num_qubits"], case["encoding"]
    loader = encode.QuantumDataLoader(0, n, size, at + 1, method, seed).source_synthetic().dtype("float64").device(backend)
    made = [taken(states) for states in loader]
    assert len(made) == at + 1
    rows = np.array(case["batch"]).reshape(size, -1)
    want = taken(engine.encode(np.ascontiguousarray(rows), n, method))
    assert np.abs(made[at] - want).max() < 1e-14, case
with open(f"{data}/amplitude_16q_checks.json", encoding="utf-8") as file:
    checks = json.load(file)["cases"]
for case in checks:
    loader = encode.QuantumDataLoader(num_qubits=16, batch_size=1, total_batches=1, seed=case["seed"]).device(backend)
    state = taken(next(iter(loader.dtype("float64"))))[0]
    for name in ("state_0", "state_1", "state_12345", "state_65535"):
        assert abs(state[int(name[6:])] - case[name]) < 1e-15
    assert abs(state.real.sum() - case["sum_re"]) < 1e-9

# The chain checks its arguments at once.
loader = encode.QuantumDataLoader()
raises(lambda: loader.qubits(0), "qubits")
raises(lambda: loader.encoding("x"), "encoding")
raises(lambda: loader.batches(0), "samples")
raises(lambda: loader.batches(1, -1), "samples")
raises(lambda: loader.dtype("int8"), "dtype")
raises(lambda: loader.seed(-1), "size")
raises(lambda: loader.seed(1 << 64), "size")
raises(lambda: loader.null_handling("skip"), "source")
raises(lambda: loader.backend("cupy"), "source")
raises(lambda: loader.source_file("a.npy", streaming=True), "source")
raises(lambda: loader.source_file("a.csv"), "source")
raises(lambda: loader.source_file("s3://bucket/a.npy"), "source")
raises(lambda: list(encode.QuantumDataLoader().source_synthetic().source_file("a.npy")), "source")
try:
    encode.QuantumDataLoader().as_torch_dataset()
except encode.MissingPackageError as error:
    assert "torch" in str(error)

# Leaving the loop ends the producer, also one that waits for a place.
loader = encode.QuantumDataLoader(num_qubits=8, total_batches=1000).prefetch(1).device(backend)
for states in loader.source_synthetic():
    break
del states
iterator = iter(loader)
next(iterator)
iterator.close()
assert not [thread for thread in threading.enumerate() if thread.name == "qdp-prefetch"]

bench = encode.QdpBenchmark().qubits(6).encoding("angle").batches(20, 8).prefetch(4).warmup(2).dtype("float64")
bench = bench.device(backend)
result = bench.run_throughput()
assert result.duration_sec > 0 and abs(result.vectors_per_sec - 160 / result.duration_sec) < 1e-6
result = bench.run_latency()
assert abs(result.latency_ms_per_vector - result.duration_sec * 1000 / 160) < 1e-9
engine.synchronize()
engine.close()
print("ok")
