"""Files of samples: .npy, .parquet, .arrow, .pt and .pb."""

import array
import ast
import contextlib
import ctypes
import mmap
import os
import struct

from ._device import View
from ._library import library
from .errors import FileFormatError, InvalidInputError, MissingPackageError, UnsupportedTypeError
from .inputs import Samples

EXTENSIONS = (".npy", ".parquet", ".arrow", ".feather", ".ipc", ".pt", ".pth", ".pb")


def is_path(data):
    return isinstance(data, str) or hasattr(type(data), "__fspath__")


def read_samples(path, nulls="fill_zero", precision="f64"):
    """Reads all samples of a file, as float64; or as they are stored, if `precision` is None."""
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
    try:
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # torch raises many kinds for a damaged file
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise FileFormatError(path, f"not a file of one tensor: {reason}") from None
    if not isinstance(tensor, torch.Tensor):
        raise FileFormatError(path, f"the file has a {type(tensor).__name__}, not one tensor")
    if tensor.dim() not in (1, 2):
        raise FileFormatError(path, f"the tensor has {tensor.dim()} dimensions, not 1 or 2")
    if tensor.is_complex():
        raise FileFormatError(path, "the tensor is complex: samples are real")
    if tensor.layout != torch.strided:
        raise FileFormatError(path, f"the tensor has the layout {tensor.layout}: save it with .to_dense()")
    tensor = tensor.detach().to(torch.float64).contiguous()
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


def _read_parquet(path, nulls, precision):
    return _joined(path, parquet_columns(path), nulls, precision)


def _read_arrow(path, nulls, precision):
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
    import pyarrow

    parts = list(column_rows(path, columns, nulls, precision))
    if not any(len(column) for column, _ in parts):
        raise FileFormatError(path, "the file has no rows")
    joined = parts[0][0] if len(parts) == 1 else pyarrow.concat_arrays([column for column, _ in parts])
    return arrow_samples(joined, parts[0][1])


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
    limit = 1 << 24
    row = library.qdp_first_above(samples.address, samples.count, limit)
    if row >= 0:
        value = ctypes.c_double.from_address(samples.address + 8 * row).value
        message = f"{path}: index {value:.0f} of sample {row} exceeds {limit}, the limit of float32: use float64"
        raise InvalidInputError(message, "range", row, 0)
