"""Encodings, their sizes, and the checks of sizes."""

import operator
from typing import NamedTuple

from .errors import InvalidInputError

ENCODINGS = ("amplitude", "angle", "basis", "phase", "iqp-z", "iqp")
MAX_QUBITS = 30
MAX_ANGLE = 2.0**40

_PRECISIONS = {"float32": "f32", "f32": "f32", "float": "f32", "float64": "f64", "f64": "f64", "double": "f64"}
_MEANINGS = {
    "amplitude": "amplitudes",
    "angle": "one per qubit",
    "basis": "exactly 1, the index",
    "phase": "one per qubit",
    "iqp-z": "one per qubit",
    "iqp": "one per qubit, then one per pair",
}


def encoding_of(name):
    """Returns the encoding's name in lower case, or raises."""
    found = name.lower() if isinstance(name, str) else name
    if found in ENCODINGS:
        return found
    raise InvalidInputError(f"unknown encoding {name!r}: use {', '.join(ENCODINGS)}", "encoding")


def precision_of(name):
    """Returns ``f32`` or ``f64``, or raises."""
    found = _PRECISIONS.get(name.lower()) if isinstance(name, str) else None
    if found is None:
        raise InvalidInputError(f"unknown precision {name!r}: use float32 (f32, float) or float64 (f64, double)", "dtype")
    return found


def real_bytes(precision):
    return 8 if precision == "f64" else 4


def sample_length(encoding, num_qubits):
    """Values of a sample; for amplitude, the largest number."""
    if encoding == "amplitude":
        return 1 << num_qubits
    if encoding == "basis":
        return 1
    if encoding == "iqp":
        return num_qubits + num_qubits * (num_qubits - 1) // 2
    return num_qubits


def state_bytes(num_qubits, precision):
    return (2 << num_qubits) * real_bytes(precision)


def whole(number, name, least=1, most=None, category="samples"):
    """Returns a whole number as an int, which may be one of NumPy's, or raises."""
    found = _index_of(number)
    if found is None or found < least or (most is not None and found > most):
        asked = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidInputError(f"{name} is {number!r}: give a whole number {asked}", category)
    return found


def _index_of(number):
    if type(number) is int:
        return number
    try:
        return None if isinstance(number, bool) else operator.index(number)
    except TypeError:
        return None


def check_qubits(num_qubits):
    """Returns the number of qubits as an int, or raises."""
    found = _index_of(num_qubits)
    if found is None:
        raise InvalidInputError(f"the number of qubits is {num_qubits!r}: give a whole number, at least 1", "qubits")
    if found < 1:
        raise InvalidInputError(f"{found} qubits: at least 1 is needed", "qubits")
    if found > MAX_QUBITS:
        raise InvalidInputError(f"{found} qubits exceeds the limit of {MAX_QUBITS}", "qubits")
    return found


def check_batch(encoding, num_qubits, samples, length, values=None):
    """Checks the sizes of a batch; `values` is the number of values, if it is not their product."""
    check_qubits(num_qubits)
    expected = sample_length(encoding, num_qubits)
    if samples < 1:
        raise InvalidInputError(f"there are no samples: the batch is ({samples}, {length})", "samples")
    if length < 1:
        if encoding in ("amplitude", "basis") or values is None:
            category = "empty" if encoding in ("amplitude", "basis") else "size"
            raise InvalidInputError(f"the input is empty: {encoding} takes {_advice(encoding, expected)}", category)
        raise InvalidInputError(f"a sample has no values: the batch is ({samples}, {length})", "samples")
    if values is not None and samples * length != values:
        message = f"{samples} samples of {length} values are {samples * length} values, not {values}"
        raise InvalidInputError(message, "size")
    if encoding == "amplitude":
        if length > expected:
            message = f"{length} values exceeds the {expected} amplitudes of {num_qubits} qubits"
            raise InvalidInputError(message, "size")
    elif length != expected:
        values = f"{expected} values a sample ({_MEANINGS[encoding]})"
        raise InvalidInputError(f"{encoding} of {num_qubits} qubits expects {values}, not {length}", "size")


def _advice(encoding, expected):
    return f"1 to {expected} values" if encoding == "amplitude" else f"{expected} values ({_MEANINGS[encoding]})"


class MemoryEstimate(NamedTuple):
    """Bytes of a loader: batches read ahead on the host, and two batches of states on the device."""

    host_bytes: int
    device_bytes: int
    total_bytes: int


def estimate_memory(encoding, num_qubits, batch_size, dtype="float32", prefetch_depth=16):
    """Estimates the memory of a loader, for samples of `dtype`. Raises if the numbers exceed 64 bits.

    iqp, iqp-z and phase read samples as float64.
    """
    encoding, precision = encoding_of(encoding), precision_of(dtype)
    num_qubits = check_qubits(num_qubits)
    size = real_bytes("f64" if encoding in ("iqp", "iqp-z", "phase") else precision)
    host = prefetch_depth * batch_size * sample_length(encoding, num_qubits) * size
    device = 2 * batch_size * (2 << num_qubits) * size
    if host < 0 or device < 0 or host + device >= 1 << 64:
        raise InvalidInputError(f"{prefetch_depth} batches of {batch_size} samples exceed 64 bits", "memory")
    return MemoryEstimate(host, device, host + device)


def prefetch_depth(encoding, num_qubits, batch_size, value_bytes):
    """Batches to read ahead: as many as 256 MiB hold, from 1 to 32."""
    size = batch_size * sample_length(encoding, num_qubits) * value_bytes
    return 1 if size <= 0 else max(1, min(32, (256 << 20) // size))
