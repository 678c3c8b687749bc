"""The checks of a batch, after its states are made and before they are handed over."""

import ctypes
import math
from ctypes import c_double, c_float, c_int64, c_uint32

from ._library import library
from .errors import InvalidInputError
from .shapes import MAX_ANGLE

_MIN_NORMAL = 2.0**-1022
_NEGATIVE, _FRACTION, _RANGE = 2, 4, 8


def check_norms(engine, plan, host, count):
    """Sums of squares must be finite, and large enough for their rounding errors not to show."""
    limit = plan.length * _MIN_NORMAL
    bad = library.qdp_first_bad_norm(host, count, limit)
    if bad < 0:
        return
    squares = (c_double * count).from_address(host)[bad]
    name = f"sample {bad}"
    if math.isnan(squares):
        raise InvalidInputError(f"{name} has a NaN: values must be finite", "finite", bad)
    if math.isinf(squares):
        message = f"the norm of {name} is Inf: a value is Inf, or its square exceeds a double; scale large values down"
        raise InvalidInputError(message, "finite", bad)
    detail = f", or too small: its square is {squares}" if squares > 0 else ""
    raise InvalidInputError(f"{name} has a zero norm{detail}", "norm", bad)


_VALUES = {"f64": c_double, "f32": c_float, "i64": c_int64}


def check_flags(engine, plan, host, samples, source):
    """Flags are set by the device; the message comes from the value itself."""
    bad = library.qdp_first_flag(host, samples.count)
    if bad < 0:
        return
    row = (_VALUES[samples.type] * plan.length)()
    engine.read_buffer(source, ctypes.addressof(row), bad * plan.sample_bytes, plan.sample_bytes)
    if plan.encoding == "basis":
        flag = (c_uint32 * samples.count).from_address(host)[bad]
        _raise_index(plan, bad, row[0], flag)
    for position, value in enumerate(row):
        if not math.isfinite(value):
            message = f"value {position} of sample {bad} is {value}: angles must be finite"
            raise InvalidInputError(message, "finite", bad, position)
        if abs(value) > MAX_ANGLE:
            message = f"value {position} of sample {bad}, {value}, is too large to be an angle: reduce it modulo 2 pi"
            raise InvalidInputError(message, "range", bad, position)
    message = f"sample {bad} changed while it was encoded: keep the data as it is until the states are made"
    raise InvalidInputError(message, "finite", bad)


def _raise_index(plan, bad, value, flag):
    last = (1 << plan.num_qubits) - 1
    advice = f"a basis state is a whole number from 0 to {last}"
    if flag == _NEGATIVE:
        category, text = "negative", f"is negative: indices are non-negative; {advice}"
    elif flag == _FRACTION:
        category, text = "integer", f"is not an integer; {advice}"
    elif flag == _RANGE:
        category, text = "range", f"exceeds the last state, {last}"
    else:
        category, text = "finite", f"is not finite; {advice}"
    raise InvalidInputError(f"the index of sample {bad}, {value}, {text}", category, bad, 0)
