"""A real consumer: PyTorch takes the states where they are, on a CUDA device or on the CPU. Needs torch.

Usage: consumer.py DATA cuda|cpu [PART...]

Prints a line for each part, and ok if all of them are. A part that fails does not stop the others.
"""

import gc
import json
import os
import sys
import traceback

import numpy as np
import torch

import encode
from encode.reference import encode_tensor

data, backend = sys.argv[1:3]
is_cuda = backend == "cuda"
device = torch.device("cuda:0" if is_cuda else "cpu")
PARTS = {}
FILES = ("amplitude", "angle", "basis", "phase", "iqp_z", "iqp")


def part(function):
    PARTS[function.__name__] = function
    return function


class Skipped(Exception):
    pass


def needs_cuda():
    if not is_cuda:
        raise Skipped("for CUDA")


def engine_of(precision="float64"):
    return encode.QdpEngine(0, precision, backend)


def published():
    for name in FILES:
        with open(f"{data}/{name}.json", encoding="utf-8") as file:
            cases = json.load(file)
        for case in cases["single"] + cases["batch"]:
            x = np.array(case["input"], dtype=np.float64)
            if "num_samples" in case:
                x = x.reshape(case["num_samples"], case["sample_size"])
            yield cases["encoding"], case, x


@part
def vectors():
    """The published vectors, from the host and from the device, in both precisions; the memory is shared."""
    worst, checked = 0.0, 0
    for precision in ("float64", "float32"):
        with engine_of(precision) as engine:
            for method, case, x in published():
                end = "" if precision == "float64" else "_f32"
                want = torch.tensor(np.array(case["re" + end]).ravel() + 1j * np.array(case["im" + end]).ravel())
                given = [x, torch.from_numpy(x)] + ([torch.from_numpy(x).to(device)] if is_cuda else [])
                if method == "basis" and is_cuda:
                    given.append(torch.from_numpy(x).to(device).long())
                for each in given:
                    states = engine.encode(each, case["num_qubits"], method)
                    pointer = states.data_ptr
                    made = torch.from_dlpack(states)
                    assert made.device == device and made.data_ptr() == pointer, "the memory is not shared"
                    assert made.dtype == (torch.complex128 if precision == "float64" else torch.complex64)
                    error = (made.cpu().ravel().to(torch.complex128) - want).abs().max().item()
                    assert error <= (2e-15 if precision == "float64" else 1e-6), (method, case["name"], error)
                    worst, checked = max(worst, error), checked + 1
    return f"{checked} cases, worst {worst:.2g}"


