"""Quantum states from classical data, on CUDA, OpenCL and CPUs.

``QdpEngine().encode(data, num_qubits, "angle")`` returns states on the device; ``torch.from_dlpack(states)`` and
``numpy.from_dlpack(states)`` take them where they are.
"""

from ._device import DeviceInfo, devices
from ._library import (
    CompileError,
    DeviceError,
    DeviceNotFoundError,
    MillraceError,
    OutOfMemoryError,
)
from .engine import Pending, QdpEngine
from .errors import (
    FileFormatError,
    HandOverError,
    InvalidInputError,
    MemoryAllocationError,
    MissingPackageError,
    QdpError,
    UnsupportedTypeError,
)
from .loader import QuantumDataLoader
from .measure import LatencyResult, QdpBenchmark, ThroughputResult
from .shapes import ENCODINGS, MemoryEstimate, estimate_memory
from .states import States

__all__ = [
    "ENCODINGS",
    "CompileError",
    "DeviceError",
    "DeviceInfo",
    "DeviceNotFoundError",
    "FileFormatError",
    "HandOverError",
    "InvalidInputError",
    "LatencyResult",
    "MemoryAllocationError",
    "MemoryEstimate",
    "MillraceError",
    "MissingPackageError",
    "OutOfMemoryError",
    "Pending",
    "QdpBenchmark",
    "QdpEngine",
    "QdpError",
    "QuantumDataLoader",
    "States",
    "ThroughputResult",
    "UnsupportedTypeError",
    "devices",
    "encode_stream",
    "estimate_memory",
]
__version__ = "VERSION_NUMBER"


def encode_stream(engine, batches, num_qubits, encoding_method="amplitude", in_flight=4):
    """The same as ``engine.encode_stream(batches, num_qubits, encoding_method, in_flight)``."""
    return engine.encode_stream(batches, num_qubits, encoding_method, in_flight)
