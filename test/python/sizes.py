"""Random samples of many sizes against NumPy: all encodings, padded amplitudes, samples of float32, lists of samples.

Usage: sizes.py BACKEND QUBITS...
"""

import sys

import numpy as np

import encode
from arrays import taken

backend, sizes = sys.argv[1], [int(text) for text in sys.argv[2:]]
random = np.random.default_rng(29)


def hadamard(state):
    n = state.shape[1].bit_length() - 1
    for k in range(n):
        pairs = state.reshape(len(state), -1, 2, 1 << k)
        state = np.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), 2).reshape(len(state), -1)
    return state / 2**n


def reference(x, n, method):
    size = 1 << n
    index = np.arange(size)
    if method == "amplitude":
        state = np.zeros((len(x), size))
        state[:, : x.shape[1]] = x / np.sqrt((x * x).sum(1, keepdims=True))
        return state + 0j
    if method == "basis":
        state = np.zeros((len(x), size), complex)
        state[np.arange(len(x)), x[:, 0].astype(int)] = 1
        return state
    bits = np.array([(index >> k) & 1 for k in range(n)])
    if method == "angle":
        return np.prod([np.where(bits[k], np.sin(x[:, k : k + 1]), np.cos(x[:, k : k + 1])) for k in range(n)], axis=0) + 0j
    theta = x[:, :n] @ bits
    if method == "phase":
        return np.exp(1j * theta) / 2 ** (n / 2)
    if method == "iqp":
        pairs = [bits[i] & bits[j] for i in range(n) for j in range(i + 1, n)]
        if pairs:
            theta = theta + x[:, n:] @ np.array(pairs)
    return hadamard(np.exp(1j * theta))


checked = 0
for precision in ("float64", "float32"):
    with encode.QdpEngine(0, precision, backend) as engine:
        for n in sizes:
            for method in encode.ENCODINGS:
                count = 3
                lengths = {"amplitude": {1 << n, max(1, (1 << n) - 3), (1 << n) // 2 + 1}, "basis": {1}, "iqp": {n + n * (n - 1) // 2}}
                for length in lengths.get(method, {n}):
                    if method == "basis":
                        x = random.integers(0, 1 << n, (count, 1)).astype(float)
                    else:
                        x = random.normal(size=(count, length)) * (1 if method == "amplitude" else 4)
                    for given in (x, x.astype(np.float32)):
                        if given is x:
                            states = engine.encode(given, n, method)
                        else:
                            states = engine.encode_batch_f32(given, n, method)
                        want = reference(given.astype(np.float64), n, method)
                        got = taken(states)
                        bound = 1e-6 if precision == "float32" else 2e-13 if method != "amplitude" else 1e-15
                        error = np.abs(got - want).max()
                        assert error <= bound, (precision, n, method, length, given.dtype, error)
                        assert abs((np.abs(got.astype(complex)) ** 2).sum(1) - 1).max() < (1e-6 if precision == "float32" else 1e-12)
                        checked += 1
print("ok", checked)
