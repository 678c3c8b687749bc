"""The steps of the benchmark's end-to-end loop, one at a time: CPU milliseconds of all threads, the best of 7. Needs torch.

Usage: loop.py [BACKEND] [QUBITS] [BATCH]. What takes longest bounds the loop, whoever encodes.
"""

import sys
import time

import numpy as np
import torch

import encode
from encode.reference import encode_tensor

backend, num_qubits, batch = (sys.argv[1:] + ["cpu", "16", "64"][len(sys.argv) - 1 :])[:3]
num_qubits, batch = int(num_qubits), int(batch)
torch.set_num_threads(1)
engine = encode.QdpEngine(0, "float64", backend)
ramp = np.arange(1 << num_qubits) / (1 << num_qubits)


def made():
    return np.stack([np.roll(ramp, -row) for row in range(batch)])


def normalised(samples):
    return samples / np.linalg.norm(samples, axis=1, keepdims=True)


samples = made()
x = normalised(samples)
states = torch.from_dlpack(engine.encode(x, num_qubits))


def by_torch():
    given = torch.from_numpy(x)
    return encode_tensor(given.cuda() if engine.kind == "cuda" else given, num_qubits, "amplitude", "f64")


for name, step in (
    ("producer: np.roll of each row, np.stack", made),
    ("normalise: / np.linalg.norm", lambda: normalised(samples)),
    ("encode, engine", lambda: torch.from_dlpack(engine.encode(x, num_qubits))),
    ("encode, PyTorch", by_torch),
    ("consume: abs, float, sum", lambda: float(states.abs().float().sum())),
):
    step()
    spent = []
    for _ in range(7):
        begun, cpu = time.perf_counter(), time.process_time()
        step()
        spent.append((time.process_time() - cpu, time.perf_counter() - begun))
    print(f"{name:42s} {1e3 * min(spent)[0]:7.1f} ms CPU, {1e3 * min(each[1] for each in spent):7.1f} ms by the clock")
