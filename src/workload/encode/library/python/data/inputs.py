"""Samples in whatever form they are given: lists, arrays, tensors on the host and on CUDA devices."""

import array
import ctypes
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

from ._device import View, address_of, python_function
from .errors import InvalidInputError, UnsupportedTypeError

SUPPORTED = (
    "a list of numbers, a NumPy array, a PyTorch tensor, an object with __dlpack__ or __cuda_array_interface__, "
    "or the path of a file (.npy, .parquet, .arrow, .feather, .ipc, .pt, .pth, .pb)"
)


class Samples:
    """Consecutive samples: where they are, and what keeps them there."""

    __slots__ = (
        "address", "count", "length", "type", "is_on_device", "is_locked", "ordinal", "stream", "keep", "values", "parts",
    )  # fmt: skip

    def __init__(self, address, shape, type, keep, is_on_device=False, ordinal=0, stream=None):
        self.address = address
        self.count, self.length = shape
        self.type = type  # f64, f32 or i64
        self.keep = keep
        self.is_on_device = is_on_device
        self.ordinal = ordinal
        self.stream = stream  # of the library that writes them, None: they are complete
        self.is_locked = False  # known to be page-locked
        self.values = None
        self.parts = None  # (address, bytes) of each, if they are not consecutive

    @property
    def bytes(self):
        return self.count * self.length * (4 if self.type == "f32" else 8)


def samples_in(values, shape, keep=None):
    """Samples of an array of doubles or floats in memory."""
    view = View(values)
    kind = "f32" if view.itemsize == 4 else "f64"
    return Samples(view.address, shape, kind, (view, keep))


def samples_of(data, encoding, allow_f32=False):
    """Recognises the data. Host arrays are float64 unless `allow_f32`."""
    reader = _READERS.get(type(data))
    if reader is None:
        reader = _READERS[type(data)] = _reader_of(data)
    return reader(data, encoding, allow_f32)


# How samples are found in objects of a type. Looking for protocols takes longer than reading the samples.
_READERS = {}


def _reader_of(data):
    if isinstance(data, (list, tuple)):
        return _from_list
    if _is_torch(data):
        return _from_torch
    if hasattr(data, "__cuda_array_interface__"):
        return _from_cuda_interface
    try:
        memoryview(data)
        return _from_buffer
    except (TypeError, ValueError, BufferError):
        if hasattr(data, "__dlpack__"):
            return _from_dlpack
        message = f"data of type {type(data).__name__} is not supported: give {SUPPORTED}"
        raise UnsupportedTypeError(message, "dtype") from None


def _shape_of(shape, what):
    if len(shape) == 1:
        return (1, shape[0])
    if len(shape) == 2:
        return (shape[0], shape[1])
    raise InvalidInputError(
        f"{what} has {len(shape)} dimensions: one sample has 1, a batch has 2 (samples, values)", "rank"
    )


def _from_list(data, _encoding, _allow_f32):
    try:
        if data and isinstance(data[0], (list, tuple)):
            length = len(data[0])
            if any(len(row) != length for row in data):
                raise InvalidInputError("the samples of a batch have different numbers of values", "size")
            values = array.array("d", [value for row in data for value in row])
            shape = (len(data), length)
        else:
            values = array.array("d", data)
            shape = (1, len(data))
    except TypeError as error:
        message = f"a list of samples has numbers, or lists of numbers: {error}"
        raise UnsupportedTypeError(message, "dtype") from None
    return Samples(values.buffer_info()[0], shape, "f64", values)


_FORMATS = {sign + letter: kind for letter, kind in (("d", "f64"), ("f", "f32")) for sign in ("", "@", "=", "<")}


def _from_buffer(data, _encoding, allow_f32):
    try:
        described = memoryview(data)
    except ValueError as error:  # NumPy has types that the buffer protocol has not
        raise UnsupportedTypeError(f"the array cannot be read: {error}", "dtype") from None
    kind = _FORMATS.get(described.format)
    if kind is None or (kind == "f32" and not allow_f32):
        dtype = getattr(data, "dtype", described.format)
        if kind == "f32":
            advice = "convert it with .astype('float64'), or use encode_batch_f32()"
        elif "Z" in (described.format or ""):
            advice = "samples are real numbers"
        else:
            advice = "convert it with .astype('float64')"
        raise UnsupportedTypeError(f"the array has dtype {dtype}: float64 is needed; {advice}", "dtype")
    shape = _shape_of(described.shape, "the array")
    if not described.c_contiguous:
        raise InvalidInputError("the array is not contiguous: copy it with numpy.ascontiguousarray()", "dtype")
    return Samples(address_of(described), shape, kind, described)


# ---- PyTorch ----

_TORCH = {"torch.float64": "f64", "torch.float32": "f32", "torch.int64": "i64"}
# Types of samples on a device, by encoding.
_DEVICE_TYPES = {"basis": ("i64", "f32", "f64")}
_NAMES = {"f64": "float64", "f32": "float32", "i64": "int64"}


