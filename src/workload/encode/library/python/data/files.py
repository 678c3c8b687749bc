"""Files of samples: .npy, .parquet, .arrow, .pt and .pb."""

import array
import ast
import mmap
import os
import struct

from ._device import View
from .errors import FileFormatError, InvalidInputError, MissingPackageError, UnsupportedTypeError
from .inputs import Samples

EXTENSIONS = (".npy", ".parquet", ".arrow", ".feather", ".ipc", ".pt", ".pth", ".pb")


def is_path(data):
    return isinstance(data, (str, os.PathLike))


def read_samples(path, encoding, num_qubits, nulls="fill_zero", precision="f64"):
    """Reads all samples of a file."""
    path = os.fspath(path)
    if "://" in path:
        raise UnsupportedTypeError(f"{path}: files of remote stores are not read: download the file first", "source")
    extension = os.path.splitext(path)[1].lower()
    reader = _READERS.get(extension)
    if reader is None:
        supported = ", ".join(EXTENSIONS)
        message = f"{path}: files of type {extension or 'none'} are not supported: use {supported}"
        raise UnsupportedTypeError(message, "source")
    if extension in (".parquet", ".arrow", ".feather", ".ipc"):
        return reader(path, nulls, precision)
    return reader(path)


def samples_in(values, shape, keep=None):
    """Samples of an array of doubles or floats in memory."""
    view = View(values)
    kind = "f32" if view.itemsize == 4 else "f64"
    return Samples(view.address, shape, kind, (view, keep))


# ---- .npy ----

_NPY = b"\x93NUMPY"


def _read_npy(path):
    with open(path, "rb") as file:
        begin = file.read(12)
        if begin[:6] != _NPY or len(begin) < 12:
            raise FileFormatError(path, "not a NumPy file")
        long = begin[6] >= 2
        size = struct.unpack("<I" if long else "<H", begin[8 : 12 if long else 10])[0]
        start = (12 if long else 10) + size
        file.seek(12 if long else 10)
        header = file.read(size)
        try:
            described = ast.literal_eval(header.decode("latin1"))
            dtype, is_fortran, shape = described["descr"], described["fortran_order"], described["shape"]
        except (ValueError, SyntaxError, KeyError, TypeError):
            raise FileFormatError(path, "the header is damaged") from None
        if dtype != "<f8":
            raise FileFormatError(path, f"the array has dtype {dtype!r}: save it as float64")
        if len(shape) != 2:
            raise FileFormatError(path, f"the array has {len(shape)} dimensions, not 2 (samples, values)")
        rows, columns = shape
        if rows < 1 or columns < 1:
            raise FileFormatError(path, f"a dimension is zero: the array is {shape}")
        if os.fstat(file.fileno()).st_size < start + 8 * rows * columns:
            raise FileFormatError(path, "the file is shorter than its header says")
        if not is_fortran:
            # Pages are read when they are copied. The start is a multiple of 16 from version 1.0 on.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            view = View(mapped)
            return Samples(view.address + start, (rows, columns), "f64", (view, mapped))
        file.seek(start)
        stored = array.array("d")
        stored.fromfile(file, rows * columns)
    values = array.array("d", bytes(8 * rows * columns))
    for column in range(columns):
        values[column::columns] = stored[column * rows : (column + 1) * rows]
    return samples_in(values, (rows, columns))


# ---- .pb: TensorFlow's TensorProto ----

_DOUBLE = 2


