"""A real consumer on a CUDA device: PyTorch takes the states where they are. Needs a GPU and torch.

Usage: cuda.py DATA
"""

import gc
import json
import sys

import numpy as np
import torch

import encode
from encode.reference import encode_tensor

data = sys.argv[1]
assert torch.cuda.is_available()
device = torch.device("cuda:0")
FILES = ("amplitude", "angle", "basis", "phase", "iqp_z", "iqp")


def say(name, value="ok"):
    print(f"{name:44s} {value}", flush=True)


def published():
    for name in FILES:
        with open(f"{data}/{name}.json", encoding="utf-8") as file:
            cases = json.load(file)
        for case in cases["single"] + cases["batch"]:
            x = np.array(case["input"], dtype=np.float64)
            if "num_samples" in case:
                x = x.reshape(case["num_samples"], case["sample_size"])
            yield cases["encoding"], case, x


# Right values: published vectors, from the host and from the device, in both precisions.
for precision in ("float64", "float32"):
    engine = encode.QdpEngine(0, precision, "cuda")
    worst, checked = 0.0, 0
    for method, case, x in published():
        end = "" if precision == "float64" else "_f32"
        want = torch.tensor(np.array(case["re" + end]).ravel() + 1j * np.array(case["im" + end]).ravel())
        tensors = [x, torch.from_numpy(x).to(device)]
        if method == "basis":
            tensors.append(torch.from_numpy(x).to(device).long())
        for given in tensors:
            states = engine.encode(given, case["num_qubits"], method)
            pointer = states.data_ptr
            made = torch.from_dlpack(states)
            assert made.device == device and made.data_ptr() == pointer, "the memory is shared"
            assert made.dtype == (torch.complex128 if precision == "float64" else torch.complex64)
            error = (made.cpu().ravel().to(torch.complex128) - want).abs().max().item()
            assert error <= (2e-15 if precision == "float64" else 1e-6), (method, case["name"], error)
            worst, checked = max(worst, error), checked + 1
    say(f"published vectors, {precision}", f"{checked} cases, worst {worst:.2g}")
    # Larger states beside PyTorch's own.
    for n in (1, 5, 12, 13, 14, 16):
        for method in encode.ENCODINGS:
            length = {"amplitude": 1 << n, "basis": 1, "iqp": n + n * (n - 1) // 2}.get(method, n)
            x = torch.randint(0, 1 << n, (5, 1), device=device).double() if method == "basis" else torch.randn(5, length, device=device, dtype=torch.float64)
            for given in (x, x.float()):
                got = torch.from_dlpack(engine.encode(given, n, method))
                want = encode_tensor(given.double(), n, method, "f64")
                error = (got.to(torch.complex128) - want).abs().max().item()
                assert error < (1e-6 if precision == "float32" else 1e-12), (precision, n, method, given.dtype, error)
    say(f"sizes beside PyTorch, {precision}")
    engine.close()

engine = encode.QdpEngine(0, "float64", "cuda")

# Gradients flow through the tensor afterwards.
state = torch.from_dlpack(engine.encode([3.0, 4.0], 1)).clone().requires_grad_(True)
(state.abs() ** 2 * torch.tensor([1.0, 2.0], device=device)).sum().backward()
assert torch.allclose(state.grad, 2 * state.detach() * torch.tensor([1.0, 2.0], device=device))
weights = torch.ones(2, device=device, dtype=torch.float64, requires_grad=True)
shared = torch.from_dlpack(engine.encode([3.0, 4.0], 1))
((shared.real * weights).sum()).backward()
assert torch.allclose(weights.grad, torch.tensor([0.6, 0.8], device=device, dtype=torch.float64))
say("gradients")

# The caller's stream: samples that a busy stream has yet to write.
stream = torch.cuda.Stream()
x = torch.zeros(64, 1 << 12, device=device, dtype=torch.float64)
x[:, 0] = 1
torch.cuda.synchronize()
with torch.cuda.stream(stream):
    torch.cuda._sleep(200_000_000)
    x[:, 0] = 0
    x[:, 7] = 1
    made = torch.from_dlpack(engine.encode(x, 12))
    seen = made[:, 7].real.clone()
torch.cuda.synchronize()
assert bool((seen == 1).all()), "the engine read the samples before their stream had written them"
say("the caller's stream is respected")

# Memory that a consumer's queued work still reads is not written before that.
first = torch.from_dlpack(engine.encode(x, 12))
other = torch.zeros_like(x)
other[:, 3] = 1
torch.cuda.synchronize()
with torch.cuda.stream(stream):
    held = torch.from_dlpack(engine.encode(x, 12))
    torch.cuda._sleep(200_000_000)
    late = held[:, 7].real.clone()  # queued behind the sleep
    del held
for _ in range(12):
    torch.from_dlpack(engine.encode(other, 12))
torch.cuda.synchronize()
assert bool((late == 1).all()), "memory was used again before its consumer's stream was done"
del first
say("memory is used again after its consumer")

# Consumed twice raises; memory is freed after the consumer; it lives on after the engine.
states = engine.encode([1.0, 0.0], 1)
tensor = torch.from_dlpack(states)
try:
    torch.from_dlpack(states)
    raise SystemExit("a second hand-over must raise")
except encode.HandOverError as error:
    assert "once" in str(error)
say("consumed twice raises")
gc.collect()
used = engine.live_states
big = torch.from_dlpack(engine.encode(torch.ones(64, 1 << 16, device=device, dtype=torch.float64), 16))
assert engine.live_states == used + 1
view = big[1]
del big
gc.collect()
assert engine.live_states == used + 1, "a view keeps the memory"
del view
gc.collect()
assert engine.live_states == used
engine.release_memory()
torch.cuda.synchronize()
say("freed after the consumer")
engine.close()
assert tensor[0, 0].item() == 1, "a tensor outlives its engine"
del tensor
say("a tensor outlives its engine")

# Errors of tensors on the device.
engine = encode.QdpEngine(0, "float32", "cuda")
for bad, method, category in (
    (torch.tensor([[1.0, 2.0], [0.0, 0.0]], device=device), "amplitude", "norm"),
    (torch.tensor([[1.0, float("nan")]], device=device), "amplitude", "finite"),
    (torch.tensor([[0.0], [9.0]], device=device), "basis", "range"),
    (torch.tensor([[-1]], device=device), "basis", "negative"),
    (torch.tensor([[1.5]], device=device), "basis", "integer"),
    (torch.tensor([[0.5], [float("inf")]], device=device), "angle", "finite"),
    (torch.ones(2, 2, device=device, dtype=torch.float16), "amplitude", "dtype"),
    (torch.ones(2, 4, device=device)[:, ::2], "amplitude", "dtype"),
    (torch.ones(2, 2, 2, device=device), "amplitude", "rank"),
    (torch.ones(0, 2, device=device), "amplitude", "samples"),
    (torch.arange(3, device=device), "basis", "size"),
):
    try:
        engine.encode(bad, 1 if method != "basis" else 2, method)
        raise SystemExit(f"{method} of {bad} must raise")
    except encode.QdpError as error:
        assert error.category == category, (category, error.category, error)
say("errors of tensors on the device")
try:
    engine.encode([1.0] * 4, 30, "amplitude")
    say("30 qubits", "enough memory")
except encode.MemoryAllocationError as error:
    say("30 qubits", str(error))
try:
    engine.encode(np.ones((64, 30)), 30, "angle")
    raise SystemExit("64 states of 30 qubits must not fit")
except encode.MemoryAllocationError as error:
    say("64 x 30 qubits are refused", str(error)[:90])

# Flat in memory.
x = torch.ones(64, 1 << 10, device=device)
torch.from_dlpack(engine.encode(x, 10))
before = torch.cuda.mem_get_info()[0]
for _ in range(10_000):
    torch.from_dlpack(engine.encode(x, 10))
assert before - torch.cuda.mem_get_info()[0] < 64 << 20, "memory grows"
say("10,000 batches", f"{(before - torch.cuda.mem_get_info()[0]) >> 20} MiB more")

# Another way round: what DLPack and __cuda_array_interface__ objects give.


class OnlyDLPack:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **keywords):
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


got = torch.from_dlpack(engine.encode(OnlyDLPack(torch.tensor([[3.0, 4.0]], device=device)), 1))
assert torch.allclose(got.real.cpu(), torch.tensor([[0.6, 0.8]])), got
say("DLPack in")
loader = encode.QuantumDataLoader(num_qubits=10, batch_size=8, total_batches=3).source_synthetic()
batches = list(loader.as_torch_dataset())
assert len(batches) == 3 and all(batch.shape == (8, 1024) and batch.is_cuda for batch in batches)
say("as_torch_dataset")
live = torch.from_dlpack(engine.encode([1.0, 1.0], 1))  # alive at the end of the interpreter
print("ok")
