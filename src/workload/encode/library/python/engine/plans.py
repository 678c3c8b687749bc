"""How states of one shape are made: the launches, and their buffers."""

import ctypes
from ctypes import byref, c_double, c_uint32, c_void_p

from ._library import kernel_of, library
from .native import BUFFERS, NativePlan
from .shapes import state_bytes

_PACKAGE = "MODULE"

# As in the kernels: amplitudes of a tile's piece, values of a partial sum, bits of a tile of iqp and its columns.
PIECE_BITS = 13
MAX_SUMS = 64
TILE_BITS = 10
COLUMN_BITS = 2
_MIN_NORMAL = 2.0**-1022

_QUBITS = ("qubits", c_uint32)
_SCALE = ("scale", c_double)
_JOBS = {
    "sums": (("length", c_uint32),),
    "totals": (("pieces", c_uint32),),
    "amplitude": (_QUBITS, ("length", c_uint32), ("sums", c_uint32)),
    "angle": (_QUBITS, _SCALE),
    "phase": (_QUBITS, _SCALE),
    "iqp_z": (_QUBITS, _SCALE),
    "basis": (_QUBITS,),
    "iqp": (_QUBITS, _SCALE),
    "hadamard": (_QUBITS, ("first", c_uint32), ("bits", c_uint32), ("columns", c_uint32)),
    "angles": (("length", c_uint32),),
    "index": (_QUBITS,),
    "widen": (),
}
_BUFFERS = {
    "sums": ("x", "sums"),
    "totals": ("sums", "totals"),
    "angle": ("x", "states"),
    "phase": ("x", "states"),
    "iqp_z": ("x", "states"),
    "basis": ("index", "states"),
    "iqp": ("x", "states"),
    "hadamard": ("states",),
    "angles": ("x", "flags"),
    "index": ("x", "index", "flags"),
    "widen": ("x", "values"),
}
_STRUCTS = {name: type(name, (ctypes.Structure,), {"_fields_": list(fields)}) for name, fields in _JOBS.items()}


class Step:
    """One launch: a kernel, its job values, items for each sample, and the buffers in the kernel's order."""

    __slots__ = ("kernel", "values", "items", "buffers")

    def __init__(self, kernel, suffix, items, values=(), buffers=None):
        self.kernel = kernel + suffix
        self.values = _STRUCTS[kernel](*values) if values else None
        self.items = items
        self.buffers = buffers or _BUFFERS[kernel]

    def reading(self, source):
        """The same step with another buffer in place of the samples."""
        self.buffers = tuple(source if name == "x" else name for name in self.buffers)
        return self


class Plan:
    """The steps for one encoding, number of qubits, length and types, compiled for a device.

    ``checked`` is the buffer that the host reads afterwards: ``norms`` or ``flags``. ``scratch`` has the bytes of each
    other buffer for a sample, and ``max_samples`` how many one launch may have: kernels count values in 32 bits.
    ``native`` is the plan as the library takes it.
    """

    def __init__(self, device, kind, encoding, num_qubits, length, given, precision):
        self.encoding, self.num_qubits, self.length = encoding, num_qubits, length
        self.given, self.precision = given, precision
        self.sample_bytes = length * (4 if given == "f32" else 8)
        self.state_bytes = state_bytes(num_qubits, precision)
        self.max_samples = max(1, (2**32 - 1) // max(length, 1 << num_qubits))
        self.scratch = {}
        self.steps = []
        source = "x"
        if given == "f32" and (encoding not in ("amplitude", "basis") or (encoding == "amplitude" and precision == "f64")):
            self._add("widen", "", length)
            self.scratch["values"] = 8 * length
            source, given = "values", "f64"
        pieces = 1 << max(0, num_qubits - PIECE_BITS)
        suffix = "_" + precision
        if encoding == "amplitude":
            self._amplitude(kind, given, source, pieces)
        elif encoding == "basis":
            self.checked, self.scratch["index"], self.scratch["flags"] = "flags", 4, 4
            self._add("index", "_" + given, 1, (num_qubits,))
            self._add("basis", suffix, pieces, (num_qubits,))
            self.path = "basis"
        else:
            self.checked, self.scratch["flags"] = "flags", 4
            self.steps.append(Step("angles", "", 1, (length,)).reading(source))
            if encoding == "iqp":
                self._iqp(suffix, source)
            else:
                scale = _phase_scale(num_qubits) if encoding == "phase" else 1.0
                name = encoding.replace("-", "_")
                self.steps.append(Step(name, suffix, pieces, (num_qubits, scale)).reading(source))
                self.path = f"{encoding}, a product of two tables"
        self.native = self._opened(device)

    def _opened(self, device):
        made = NativePlan(self.sample_bytes, self.state_bytes, self.max_samples)
        for name, size in self.scratch.items():
            made.scratch_bytes[BUFFERS.index(name)] = size
        # A sum of squares must be large enough for its rounding errors not to show.
        made.min_norm = self.length * _MIN_NORMAL
        made.checked = BUFFERS.index(self.checked)
        made.step_count = len(self.steps)
        for step, place in zip(self.steps, made.steps):
            job = c_void_p()
            values = None if step.values is None else ctypes.addressof(step.values)
            library.mr_job_open(device, kernel_of(f"{_PACKAGE}_{step.kernel}_kernel"), values, byref(job))
            place.job, place.items, place.buffer_count = job, step.items, len(step.buffers)
            for at, name in enumerate(step.buffers):
                place.buffers[at] = BUFFERS.index(name)
        return made

    def _add(self, *step):
        self.steps.append(Step(*step))

    def _amplitude(self, kind, given, source, pieces):
        num_qubits, length = self.num_qubits, self.length
        name = f"_{given}_{self.precision}"
        self.checked, self.scratch["norms"] = "norms", 8
        if kind == "cpu":
            # A sample at a time, while it is in the cache. The buffer of sums is not used.
            buffers = (source, "norms", "norms", "states")
            self.steps.append(Step("amplitude", name, 1, (num_qubits, length, 0), buffers))
            self.path = "amplitude, a tile a sample"
            return
        sums = -(-length >> PIECE_BITS)
        self.scratch["sums"] = 8 * sums
        self.steps.append(Step("sums", "_" + given, sums, (length,)).reading(source))
        added = "sums"
        if sums > MAX_SUMS:
            self.scratch["totals"] = 8
            self._add("totals", "", 1, (sums,))
            added, sums = "totals", 1
        buffers = (source, added, "norms", "states")
        self.steps.append(Step("amplitude", name, pieces, (num_qubits, length, sums), buffers))
        self.path = "amplitude, sums and scale"

    def _iqp(self, suffix, source):
        num_qubits = self.num_qubits
        low = min(num_qubits, TILE_BITS)
        scale = 2.0**-num_qubits
        self.steps.append(Step("iqp", suffix, 1 << (num_qubits - low), (num_qubits, scale)).reading(source))
        passes, at = 1, low
        while at < num_qubits:
            bits = min(num_qubits - at, TILE_BITS - COLUMN_BITS)
            columns = min(at, TILE_BITS - bits)
            self._add("hadamard", suffix, 1 << (num_qubits - bits - columns), (num_qubits, at, bits, columns))
            at += bits
            passes += 1
        self.path = f"iqp, Hadamard in {passes} passes"


def _phase_scale(num_qubits):
    """2^(-n/2), rounded once."""
    return 2.0 ** -(num_qubits // 2) * (0.5**0.5 if num_qubits % 2 else 1.0)
