"""What a call costs the calling thread, and the floor: one submission and one wait of the library with everything prepared.

Usage: calls.py [BACKEND]. Small batches, so that the device's work does not count; CPU microseconds, the best of 9 rounds.
"""

import sys
import time

import numpy as np

import encode
from encode._library import library
from encode.inputs import samples_of

try:
    import torch
except ImportError:
    torch = None

num_qubits = 4
x = np.random.default_rng(1).random((4, 1 << num_qubits))
engine = encode.QdpEngine(0, "float64", sys.argv[1] if len(sys.argv) > 1 else "cpu")


def cost(call, calls=400):
    best = float("inf")
    for _ in range(9):
        begun = time.thread_time()
        for _ in range(calls):
            call()
        best = min(best, (time.thread_time() - begun) / calls)
    return 1e6 * best


def stream():
    for states in engine.encode_stream([x] * 8, num_qubits):
        states.release()


engine.encode(x, num_qubits).release()
(plan,) = (plan.native for plan in engine._plans.values())
samples = samples_of(x, "amplitude")
engine._describe(samples)


def floor():
    started = engine._started
    library.qdp_submit(engine._native, plan, engine._given, started)
    block = started.block
    library.qdp_finish(started.batch, 0.0)
    library.qdp_block_return(block)


def say(microseconds, what):
    print(f"{microseconds:6.1f} us  {what}")


say(cost(floor), "submit, finish, return: the floor")
say(cost(lambda: samples_of(x, "amplitude")), "finding the samples in a NumPy array")
say(cost(lambda: engine.encode(x, num_qubits).release()), "encode(array)")
if engine.kind != "cuda":
    say(cost(lambda: np.from_dlpack(engine.encode(x, num_qubits))), "numpy.from_dlpack(encode(array))")
say(cost(stream, 60) / 8, "encode_stream, a batch")
if torch:
    tensor = torch.from_numpy(x)
    tensor = tensor.cuda() if engine.kind == "cuda" else tensor
    say(cost(lambda: torch.from_dlpack(engine.encode(tensor, num_qubits))), "torch.from_dlpack(encode(tensor))")
    made = torch.zeros(2, 2, device=tensor.device)
    say(cost(lambda: torch.from_dlpack(made)), "torch.from_dlpack(tensor) alone")
