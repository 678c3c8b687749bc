"""Files of samples: the published ones, good and bad, and files of pyarrow where it is installed.

Usage: files.py DATA BACKEND FOLDER
"""

import json
import os
import sys

import numpy as np

import encode

data, backend, folder = sys.argv[1:4]
engine = encode.QdpEngine(0, "float64", backend)
with open(f"{data}/files.json", encoding="utf-8") as file:
    published = json.load(file)
matrix = np.array(published["matrix"])
for name, (rows, columns) in published["read"].items():
    got = np.from_dlpack(engine.encode(f"{data}/files/{name}", 2))
    want = matrix[:rows, :columns]
    assert got.shape == (rows, 4)
    assert np.abs(got - want / np.linalg.norm(want, axis=1, keepdims=True)).max() < 1e-15, name
for name, reason in published["reject"].items():
    try:
        engine.encode(os.path.join(data, "files", name), 2)
        raise SystemExit(f"{name} must be refused: {reason}")
    except encode.FileFormatError as error:
        assert name in str(error)


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
made = [np.from_dlpack(states) for states in loader.source_file(path)]
assert [len(one) for one in made] == [8, 8, 5]
assert np.abs(np.concatenate(made) - np.from_dlpack(engine.encode(angles, 3, "angle"))).max() == 0
narrow = [np.from_dlpack(states) for states in loader.dtype("float32")]
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
    import pyarrow
    from pyarrow import parquet

    for kind in (pyarrow.list_(pyarrow.float64()), pyarrow.list_(pyarrow.float32()), pyarrow.list_(pyarrow.float64(), 4)):
        table = pyarrow.table({"samples": pyarrow.array(matrix.tolist(), kind)})
        parquet.write_table(table, f"{folder}/samples.parquet")
        with pyarrow.OSFile(f"{folder}/samples.arrow", "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        want = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        for ending in (".parquet", ".arrow"):
            got = np.from_dlpack(engine.encode(f"{folder}/samples{ending}", 2))
            assert np.abs(got - want).max() < 1e-7
        loader = encode.QuantumDataLoader(num_qubits=2, batch_size=2).device(backend)
        made = [np.from_dlpack(s) for s in loader.source_file(f"{folder}/samples.parquet", streaming=True)]
        assert np.abs(np.concatenate(made) - want).max() < 1e-7
    nulls = pyarrow.table({"samples": pyarrow.array([[1.0, None], None, [0.0, 2.0]])})
    parquet.write_table(nulls, f"{folder}/nulls.parquet")
    loader = encode.QuantumDataLoader(num_qubits=2, encoding_method="angle").device(backend)
    made = np.from_dlpack(next(iter(loader.source_file(f"{folder}/nulls.parquet"))))
    assert np.abs(made - np.from_dlpack(engine.encode([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]], 2, "angle"))).max() == 0
    try:
        list(loader.null_handling("reject"))
        raise SystemExit("nulls must be refused")
    except encode.FileFormatError as error:
        assert "null" in str(error)
if ".pt" not in skipped:
    import torch

    for kind in (torch.float32, torch.int64, torch.float64):
        torch.save(torch.tensor([[3, 4], [1, 0]], dtype=kind), f"{folder}/samples.pt")
        got = np.from_dlpack(engine.encode(f"{folder}/samples.pt", 1))
        assert np.abs(got - [[0.6, 0.8], [1, 0]]).max() < 1e-15
engine.close()
print("ok", "without", *skipped) if skipped else print("ok")
