"""Files of TensorFlow's TensorProto: .pb."""

import array

from .errors import FileFormatError
from .inputs import samples_in

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


def read_pb(path):
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