def _fields(path, data):
    """Yields (number, value) of a protocol buffer's fields; a value is an int or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise FileFormatError(path, "the file is cut short")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise FileFormatError(path, "not a TensorProto")
            size = varint()
        if at + size > len(data):
            raise FileFormatError(path, "the file is cut short")
        at += size
        yield key >> 3, data[at - size : at]


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def _read_pb(path):
    with open(path, "rb") as file:
        data = file.read()
    dtype = sides = content = None
    doubles = bytearray()
    for number, value in _fields(path, data):
        if number == 1 and isinstance(value, int):
            dtype = value
        elif number == 2 and not isinstance(value, int):
            sides = []
            for part, inner in _fields(path, value):
                if part == 3 and inner:
                    raise FileFormatError(path, "the rank is unknown: save the tensor with its shape")
                if part == 2:
                    sides.append(next((_signed(one) for key, one in _fields(path, inner) if key == 1), 0))
        elif number == 4 and not isinstance(value, int):
            content = value
        elif number == 6 and not isinstance(value, int):
            doubles += value
    if dtype != _DOUBLE:
        raise FileFormatError(path, f"the tensor's type is {dtype}, not DOUBLE (2)")
    if sides is None:
        raise FileFormatError(path, "the shape is missing")
    if len(sides) not in (1, 2):
        raise FileFormatError(path, f"the tensor has {len(sides)} dimensions, not 1 or 2")
    if any(side <= 0 for side in sides):
        raise FileFormatError(path, f"a dimension is zero or negative: {sides}")
    shape = (1, sides[0]) if len(sides) == 1 else (sides[0], sides[1])
    given = content if content is not None else bytes(doubles)
    if not given:
        raise FileFormatError(path, "there are no values")
    if len(given) != 8 * shape[0] * shape[1]:
        raise FileFormatError(path, f"{len(given)} bytes of values do not match the shape {shape}")
    values = array.array("d")
    values.frombytes(given)
    return samples_in(values, shape)


# ---- .pt ----


def _read_pt(path):
    try:
        import torch
    except ImportError:
        raise MissingPackageError(f"{path}: files of PyTorch need the package torch: pip install torch") from None
    tensor = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(tensor, torch.Tensor):
        raise FileFormatError(path, f"the file has a {type(tensor).__name__}, not one tensor")
    if tensor.dim() not in (1, 2):
        raise FileFormatError(path, f"the tensor has {tensor.dim()} dimensions, not 1 or 2")
    if tensor.is_complex():
        raise FileFormatError(path, "the tensor is complex: samples are real")
    tensor = tensor.to(torch.float64).contiguous()
    shape = tuple(tensor.shape) if tensor.dim() == 2 else (1, tensor.shape[0])
    return Samples(tensor.data_ptr(), shape, "f64", tensor)


# ---- .parquet and .arrow, by pyarrow ----


def _pyarrow(path):
    try:
        import pyarrow
    except ImportError:
        raise MissingPackageError(
            f"{path}: Parquet and Arrow files need the package pyarrow: pip install pyarrow; "
            "or convert the file to .npy with `numpy.save`"
        ) from None
    return pyarrow


def parquet_batches(path, rows=2048):
    """Yields a file's record batches of one column, without reading the whole file."""
    _pyarrow(path)
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    if file.schema_arrow is None or len(file.schema_arrow) != 1:
        raise FileFormatError(path, f"the file has {len(file.schema_arrow)} columns, not exactly one")
    for batch in file.iter_batches(rows):
        yield batch.column(0)


def _read_parquet(path, nulls, precision):
    return _joined(path, list(parquet_batches(path, 1 << 16)), nulls, precision)


def _read_arrow(path, nulls, precision):
    pyarrow = _pyarrow(path)
    with pyarrow.memory_map(path) as source:
        try:
            table = pyarrow.ipc.open_file(source).read_all()
        except pyarrow.ArrowInvalid:
            source.seek(0)
            table = pyarrow.ipc.open_stream(source).read_all()
    if table.num_columns < 1:
        raise FileFormatError(path, "the file has no column")
    return _joined(path, table.column(0).chunks, nulls, precision)


def rows_of(path, column, nulls):
    """Returns the values of a column of lists, and the length of a row; None if all rows are null."""
    import pyarrow

    kind = column.type
    is_list = pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind)
    element = kind.value_type if is_list else kind
    if not (pyarrow.types.is_float64(element) or pyarrow.types.is_float32(element)):
        raise FileFormatError(path, f"the column has type {kind}: lists of float32 or float64 are read")
    if column.null_count and nulls == "reject":
        raise FileFormatError(path, f"{column.null_count} rows are null: `fill_zero` makes them zeros")
    length = 1
    if is_list:
        lengths = {len(row) for row in column if row.is_valid}
        if not lengths:
            return None
        if len(lengths) > 1:
            raise FileFormatError(path, f"rows have different lengths: {sorted(lengths)[:4]}")
        length = lengths.pop()
        if column.null_count:
            zeros = pyarrow.array([0.0] * length, element)
            column = pyarrow.array([row.as_py() if row.is_valid else zeros.to_pylist() for row in column], kind)
        column = column.flatten()
    if column.null_count:
        if nulls == "reject":
            raise FileFormatError(path, f"{column.null_count} values are null: `fill_zero` makes them 0")
        column = column.fill_null(0.0)
    return column, length


def _joined(path, columns, nulls, precision):
    letter = "d" if precision == "f64" else "f"
    values, length = array.array(letter), None
    skipped = 0
    for column in columns:
        read = rows_of(path, column, nulls)
        if read is None:
            if length is not None:
                values.extend([0.0] * (length * len(column)))
            else:
                skipped += len(column)  # their length is not known yet
            continue
        flat, own = read
        if length is not None and own != length:
            raise FileFormatError(path, f"rows have different lengths: {sorted((length, own))}")
        length = own
        converted = flat.cast("float64" if letter == "d" else "float32", safe=False).to_numpy(False)
        values.frombytes(memoryview(converted).cast("B"))
    if length is None or not values:
        raise FileFormatError(path, "the file has no rows")
    return samples_in(values, (len(values) // length, length))


_READERS = {
    ".npy": _read_npy,
    ".pb": _read_pb,
    ".pt": _read_pt,
    ".pth": _read_pt,
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
    ".ipc": _read_arrow,
}


def check_basis_f32(path, samples):
    """float32 has no odd numbers above 2^24: such an index would become another one."""
    if samples.type != "f64":
        return
    import ctypes

    limit = 1 << 24
    values = (ctypes.c_double * samples.count).from_address(samples.address)
    for row, value in enumerate(values):
        if value > limit:
            message = f"{path}: index {value:.0f} of sample {row} exceeds {limit}, the limit of float32: use float64"
            raise InvalidInputError(message, "range", row, 0)
