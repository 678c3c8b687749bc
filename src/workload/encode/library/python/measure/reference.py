"""The encodings in PyTorch, written as its users would: for comparison, and where no engine can run."""

import ctypes
import math

from .errors import InvalidInputError, MissingPackageError


def _torch():
    try:
        import torch
    except ImportError:
        raise MissingPackageError("the PyTorch backend needs the package torch: pip install torch") from None
    return torch


def encode_by_torch(samples, num_qubits, encoding, precision):
    """Encodes host samples on the default device; returns a tensor."""
    torch = _torch()
    kind = ctypes.c_double if samples.type == "f64" else ctypes.c_float
    flat = (kind * (samples.count * samples.length)).from_address(samples.address)
    x = torch.frombuffer(flat, dtype=torch.float64 if samples.type == "f64" else torch.float32)
    x = x.reshape(samples.count, samples.length).clone()
    return encode_tensor(x.cuda() if torch.cuda.is_available() else x, num_qubits, encoding, precision)


def encode_tensor(x, num_qubits, encoding, precision="f32", checked=True):
    """Encodes a tensor of samples where it is. A check of the norms waits for the device."""
    torch = _torch()
    real = torch.float64 if precision == "f64" else torch.float32
    complex_type = torch.complex128 if precision == "f64" else torch.complex64
    size = 1 << num_qubits
    if encoding == "amplitude":
        norm = torch.linalg.vector_norm(x.to(torch.float64), dim=1, keepdim=True)
        if checked and not (bool(torch.isfinite(norm).all()) and bool((norm > 0).all())):
            raise InvalidInputError("a sample has a zero or invalid norm", "norm")
        if x.shape[1] == size:
            return (x / norm).to(complex_type)
        state = torch.zeros(x.shape[0], size, dtype=complex_type, device=x.device)
        state[:, : x.shape[1]] = x / norm
        return state
    if encoding == "basis":
        state = torch.zeros(x.shape[0], size, dtype=complex_type, device=x.device)
        state[torch.arange(x.shape[0], device=x.device), x[:, 0].long()] = 1
        return state
    x = x.to(real)
    if encoding == "angle":
        state = torch.ones(x.shape[0], 1, dtype=real, device=x.device)
        for k in range(num_qubits):
            pair = torch.stack((torch.cos(x[:, k]), torch.sin(x[:, k])), 1)
            state = (pair[:, :, None] * state[:, None, :]).reshape(x.shape[0], -1)
        return state.to(complex_type)
    index = torch.arange(size, device=x.device)
    theta = torch.zeros(x.shape[0], size, dtype=real, device=x.device)
    for k in range(num_qubits):
        theta += x[:, k : k + 1] * ((index >> k) & 1).to(real)
    if encoding == "iqp":
        at = num_qubits
        for i in range(num_qubits):
            for j in range(i + 1, num_qubits):
                theta += x[:, at : at + 1] * ((index >> i) & (index >> j) & 1).to(real)
                at += 1
    state = torch.polar(torch.ones_like(theta), theta)
    if encoding == "phase":
        return state * math.pow(2.0, -num_qubits / 2)
    for k in range(num_qubits):
        pairs = state.reshape(x.shape[0], -1, 2, 1 << k)
        state = torch.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), 2).reshape(x.shape[0], -1)
    return state * math.pow(2.0, -num_qubits)
