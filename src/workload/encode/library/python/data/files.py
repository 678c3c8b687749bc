"""Files of samples: .npy, .parquet, .arrow, .pt and .pb."""

import array
import ast
import ctypes
import mmap
import os
import struct

from ._device import View
from ._library import library
from .columns import read_arrow, read_parquet
from .errors import FileFormatError, InvalidInputError, MissingPackageError, UnsupportedTypeError
from .inputs import Samples, samples_in
from .tensor_proto import read_pb

EXTENSIONS = (".npy", ".parquet", ".arrow", ".feather", ".ipc", ".pt", ".pth", ".pb")


def is_path(data):
    return isinstance(data, str) or hasattr(type(data), "__fspath__")


def read_samples(path, nulls="fill_zero", precision="f64"):
    """Reads all samples of a file, as float64; or as they are stored, if `precision` is None."""
    extension = check_path(path)
    path, reader = os.fspath(path), _READERS[extension]
    if extension in (".parquet", ".arrow", ".feather", ".ipc"):
        return reader(path, nulls, precision)
    return reader(path)


def check_path(path):
    """Returns the extension of a file that can be read, or raises."""
    path = os.fspath(path)
    if "://" in path:
        raise UnsupportedTypeError(f"{path}: files of remote stores are not read: download the file first", "source")
    extension = os.path.splitext(path)[1].lower()
    if extension not in _READERS:
        supported = ", ".join(EXTENSIONS)
        message = f"{path}: files of type {extension or 'none'} are not supported: use {supported}"
        raise UnsupportedTypeError(message, "source")
    return extension


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


_READERS = {
    ".npy": _read_npy,
    ".pb": read_pb,
    ".pt": _read_pt,
    ".pth": _read_pt,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".ipc": read_arrow,
}


def check_basis_f32(path, samples):
    """float32 has no odd numbers above 2^24: such an index would become another one."""
    limit = 1 << 24
    row = library.qdp_first_above(samples.address, samples.count, limit)
    if row >= 0:
        value = ctypes.c_double.from_address(samples.address + 8 * row).value
        message = f"{path}: index {value:.0f} of sample {row} exceeds {limit}, the limit of float32: use float64"
        raise InvalidInputError(message, "range", row, 0)
