"""Parquet and Arrow files, written by pyarrow, for `files.py`."""

import os
import warnings

import numpy as np
import pyarrow
from pyarrow import feather, parquet

import encode
from arrays import taken


def write(table, folder, name="samples", **options):
    """Writes a table in each format; returns the paths."""
    paths = [os.path.join(folder, name + ending) for ending in (".parquet", ".arrow", ".feather", ".ipc")]
    parquet.write_table(table, paths[0], **options)
    with pyarrow.OSFile(paths[1], "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, options.get("row_group_size"))
    feather.write_feather(table, paths[2], compression="lz4", chunksize=options.get("row_group_size"))
    with pyarrow.OSFile(paths[3], "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, options.get("row_group_size"))
    return paths


def list_types(element, length):
    return {
        "list": pyarrow.list_(element),
        "large list": pyarrow.large_list(element),
        "fixed-size list": pyarrow.list_(element, length),
    }


def states_of(loader):
    return np.concatenate([taken(states) for states in loader])


def check(engine, backend, folder, matrix):
    check_types(engine, backend, folder, matrix)
    _tensors(engine, folder, matrix)
    _row_groups(engine, backend, folder)
    _nulls(engine, backend, folder)
    _null_groups(backend, folder)
    _basis(engine, backend, folder)
    _narrowed(backend, folder)
    _refused(engine, backend, folder)
    _damaged(engine, folder, matrix)


def _loader(backend, num_qubits, encoding="amplitude", size=2):
    loader = encode.QuantumDataLoader(num_qubits=num_qubits, batch_size=size, encoding_method=encoding)
    return loader.device(backend)


def check_types(engine, backend, folder, matrix, names=("list", "large list", "fixed-size list")):
    want = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    for element in (pyarrow.float64(), pyarrow.float32()):
        bound = 1e-15 if element == pyarrow.float64() else 1e-7
        for kind in (list_types(element, 4)[name] for name in names):
            table = pyarrow.table({"samples": pyarrow.array(matrix.tolist(), kind)})
            for path in write(table, folder):
                got = taken(engine.encode(path, 2))
                assert got.dtype == np.complex128 and np.abs(got - want).max() < bound, (path, kind)
                loader = _loader(backend, 2).source_file(path)
                assert np.abs(states_of(loader) - want).max() < bound, (path, kind)
                narrow = states_of(loader.dtype("float32"))
                assert narrow.dtype == np.complex64 and np.abs(narrow - want).max() < 1e-6, (path, kind)
            for dtype in ("float64", "float32"):
                loader = _loader(backend, 2).dtype(dtype).source_file(f"{folder}/samples.parquet", streaming=True)
                assert np.abs(states_of(loader) - want).max() < (bound if dtype == "float64" else 1e-6)


def _tensors(engine, folder, matrix):
    """A column of tensors with a fixed shape, whose storage is a list."""
    column = pyarrow.ExtensionArray.from_storage(
        pyarrow.fixed_shape_tensor(pyarrow.float64(), (4,)),
        pyarrow.array(matrix.tolist(), pyarrow.list_(pyarrow.float64(), 4)),
    )
    want = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    for path in write(pyarrow.table({"samples": column}), folder):
        assert np.abs(taken(engine.encode(path, 2)) - want).max() < 1e-15


def _row_groups(engine, backend, folder):
    """5,000 rows in groups of 700: reads are 2048 rows, batches 64, and none of them divides another."""
    angles = np.random.default_rng(7).uniform(-6, 6, (5000, 3))
    table = pyarrow.table({"angles": pyarrow.array(angles.tolist(), pyarrow.list_(pyarrow.float64()))})
    want = taken(engine.encode(angles, 3, "angle"))
    for codec in ("snappy", "gzip", "none"):
        for path in write(table, folder, row_group_size=700, compression=codec):
            assert np.array_equal(taken(engine.encode(path, 3, "angle")), want)
            if codec != "snappy":
                continue
            for streaming in (False, True) if path.endswith(".parquet") else (False,):
                loader = _loader(backend, 3, "angle", 64).source_file(path, streaming)
                made = [taken(states) for states in loader]
                assert [len(states) for states in made] == [64] * 78 + [8]
                assert np.array_equal(np.concatenate(made), want)
    # A slice of a larger array, whose offsets do not begin at 0.
    sliced = table.slice(1001, 50)
    for path in write(sliced, folder):
        assert np.array_equal(taken(engine.encode(path, 3, "angle")), want[1001:1051])


def _nulls(engine, backend, folder):
    """A null is 0, a null row is a row of zeros; or both are refused."""
    rows = [[1.0, None], None, [0.0, 2.0], None, [None, None]]
    want = taken(engine.encode([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0], [0.0, 0.0]], 2, "angle"))
    for element in (pyarrow.float64(), pyarrow.float32()):
        for kind in list_types(element, 2).values():
            table = pyarrow.table({"samples": pyarrow.array(rows, kind)})
            for path in write(table, folder, "nulls"):
                if path.endswith(".parquet") and pyarrow.types.is_fixed_size_list(kind):
                    _refuses(lambda: engine.encode(path, 2, "angle"), "size=2")  # pyarrow cannot read its own file
                    continue
                for streaming in (False, True) if path.endswith(".parquet") else (False,):
                    loader = _loader(backend, 2, "angle").source_file(path, streaming)
                    assert np.abs(states_of(loader) - want).max() < 1e-7, (path, kind)
                    _refuses(lambda: list(loader.null_handling("reject")), "null", "fill_zero")
    inner = pyarrow.table({"samples": pyarrow.array([[1.0, None]])})
    for path in write(inner, folder, "nulls"):
        _refuses(lambda: list(_loader(backend, 2, "angle").source_file(path).null_handling("reject")), "1 values")
    # A row of zeros has no norm, and the error names it.
    for path in write(pyarrow.table({"samples": pyarrow.array([[1.0, 2.0], None])}), folder, "nulls"):
        try:
            engine.encode(path, 1)
            raise SystemExit("a null row must have no norm")
        except encode.InvalidInputError as error:
            assert (error.category, error.sample) == ("norm", 1)


def _null_groups(backend, folder):
    """Parts of null rows alone: dropped before the first real row, zeros after it."""
    kind = pyarrow.list_(pyarrow.float64())
    rows = [None] * 2048 + [[1.0, 2.0]] + [None] * 2047 + [None] * 100
    table = pyarrow.table({"samples": pyarrow.array(rows, kind)})
    parquet.write_table(table, f"{folder}/null-groups.parquet", row_group_size=2048)
    for streaming in (False, True):
        loader = _loader(backend, 2, "angle", 64).source_file(f"{folder}/null-groups.parquet", streaming)
        assert states_of(loader).shape[0] == 2048 + 100
    parquet.write_table(pyarrow.table({"samples": pyarrow.array([None, None], kind)}), f"{folder}/null-groups.parquet")
    for streaming in (False, True):
        loader = _loader(backend, 2, "angle").source_file(f"{folder}/null-groups.parquet", streaming)
        _refuses(lambda: list(loader), "no rows")


def _basis(engine, backend, folder):
    """A plain column has one value a sample."""
    table = pyarrow.table({"index": pyarrow.array([3.0, 0.0, 7.0])})
    for path in write(table, folder, "index"):
        made = taken(engine.encode(path, 3, "basis"))
        assert [list(row).index(1) for row in made] == [3, 0, 7]
    for path in write(pyarrow.table({"index": pyarrow.array([0.0, 2.0**24 + 1])}), folder, "index"):
        try:
            list(_loader(backend, 25, "basis").source_file(path).dtype("float32"))
            raise SystemExit("float32 does not hold the index")
        except encode.InvalidInputError as error:
            assert (error.category, error.sample) == ("range", 1) and "16777217" in str(error)


def _narrowed(backend, folder):
    for path in write(pyarrow.table({"samples": pyarrow.array([[1e300, 1.0]])}), folder, "wide"):
        loader = _loader(backend, 1).source_file(path).dtype("float32")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                list(loader)
                raise SystemExit("an infinite value must be refused")
            except encode.InvalidInputError as error:
                assert error.category == "finite"
        assert any("infinite" in str(one.message) for one in caught), path


def _refuses(call, *words):
    try:
        call()
    except encode.FileFormatError as error:
        assert all(word in str(error) for word in words), (words, str(error))
        return
    raise SystemExit(f"must be refused: {words}")


def _refused(engine, backend, folder):
    """Types, columns and lengths that are not samples."""
    for column, *words in (
        (pyarrow.array([[1, 2]]), "list<", "int64", "float64"),
        (pyarrow.array([["a"]]), "string"),
        (pyarrow.array(["a", "b"]), "string"),
        (pyarrow.array([[[1.0]], [[2.0]]]), "list<"),
        (pyarrow.array([True, False]), "bool"),
        (pyarrow.array([[1.0, 2.0], [1.0]]), "lengths", "1, 2"),
        (pyarrow.array([[], []], pyarrow.list_(pyarrow.float64())), "no values"),
        (pyarrow.array([], pyarrow.list_(pyarrow.float64())), "no rows"),
    ):
        for path in write(pyarrow.table({"samples": column}), folder, "bad"):
            _refuses(lambda: engine.encode(path, 2), os.path.basename(path), *words)
        loader = _loader(backend, 2).source_file(f"{folder}/bad.parquet", streaming=True)
        _refuses(lambda: list(loader), "bad.parquet", *words)
    # Lengths that differ between groups.
    column = pyarrow.array([[1.0, 2.0]] * 2048 + [[1.0, 2.0, 3.0]] * 2048)
    for path in write(pyarrow.table({"samples": column}), folder, "bad", row_group_size=2048):
        _refuses(lambda: engine.encode(path, 2), "lengths", "2, 3")
    two = pyarrow.table({"a": pyarrow.array([[1.0]]), "b": pyarrow.array([[1.0]])})
    paths = write(two, folder, "two")
    _refuses(lambda: engine.encode(paths[0], 2), "2 columns")
    assert engine.encode(paths[1], 1).shape == (1, 2)  # Arrow: the first column
    empty = write(pyarrow.table({}), folder, "none")
    _refuses(lambda: engine.encode(empty[0], 2), "0 columns")
    _refuses(lambda: engine.encode(empty[1], 2), "no column")


def _damaged(engine, folder, matrix):
    table = pyarrow.table({"samples": pyarrow.array(matrix.tolist() * 100, pyarrow.list_(pyarrow.float64()))})
    for path in write(table, folder, "damaged"):
        with open(path, "rb") as file:
            content = file.read()
        for damaged in (b"", b"PAR1", b"ARROW1", content[: len(content) // 2], bytes(len(content))):
            with open(path, "wb") as file:
                file.write(damaged)
            _refuses(lambda: engine.encode(path, 2), os.path.basename(path))
        os.remove(path)
        try:
            engine.encode(path, 2)
            raise SystemExit("a missing file must raise")
        except FileNotFoundError:
            pass
