# The same encodings in NumPy, batch by batch, as a user would write them: one process, in f64 and f32.
#   python3 numpy_peer.py QUBITS BATCH SECONDS [ENCODING,…]
import json, sys, time
import numpy as np

qubits, batch, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
N = 1 << qubits
rng = np.random.default_rng(1)


def amplitude(x, out):
    norms = np.sqrt(np.einsum("ij,ij->i", x, x, dtype=np.float64))
    if not np.all(np.isfinite(norms)) or np.any(norms == 0):
        raise ValueError("norm")
    np.multiply(x, (1 / norms).astype(x.dtype)[:, None], out=out.real)


def products(pairs, out):
    """pairs: for each qubit the factors of bit 0 and 1, [B, n, 2]; by two half tables and an outer product."""
    def table(some):
        t = np.ones((batch, 1), dtype=out.dtype)
        for k in range(some.shape[1]):  # bit k above those so far
            t = (some[:, k, :, None] * t[:, None, :]).reshape(batch, -1)
        return t
    half = qubits // 2
    low, high = table(pairs[:, :half]), table(pairs[:, half:])
    np.multiply(high[:, :, None], low[:, None, :], out=out.reshape(batch, high.shape[1], low.shape[1]))


def angle(x, out):
    products(np.stack([np.cos(x), np.sin(x)], axis=2).astype(out.dtype), out)


def phase(x, out):
    products((np.stack([np.ones_like(x) + 0j, np.exp(1j * x)], axis=2) * np.sqrt(0.5)).astype(out.dtype), out)


pairs = [(i, j) for i in range(qubits) for j in range(i + 1, qubits)]


def iqp(x, out):
    theta = np.zeros((batch, N))
    view = theta.reshape((batch,) + (2,) * qubits)  # axis 1 is the highest qubit
    one = lambda *ks: tuple([slice(None)] + [1 if qubits - 1 - a in ks else slice(None) for a in range(qubits)])
    for k in range(qubits):
        view[one(k)] += x[:, k].reshape((batch,) + (1,) * (qubits - 1))
    for p, (i, j) in enumerate(pairs):
        view[one(i, j)] += x[:, qubits + p].reshape((batch,) + (1,) * (qubits - 2))
    np.exp(1j * theta, out=out, casting="unsafe")
    for k in range(qubits):
        s = out.reshape(batch, -1, 2, 1 << k)
        zero = s[:, :, 0].copy()
        s[:, :, 0] += s[:, :, 1]
        np.subtract(zero, s[:, :, 1], out=s[:, :, 1])
    out *= 2.0**-qubits


lengths = {"amplitude": N, "angle": qubits, "phase": qubits, "iqp": qubits + len(pairs)}
asked = (sys.argv[4] if len(sys.argv) > 4 else "amplitude,angle,phase,iqp").split(",")
for name, encode in [(name, globals()[name]) for name in asked]:
    for dtype in ["f64", "f32"]:
        real, made = (np.float64, np.complex128) if dtype == "f64" else (np.float32, np.complex64)
        x = rng.random((batch, lengths[name])).astype(real)
        out = np.zeros((batch, N), dtype=made)
        best, end = float("inf"), time.perf_counter() + seconds
        rounds = 0
        while rounds < 3 or time.perf_counter() < end:
            begun = time.perf_counter()
            encode(x, out)
            best, rounds = min(best, time.perf_counter() - begun), rounds + 1
        total = np.sum(np.abs(out[0].astype(np.complex128)) ** 2)
        assert abs(total - 1) < 1e-5, (name, total)
        print(json.dumps({"encoding": name, "precision": dtype, "rate": batch / best}), flush=True)