@part
def sizes():
    """Larger states beside PyTorch's own."""
    checked = 0
    for precision in ("float64", "float32"):
        with engine_of(precision) as engine:
            for n in (1, 5, 12, 13, 14, 16) if is_cuda else (1, 5, 12, 14):
                for method in encode.ENCODINGS:
                    length = {"amplitude": 1 << n, "basis": 1, "iqp": n + n * (n - 1) // 2}.get(method, n)
                    if method == "basis":
                        x = torch.randint(0, 1 << n, (5, 1), device=device).double()
                    else:
                        x = torch.randn(5, length, device=device, dtype=torch.float64)
                    for given in (x, x.float()):
                        encoded = engine.encode if is_cuda or given is x else engine.encode_batch_f32
                        got = torch.from_dlpack(encoded(given, n, method))
                        want = encode_tensor(given.double(), n, method, "f64")
                        error = (got.to(torch.complex128) - want).abs().max().item()
                        bound = 1e-6 if precision == "float32" else 1e-12
                        assert error < bound, (precision, n, method, given.dtype, error)
                        checked += 1
    return f"{checked} batches"


@part
def gradients():
    """Gradients flow through the tensor afterwards: as a leaf, as a constant, and through a small model."""
    with engine_of() as engine:
        leaf = torch.from_dlpack(engine.encode([3.0, 4.0], 1)).requires_grad_(True)
        weight = torch.tensor([1.0, 2.0], device=device)
        (leaf.abs() ** 2 * weight).sum().backward()
        assert torch.allclose(leaf.grad, 2 * leaf.detach() * weight)
        weights = torch.ones(2, device=device, dtype=torch.float64, requires_grad=True)
        shared = torch.from_dlpack(engine.encode([3.0, 4.0], 1))
        (shared.real * weights).sum().backward()
        assert torch.allclose(weights.grad, torch.tensor([0.6, 0.8], device=device, dtype=torch.float64))
    with engine_of("float32") as engine:
        torch.manual_seed(29)
        model = torch.nn.Linear(16, 1).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        losses = []
        x = np.random.default_rng(29).normal(size=(32, 4))
        label = torch.tensor(np.cos(x).prod(1), device=device, dtype=torch.float32)[:, None]
        for _ in range(60):
            states = torch.from_dlpack(engine.encode(x, 4, "angle"))
            loss = torch.nn.functional.mse_loss(model(states.real), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] / 2, losses
    return f"loss {losses[0]:.3f} to {losses[-1]:.3f}"


@part
def callers_stream():
    """Samples that a busy stream has yet to write."""
    needs_cuda()
    with engine_of() as engine:
        stream = torch.cuda.Stream()
        x = torch.zeros(64, 1 << 12, device=device, dtype=torch.float64)
        x[:, 0] = 1
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            x[:, 0] = 0
            x[:, 7] = 1
            seen = torch.from_dlpack(engine.encode(x, 12))[:, 7].real.clone()
        torch.cuda.synchronize()
        assert bool((seen == 1).all()), "the engine read the samples before their stream had written them"


@part
def consumers_stream():
    """Memory that a consumer's queued work still reads is not written before that."""
    needs_cuda()
    with engine_of() as engine:
        stream = torch.cuda.Stream()
        x = torch.zeros(64, 1 << 12, device=device, dtype=torch.float64)
        x[:, 7] = 1
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


@part
def consumed_once():
    """A second hand-over raises."""
    with engine_of() as engine:
        states = engine.encode([1.0, 0.0], 1)
        tensor = torch.from_dlpack(states)
        try:
            torch.from_dlpack(states)
        except encode.HandOverError as error:
            assert "once" in str(error)
        else:
            raise AssertionError("a second hand-over must raise")
        assert tensor[0, 0].item() == 1


@part
def lifetimes():
    """Memory is freed after the consumer, a view keeps it, and a tensor outlives its engine."""
    engine = engine_of()
    kept = torch.from_dlpack(engine.encode([1.0, 0.0], 1))
    used = engine.live_states
    big = torch.from_dlpack(engine.encode(torch.ones(16, 1 << 12, device=device, dtype=torch.float64), 12))
    assert engine.live_states == used + 1
    view = big[1]
    del big
    gc.collect()
    assert engine.live_states == used + 1, "a view keeps the memory"
    del view
    gc.collect()
    assert engine.live_states == used, "the memory was not freed"
    engine.release_memory()
    engine.close()
    assert kept[0, 0].item() == 1, "a tensor outlives its engine"


@part
def errors():
    """Errors of tensors."""
    count = 0
    f32 = torch.float32 if is_cuda else torch.float64
    tensors = [
        (torch.tensor([[1.0, 2.0], [0.0, 0.0]], dtype=f32), "amplitude", "norm"),
        (torch.tensor([[1.0, float("nan")]], dtype=f32), "amplitude", "finite"),
        (torch.tensor([[0.0], [9.0]], dtype=f32), "basis", "range"),
        (torch.tensor([[1.5]], dtype=f32), "basis", "integer"),
        (torch.tensor([[0.5], [float("inf")]], dtype=f32), "angle", "finite"),
        (torch.ones(2, 2, dtype=torch.float16), "amplitude", "dtype"),
        (torch.ones(2, 2, dtype=torch.complex128), "amplitude", "dtype"),
        (torch.ones(2, 4, dtype=f32, device=device)[:, ::2], "amplitude", "dtype"),
        (torch.ones(2, 2, 2, dtype=f32), "amplitude", "rank"),
        (torch.ones(0, 2, dtype=f32), "amplitude", "samples"),
    ]
    if is_cuda:
        tensors += [(torch.tensor([[-1]]), "basis", "negative"), (torch.arange(3), "basis", "size")]
    else:
        tensors += [(torch.ones(2, 2), "amplitude", "dtype"), (torch.ones(2, 2, device="meta"), "amplitude", "dtype")]
    with engine_of("float32") as engine:
        for bad, method, category in tensors:
            given = bad if bad.device.type == "meta" else bad.to(device)
            try:
                engine.encode(given, 1 if method != "basis" else 2, method)
            except encode.QdpError as error:
                assert error.category == category, (category, error.category, error)
                count += 1
            else:
                raise AssertionError(f"{method} of {bad} must raise")
    return f"{count} refused"


@part
def large():
    """States that do not fit are refused before memory is allocated."""
    with engine_of("float32") as engine:
        free, total = engine.memory()
        samples = (total >> 33) * 2 + 2
        try:
            engine.encode(np.ones((samples, 30)), 30, "angle")
        except encode.MemoryAllocationError as error:
            told = str(error)
        else:
            raise AssertionError(f"{samples} states of 30 qubits must not fit")
        assert engine.memory()[0] > free - (256 << 20)
    return told[:70]


@part
def flat_memory():
    """10,000 batches do not grow."""
    count = 10_000 if is_cuda else 3000
    with engine_of("float32") as engine:
        x = torch.ones(64, 1 << 8, device=device, dtype=torch.float64)
        for _ in range(200):
            torch.from_dlpack(engine.encode(x, 8))
        before = torch.cuda.mem_get_info()[0] if is_cuda else -resident()
        for _ in range(count):
            torch.from_dlpack(engine.encode(x, 8))
        grown = before - (torch.cuda.mem_get_info()[0] if is_cuda else -resident())
        assert grown < (64 << 20 if is_cuda else 4 << 20), f"{grown} bytes more"
    return f"{count} batches, {grown >> 10} KiB more"


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class OnlyDLPack:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **keywords):
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@part
def dlpack_in():
    """Samples of any library with DLPack."""
    with engine_of() as engine:
        given = torch.tensor([[3.0, 4.0]], device=device, dtype=torch.float64)
        got = torch.from_dlpack(engine.encode(OnlyDLPack(given), 1))
        assert torch.allclose(got.real.cpu(), torch.tensor([[0.6, 0.8]], dtype=torch.float64)), got
        pinned = torch.ones(2, 4, dtype=torch.float64)
        if is_cuda:
            pinned = pinned.pin_memory()
        assert torch.allclose(torch.from_dlpack(engine.encode(pinned, 2)).real.cpu(), torch.full((2, 4), 0.5).double())


