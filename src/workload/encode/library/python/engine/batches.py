"""A batch under way: its memory on the device, and its result."""

import threading
from ctypes import byref, c_void_p

from ._library import library
from .checks import check_flags, check_norms
from .states import States


class Slot:
    """The device memory of a batch's input and of its checks."""

    def __init__(self, engine):
        self._engine = engine
        self.buffers = {}
        self._sizes = {}
        self.host = None
        self._host_bytes = 0
        self.copied, self.done = engine.event(), engine.event()

    def need(self, name, size):
        """Makes the buffer at least this large, and returns it."""
        if self._sizes.get(name, 0) < size:
            old = self.buffers.pop(name, None)
            self._sizes[name] = 0
            if old is not None:
                library.mr_buffer_free(old)
            size = -(-size // 16) * 16
            self._engine.check_memory(size, 0)
            made = c_void_p()
            library.mr_buffer_alloc(self._engine.handle, size, byref(made))
            self.buffers[name], self._sizes[name] = made.value, size
        return self.buffers[name]

    def need_host(self, size):
        if self._host_bytes < size:
            if self.host is not None:
                library.mr_host_free(self._engine.handle, self.host)
            self.host, self._host_bytes = None, 0
            made = c_void_p()
            library.mr_host_alloc(self._engine.handle, max(4096, size), byref(made))
            self.host, self._host_bytes = made.value, max(4096, size)
        return self.host


class Pending:
    """A batch under way. :meth:`get` waits for it, checks it and returns its states."""

    def __init__(self, engine, slot, plan, samples, block, source, adopted, number):
        self.number = number
        self._engine, self._slot, self._plan = engine, slot, plan
        self._samples, self._block, self._source, self._adopted = samples, block, source, adopted
        self._lock = threading.Lock()
        self._made = None

    def get(self):
        """Returns the states; the same object each time. Raises if a sample cannot be encoded."""
        with self._lock:
            if self._slot is not None:
                self._finish()
            if isinstance(self._made, BaseException):
                raise self._made
            return self._made

    def is_done(self):
        """True if :meth:`get` returns at once."""
        with self._lock:
            return self._slot is None or self._engine.is_idle()

    def _finish(self):
        engine, plan, slot = self._engine, self._plan, self._slot
        try:
            engine.wait_for(self, slot)
            if plan.checked == "norms":
                check_norms(engine, plan, slot.host, self._samples.count)
            else:
                check_flags(engine, plan, slot.host, self._samples, self._source)
            self._made = States(engine, self._block, self._samples.count, plan.num_qubits, plan.precision, plan.path)
            self._block = None
        except Exception as error:  # raised by each get()
            self._made = error
        finally:
            self._release()

    def _release(self):
        slot, self._slot = self._slot, None
        for buffer in self._adopted:
            library.forget_buffer(buffer)
        if self._block is not None:
            library.qdp_block_return(self._block)
            self._block = None
        self._samples = None
        self._engine.free_slots.append(slot)

    def __del__(self):
        # Abandoned: its memory is used again after the device is done with it.
        if getattr(self, "_slot", None) is not None and self._engine.is_usable():
            library.mr_event_wait(self._slot.done)
            self._release()
