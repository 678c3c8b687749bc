"""Columns of Parquet and Arrow files, by pyarrow."""

import contextlib

from .errors import FileFormatError, MissingPackageError
from .inputs import Samples


def _pyarrow(path):
    try:
        import pyarrow
    except ImportError:
        raise MissingPackageError(
            f"{path}: Parquet and Arrow files need the package pyarrow: pip install pyarrow; "
            "or convert the file to .npy with `numpy.save`"
        ) from None
    return pyarrow


@contextlib.contextmanager
def _damage_of(path):
    """Errors of pyarrow about the content of a file become ours. Those of the system have a number."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        reason = str(error).strip().split("\n")[0]
        raise FileFormatError(path, f"the file cannot be read: {reason}") from None


def parquet_columns(path):
    """Yields the only column of a file, 2048 rows at a time."""
    _pyarrow(path)
    from pyarrow import parquet

    with _damage_of(path), parquet.ParquetFile(path) as file:
        if len(file.schema_arrow) != 1:
            raise FileFormatError(path, f"the file has {len(file.schema_arrow)} columns, not exactly one")
        for batch in file.iter_batches(2048):
            yield batch.column(0)


def read_parquet(path, nulls, precision):
    return _joined(path, parquet_columns(path), nulls, precision)


def read_arrow(path, nulls, precision):
    pyarrow = _pyarrow(path)
    with _damage_of(path), pyarrow.memory_map(path) as source:
        try:
            table = pyarrow.ipc.open_file(source).read_all()
        except pyarrow.ArrowInvalid:
            source.seek(0)
            table = pyarrow.ipc.open_stream(source).read_all()
        if table.num_columns < 1:
            raise FileFormatError(path, "the file has no column")
        return _joined(path, table.column(0).chunks, nulls, precision)


def column_rows(path, columns, nulls, precision):
    """Yields the rows of each part of a column: an Arrow array of float64 or float32 without nulls, and the row's length.

    Null rows that come before all others are dropped, a part at a time: their length is not known.
    """
    import pyarrow
    from pyarrow import compute

    length = None
    for column in columns:
        if isinstance(column.type, pyarrow.BaseExtensionType):  # as of tensors with a fixed shape
            column = column.storage
        kind = column.type
        types = pyarrow.types
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        element = kind.value_type if is_list else kind
        if not (types.is_float64(element) or types.is_float32(element)):
            raise FileFormatError(path, f"the column has type {kind}: float32, float64 and lists of them are read")
        if column.null_count and nulls == "reject":
            raise FileFormatError(path, f"{column.null_count} rows are null: `fill_zero` makes them zeros")
        if is_list:
            sizes = compute.min_max(compute.list_value_length(column))
            least, most = sizes["min"].as_py(), sizes["max"].as_py()
            if least is None and length is None:
                continue
            least, most = (length, length) if least is None else (least, most)
        else:
            least = most = 1
        if least != most or least != (length or least):
            different = sorted({least, most, length or least})
            raise FileFormatError(path, f"rows have different lengths: {', '.join(map(str, different))}")
        length = least
        if length == 0:
            raise FileFormatError(path, "the rows have no values")
        if is_list:
            if column.null_count:
                column = compute.coalesce(column, pyarrow.scalar([0.0] * length, kind))
            column = column.flatten()
        if column.null_count:
            if nulls == "reject":
                raise FileFormatError(path, f"{column.null_count} values are null: `fill_zero` makes them 0")
            column = column.fill_null(0.0)
        yield column.cast("float64") if precision == "f64" else column, length


def arrow_samples(column, length):
    """Samples in the memory of an Arrow array."""
    size = column.type.bit_width // 8
    address = column.buffers()[1].address + column.offset * size
    return Samples(address, (len(column) // length, length), "f64" if size == 8 else "f32", column)


def _joined(path, columns, nulls, precision):
    pyarrow = _pyarrow(path)
    parts = list(column_rows(path, columns, nulls, precision))
    if not any(len(column) for column, _ in parts):
        raise FileFormatError(path, "the file has no rows")
    joined = parts[0][0] if len(parts) == 1 else pyarrow.concat_arrays([column for column, _ in parts])
    return arrow_samples(joined, parts[0][1])
