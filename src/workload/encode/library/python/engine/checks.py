"""Errors of samples that the device found bad, before their states are handed over."""

import ctypes
import math
from ctypes import byref, c_double, c_float, c_int64, c_uint32, c_uint64

from ._library import library
from .errors import InvalidInputError
from .shapes import MAX_ANGLE

_NEGATIVE, _FRACTION, _RANGE = 2, 4, 8
_VALUES = {"f64": c_double, "f32": c_float, "i64": c_int64}


def raise_for(engine, plan, batch, samples, bad):
    """Raises the error of the first bad sample. The message comes from the value itself."""
    checks = library.qdp_batch_checks(batch)
    if plan.checked == "norms":
        _raise_norm((c_double * samples.count).from_address(checks)[bad], bad)
    row = (_VALUES[samples.type] * plan.length)()
    offset = c_uint64()
    source = library.qdp_batch_source(batch, bad, byref(offset))
    engine.read_buffer(source, ctypes.addressof(row), offset.value, plan.sample_bytes)
    if plan.encoding == "basis":
        _raise_index(plan, bad, row[0], (c_uint32 * samples.count).from_address(checks)[bad])
    for position, value in enumerate(row):
        if not math.isfinite(value):
            message = f"value {position} of sample {bad} is {value}: angles must be finite"
            raise InvalidInputError(message, "finite", bad, position)
        if abs(value) > MAX_ANGLE:
            message = f"value {position} of sample {bad}, {value}, is too large to be an angle: reduce it modulo 2 pi"
            raise InvalidInputError(message, "range", bad, position)
    message = f"sample {bad} changed while it was encoded: keep the data as it is until the states are made"
    raise InvalidInputError(message, "finite", bad)


def _raise_norm(squares, bad):
    name = f"sample {bad}"
    if math.isnan(squares):
        raise InvalidInputError(f"{name} has a NaN: values must be finite", "finite", bad)
    if math.isinf(squares):
        message = f"the norm of {name} is Inf: a value is Inf, or its square exceeds a double; scale large values down"
        raise InvalidInputError(message, "finite", bad)
    detail = f", or too small: its square is {squares}" if squares > 0 else ""
    raise InvalidInputError(f"{name} has a zero norm{detail}", "norm", bad)


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
