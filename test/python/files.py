"""Files of samples: the published ones, good and bad, and files of pyarrow where it is installed.

Usage: files.py DATA BACKEND FOLDER
"""

import json
import os
import sys

import numpy as np

import encode
from arrays import taken

data, backend, folder = sys.argv[1:4]
engine = encode.QdpEngine(0, "float64", backend)
with open(f"{data}/files.json", encoding="utf-8") as file:
    published = json.load(file)
matrix = np.array(published["matrix"])
for name, (rows, columns) in published["read"].items():
    got = taken(engine.encode(f"{data}/files/{name}", 2))
    want = matrix[:rows, :columns]
    assert got.shape == (rows, 4)
    assert np.abs(got - want / np.linalg.norm(want, axis=1, keepdims=True)).max() < 1e-15, name
for name, reason in published["reject"].items():
    try:
        engine.encode(os.path.join(data, "files", name), 2)
        raise SystemExit(f"{name} must be refused: {reason}")
    except encode.FileFormatError as error:
        assert name in str(error)


def refused(path, *words):
    try:
        engine.encode(path, 2)
    except encode.FileFormatError as error:
        assert all(word in str(error) for word in words), (words, str(error))
        assert os.path.basename(path) in str(error)
        return
    raise SystemExit(f"{path} must be refused: {words}")


class Path:
    def __fspath__(self):
        return f"{data}/files/c_order_3x4_f64.npy"


assert engine.encode(Path(), 2).shape == (3, 4)
try:
    engine.encode(os.path.join(folder, "absent.npy"), 2)
    raise SystemExit("a missing file must raise")
except FileNotFoundError:
    pass
for cut in (3, 20, 100, 140):
    with open(f"{data}/files/c_order_3x4_f64.npy", "rb") as file:
        content = file.read()
    with open(f"{folder}/cut.npy", "wb") as file:
        file.write(content[:cut])
    try:
        engine.encode(f"{folder}/cut.npy", 2)
        raise SystemExit("a cut file must be refused")
    except encode.FileFormatError:
        pass

# A loader reads a file to its end; the last batch is short.
path = f"{folder}/angles.npy"
angles = np.random.default_rng(5).uniform(0, 6, (21, 3))
np.save(path, angles)
loader = encode.QuantumDataLoader(num_qubits=3, batch_size=8, encoding_method="angle", total_batches=1).device(backend)
made = [taken(states) for states in loader.source_file(path)]
assert [len(one) for one in made] == [8, 8, 5]
assert np.abs(np.concatenate(made) - taken(engine.encode(angles, 3, "angle"))).max() == 0
narrow = [taken(states) for states in loader.dtype("float32")]
assert narrow[0].dtype == "complex64" and np.abs(np.concatenate(narrow) - np.concatenate(made)).max() < 1e-6
try:
    list(encode.QuantumDataLoader(num_qubits=4, encoding_method="angle").device(backend).source_file(path))
    raise SystemExit("samples of another length must be refused")
except encode.InvalidInputError as error:
    assert error.category == "size"

# Parquet and Arrow need pyarrow, .pt needs torch: without them the error says so.
skipped = []
for ending, package in ((".parquet", "pyarrow"), (".arrow", "pyarrow"), (".pt", "torch")):
    try:
        __import__(package)
    except ImportError:
        skipped.append(ending)
        try:
            engine.encode(f"{folder}/samples{ending}", 2)
            raise SystemExit(f"{ending} must be refused without {package}")
        except encode.MissingPackageError as error:
            assert package in str(error) and "install" in str(error)
if ".parquet" not in skipped:
    import columns

    # Files are read by the host: all kinds of them on the CPU, whose engines open at once, and one on this backend.
    with encode.QdpEngine(0, "float64", "cpu") as host:
        columns.check(host, "cpu", folder, matrix)
    columns.check_types(engine, backend, folder, matrix, ("list",))
if ".pt" not in skipped:
    import torch

    want = [[0.6, 0.8], [1, 0]]
    for kind in (torch.float16, torch.float32, torch.int64, torch.bfloat16, torch.float64):
        for path in (f"{folder}/samples.pt", f"{folder}/samples.pth"):
            torch.save(torch.tensor([[3, 4], [1, 0]], dtype=kind), path)
            got = taken(engine.encode(path, 1))
            assert np.abs(got - want).max() < 1e-15
    for tensor in (torch.nn.Parameter(torch.tensor([[3.0, 4.0], [1.0, 0.0]])), torch.tensor([[3.0, 1.0], [4.0, 0.0]]).T):
        torch.save(tensor, f"{folder}/samples.pt")
        assert np.abs(taken(engine.encode(f"{folder}/samples.pt", 1)) - want).max() < 1e-15
    torch.save(torch.tensor([3.0, 4.0]), f"{folder}/samples.pt")
    assert engine.encode(f"{folder}/samples.pt", 1).shape == (1, 2)
    loader = encode.QuantumDataLoader(num_qubits=1, batch_size=2).device(backend)
    torch.save(torch.rand(5, 2) + 1, f"{folder}/samples.pt")
    assert [len(states) for states in loader.source_file(f"{folder}/samples.pt").dtype("float32")] == [2, 2, 1]
    for content, word in (
        ({"a": torch.ones(2)}, "dict"),
        ([torch.ones(2)], "list"),
        (torch.ones(2, 2, 2), "3 dimensions"),
        (torch.tensor(1.0), "0 dimensions"),
        (torch.ones(2, 2, dtype=torch.complex64), "complex"),
        (torch.ones(2, 2).to_sparse(), "layout"),
    ):
        torch.save(content, f"{folder}/bad.pt")
        refused(f"{folder}/bad.pt", word)
    with open(f"{folder}/samples.pt", "rb") as file:
        content = file.read()
    for damaged in (b"", b"no tensor", content[: len(content) // 2]):
        with open(f"{folder}/bad.pt", "wb") as file:
            file.write(damaged)
        refused(f"{folder}/bad.pt", "bad.pt")
engine.close()
print("ok", "without", *skipped) if skipped else print("ok")
