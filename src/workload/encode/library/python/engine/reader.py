"""Copies from a device to plain host memory."""

import ctypes
import threading
from ctypes import byref, c_void_p

from ._library import library

_PIECE = 4 << 20


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
                library.mr_host_alloc(self._engine.handle, 2 * _PIECE, byref(made))
                self._memory, self._done = made.value, (self._engine.event(), self._engine.event())
            waiting = []
            for at in range(0, size, _PIECE):
                which = at // _PIECE % 2
                part = min(_PIECE, size - at)
                piece = self._memory + which * _PIECE
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
