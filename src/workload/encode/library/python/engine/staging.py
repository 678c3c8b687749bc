"""Plain host memory to a CUDA device and back, through page-locked memory."""

import ctypes
import os
import threading
from ctypes import byref, c_uint64, c_void_p

from ._library import library

# One thread copies 6 to 9 GB/s, the bus takes 55: more than eight add little.
_MAX_THREADS = 8
# Below this, a part is copied with its neighbours: a separate transfer costs as much as copying 30 KB.
_SMALL = 1 << 15


class Stager:
    """Copies samples to the device: page-locked ones directly, others by threads of the library."""

    def __init__(self, engine, stream):
        self._engine, self._stream = engine, stream
        made = c_void_p()
        threads = max(1, min(_MAX_THREADS, (os.cpu_count() or 1) // 2))
        library.qdp_stage_open(engine.handle, threads, byref(made))
        self._stage = made.value

    def write_all(self, buffer, parts):
        """Queues the copies of parts, one after the other. When it returns, plain memory may change."""
        engine = self._engine
        is_direct = engine.kind != "cuda" and (len(parts) == 1 or all(size >= _SMALL for _, size in parts))
        if not is_direct and all(size >= _SMALL for _, size in parts):
            is_direct = all(library.mr_host_is_locked(engine.handle, address, size) for address, size in parts)
        if is_direct:
            offset = 0
            for address, size in parts:
                library.mr_write(self._stream, buffer, offset, address, size)
                offset += size
            return
        count = len(parts)
        addresses = (c_uint64 * count)(*(address for address, _ in parts))
        sizes = (c_uint64 * count)(*(size for _, size in parts))
        library.qdp_stage_write(self._stage, self._stream, buffer, addresses, sizes, count)

    def close(self):
        library.qdp_stage_close(self._stage)


class Reader:
    """Copies from the device to plain host memory, through two page-locked pieces in turns."""

    def __init__(self, engine):
        self._engine, self._stream = engine, engine.stream()
        self._lock = threading.Lock()
        self._memory = None
        self._done = ()

    def read(self, buffer, offset, address, size):
        with self._lock:
            if self._engine.kind != "cuda" or library.mr_host_is_locked(self._engine.handle, address, size):
                library.mr_read(self._stream, buffer, offset, address, size)
                library.mr_wait(self._stream)
                return
            if self._memory is None:
                made = c_void_p()
                library.mr_host_alloc(self._engine.handle, 2 * _READ_PIECE, byref(made))
                self._memory, self._done = made.value, (self._engine.event(), self._engine.event())
            waiting = []
            for at in range(0, size, _READ_PIECE):
                which = at // _READ_PIECE % 2
                part = min(_READ_PIECE, size - at)
                piece = self._memory + which * _READ_PIECE
                if len(waiting) == 2:
                    self._take(*waiting.pop(0))
                library.mr_read(self._stream, buffer, offset + at, piece, part)
                library.mr_event_record(self._done[which], self._stream)
                waiting.append((which, piece, address + at, part))
            for each in waiting:
                self._take(*each)

    def _take(self, which, piece, address, size):
        library.mr_event_wait(self._done[which])
        ctypes.memmove(address, piece, size)


_READ_PIECE = 4 << 20