def loader_of():
    loader = encode.QuantumDataLoader(num_qubits=8, batch_size=4, total_batches=10, seed=3)
    return loader.source_synthetic().dtype("float64").device(backend)


@part
def dataset():
    """A dataset's tensors are the loader's batches."""
    batches = list(loader_of().as_torch_dataset())
    assert len(batches) == 10 and all(batch.shape == (4, 256) and batch.device == device for batch in batches)
    again = [torch.from_dlpack(states) for states in loader_of()]
    assert all(torch.equal(one, other) for one, other in zip(batches, again))
    loaded = list(torch.utils.data.DataLoader(loader_of().as_torch_dataset(), batch_size=None))
    assert all(torch.equal(one, other) for one, other in zip(batches, loaded))


@part
def workers():
    """Workers of a DataLoader share the batches out: each comes once. Forked, and spawned."""
    if is_cuda:
        raise Skipped("on a GPU, num_workers is 0")
    want = {tuple(batch.ravel().tolist()) for batch in loader_of().as_torch_dataset()}
    assert len(want) == 10
    engine = engine_of()  # an engine of the parent's is open when it forks
    live = torch.from_dlpack(engine.encode([1.0, 1.0], 1))
    for context in ("fork", "spawn"):
        for count in (1, 3):
            loaded = torch.utils.data.DataLoader(
                loader_of().as_torch_dataset(), batch_size=None, num_workers=count, multiprocessing_context=context
            )
            got = [tuple(batch.ravel().tolist()) for batch in loaded]
            assert len(got) == 10 and set(got) == want, (context, count, len(got))
    assert abs(live[0, 0].item()) > 0.7
    return "fork and spawn, 1 and 3 workers"


@part
def documents():
    """The programs of docs/python.md that use torch."""
    needs_cuda()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")
    with open(path, encoding="utf-8") as file:
        blocks = [block.split("```")[0] for block in file.read().split("```python\n")[1:]]
    run = [block for block in blocks if "torch" in block]
    assert run
    for block in run:
        exec(compile(block, path, "exec"), {"__name__": "document"})  # noqa: S102
    return f"{len(run)} programs"


def main():
    failed = 0
    for name in sys.argv[3:] or PARTS:
        try:
            print(f"{name:20s} ok  {PARTS[name]() or ''}".rstrip(), flush=True)
        except Skipped as reason:
            print(f"{name:20s} skipped: {reason}", flush=True)
        except BaseException as error:  # noqa: B902
            failed += 1
            traceback.print_exc()
            print(f"{name:20s} FAILED {type(error).__name__}: {str(error)[:200]}", flush=True)
    if failed:
        sys.exit(f"{failed} parts failed")
    global live
    live = torch.from_dlpack(engine_of().encode([1.0, 1.0], 1))  # alive at the end of the interpreter
    print("ok")


if __name__ == "__main__":
    main()