_kinds = {}  # of dtypes that were seen: their text takes a while


def _torch_kind(dtype):
    if dtype not in _kinds:
        _kinds[dtype] = _TORCH.get(str(dtype))
    return _kinds[dtype]


def _is_torch(data):
    return type(data).__module__.partition(".")[0] == "torch" and hasattr(data, "data_ptr")


def _from_torch(tensor, encoding, allow_f32):
    kind = _torch_kind(tensor.dtype)
    on_device = tensor.is_cuda
    if not on_device and tensor.device.type != "cpu":
        raise UnsupportedTypeError(f"the tensor is on {tensor.device}: move it with .cpu() or .cuda()", "dtype")
    if on_device:
        _check_device_type(kind, str(tensor.dtype), encoding)
    elif kind != "f64" and not (kind == "f32" and allow_f32):
        advice = "samples are real numbers" if tensor.is_complex() else "convert it with .double()"
        if kind == "f32":
            advice += ", or use encode_batch_f32()"
        message = f"the tensor has dtype {tensor.dtype}: float64 is needed; {advice}"
        raise UnsupportedTypeError(message, "dtype")
    shape = _shape_of(tensor.shape, "the tensor")
    if not tensor.is_contiguous():
        raise InvalidInputError("the tensor is not contiguous: copy it with .contiguous()", "dtype")
    if not on_device:
        return Samples(tensor.data_ptr(), shape, kind, tensor)
    import torch

    ordinal = tensor.device.index or 0
    stream = torch.cuda.current_stream(tensor.device).cuda_stream
    return Samples(tensor.data_ptr(), shape, kind, tensor, True, ordinal, stream)


def _check_device_type(kind, name, encoding):
    accepted = _DEVICE_TYPES.get(encoding, ("f64", "f32"))
    if kind not in accepted:
        names = ", ".join(_NAMES[one] for one in accepted)
        raise UnsupportedTypeError(f"the tensor has dtype {name}: {encoding} takes {names}; convert it with .to()", "dtype")


# ---- other libraries ----


def _from_cuda_interface(data, encoding, _allow_f32):
    described = data.__cuda_array_interface__
    kind = {"<f8": "f64", "<f4": "f32", "<i8": "i64"}.get(described["typestr"])
    _check_device_type(kind, described["typestr"], encoding)
    shape = _shape_of(tuple(described["shape"]), "the array")
    size = 4 if kind == "f32" else 8
    strides = described.get("strides")
    if strides is not None and tuple(strides) not in ((size * shape[1], size), (size,)):
        raise InvalidInputError("the array is not contiguous: copy it first", "dtype")
    stream = described.get("stream")
    return Samples(described["data"][0] or 0, shape, kind, data, True, 0, stream)


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", c_void_p), ("deleter", c_void_p)]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)
_capsule_pointer = python_function("PyCapsule_GetPointer", c_void_p, ctypes.py_object, ctypes.c_char_p)
_capsule_rename = python_function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_USED = b"used_dltensor"


class _Consumed:
    """A DLPack tensor of another library, which gets its memory back when this object is gone."""

    def __init__(self, capsule):
        self._address = _capsule_pointer(capsule, b"dltensor")
        _capsule_rename(capsule, _USED)
        self.managed = _DLManagedTensor.from_address(self._address)

    def __del__(self):
        address, self._address = getattr(self, "_address", None), None
        if address and self.managed.deleter:
            _Deleter(self.managed.deleter)(address)


_CPU, _CUDA, _CUDA_HOST = 1, 2, 3


def _from_dlpack(data, encoding, allow_f32):
    device_type, ordinal = data.__dlpack_device__()
    if device_type not in (_CPU, _CUDA, _CUDA_HOST):
        raise UnsupportedTypeError(f"the array is on DLPack device {device_type}: CPU and CUDA are supported", "dtype")
    on_device = device_type == _CUDA
    # The producer makes the legacy default stream wait for its work.
    consumed = _Consumed(data.__dlpack__(stream=1) if on_device else data.__dlpack__())
    tensor = consumed.managed.tensor
    kind = {(2, 64): "f64", (2, 32): "f32", (0, 64): "i64"}.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    name = f"code {tensor.code} with {tensor.bits} bits"
    if on_device:
        _check_device_type(kind, name, encoding)
    elif kind != "f64" and not (kind == "f32" and allow_f32):
        raise UnsupportedTypeError(f"the array has elements of {name}: float64 is needed", "dtype")
    sides = [tensor.shape[k] for k in range(tensor.ndim)]
    shape = _shape_of(sides, "the array")
    expected = 1
    for side, k in zip(reversed(sides), reversed(range(tensor.ndim))):
        if tensor.strides and side > 1 and tensor.strides[k] != expected:
            raise InvalidInputError("the array is not contiguous: copy it first", "dtype")
        expected *= side
    address = (tensor.data or 0) + tensor.byte_offset
    return Samples(address, shape, kind, (consumed, data), on_device, ordinal, 0 if on_device else None)
