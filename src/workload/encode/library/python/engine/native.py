"""The encoder's own functions and structs of the library."""

from ctypes import POINTER, Structure, c_double, c_int, c_int64, c_ssize_t, c_uint32, c_uint64, c_void_p

from ._library import library

# The buffers of a batch, in the order of the library.
BUFFERS = ("x", "states", "values", "sums", "totals", "norms", "index", "flags")
_MAX_STEPS, _MAX_STEP_BUFFERS = 8, 4


class Step(Structure):
    """``qdp_step``: one launch."""

    _fields_ = [
        ("job", c_void_p),
        ("items", c_uint64),
        ("buffer_count", c_uint32),
        ("buffers", c_uint32 * _MAX_STEP_BUFFERS),
    ]


class NativePlan(Structure):
    """``qdp_plan``: how the states of one shape are made."""

    _fields_ = [
        ("sample_bytes", c_uint64),
        ("state_bytes", c_uint64),
        ("max_samples", c_uint64),
        ("scratch_bytes", c_uint64 * len(BUFFERS)),
        ("min_norm", c_double),
        ("checked", c_uint32),
        ("step_count", c_uint32),
        ("steps", Step * _MAX_STEPS),
    ]


class NativeSamples(Structure):
    """``qdp_samples``: where the samples of a batch are."""

    _fields_ = [
        ("addresses", c_void_p),
        ("sizes", c_void_p),
        ("parts", c_uint64),
        ("count", c_uint64),
        ("is_in_place", c_uint32),
        ("is_locked", c_uint32),
        ("writer", c_void_p),
    ]


class Started(Structure):
    """``qdp_started``: a batch under way."""

    _fields_ = [("batch", c_void_p), ("block", c_void_p), ("needed_bytes", c_uint64)]


class Ramp(Structure):
    """``qdp_ramp``: a row that stands twice in memory."""

    _fields_ = [("values", c_void_p), ("length", c_uint64), ("value_bytes", c_uint64)]


NO_MEMORY = 1
RUNNING = 2**63 - 1

_HANDLE = POINTER(c_void_p)
_SUBMIT = (c_int, (c_void_p, POINTER(NativePlan), POINTER(NativeSamples), POINTER(Started)))
# Functions that only look something up or queue commands; see `_library`.
_QUICK = {
    "qdp_pool_open": (c_int, (c_void_p, _HANDLE)),
    "qdp_pool_hold": (None, (c_void_p,)),
    "qdp_pool_drop": (None, (c_void_p,)),
    "qdp_pool_used": (c_uint64, (c_void_p,)),
    "qdp_pool_stream": (c_int, (c_void_p, c_void_p, _HANDLE)),
    "qdp_block_take": (c_int, (c_void_p, c_uint64, c_void_p, _HANDLE)),
    "qdp_block_buffer": (c_void_p, (c_void_p,)),
    "qdp_block_share": (None, (c_void_p,)),
    "qdp_block_return": (None, (c_void_p,)),
    "qdp_tensor_make": (c_void_p, (c_void_p, c_uint64, c_int64, c_int64, c_int, c_int, c_int, c_int, c_void_p)),
    "qdp_capsule_functions": (None, (c_void_p, c_void_p)),
    "qdp_engine_open": (c_int, (c_void_p, c_void_p, c_int, _HANDLE)),
    "qdp_finish_soon": (c_int64, (c_void_p, c_double)),
    "qdp_is_done": (c_int, (c_void_p,)),
    "qdp_batch_checks": (c_void_p, (c_void_p,)),
    "qdp_batch_source": (c_void_p, (c_void_p, c_uint64, POINTER(c_uint64))),
}
# These may wait, for a device or for threads, or copy.
_BLOCKING = {
    "qdp_pool_close": (None, (c_void_p,)),
    "qdp_pool_trim": (None, (c_void_p,)),
    "qdp_engine_close": (None, (c_void_p,)),
    "qdp_engine_wait": (c_int, (c_void_p,)),
    "qdp_submit": _SUBMIT,
    "qdp_finish": (c_int64, (c_void_p, c_double)),
    "qdp_abandon": (None, (c_void_p,)),
    "qdp_write_rotations": (None, (POINTER(Ramp), c_void_p, c_uint64, c_uint64, c_int)),
    "qdp_narrow": (c_uint64, (c_void_p, c_void_p, c_uint64)),
    "mr_memory": (c_int, (c_void_p, POINTER(c_uint64), POINTER(c_uint64))),
}

for _name, (_result, _arguments) in _QUICK.items():
    library.declare(_name, _result, _arguments, True)
for _name, (_result, _arguments) in _BLOCKING.items():
    library.declare(_name, _result, _arguments)
# A position, or -1.
library.declare("qdp_first_above", c_ssize_t, (c_void_p, c_uint64, c_double))
# Samples that need no copy by this thread: commands are only queued.
library.declare("qdp_submit", *_SUBMIT, True, "qdp_submit_quick")
