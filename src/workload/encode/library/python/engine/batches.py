"""A batch under way, and its result."""

import os
import threading

from ._library import library
from .checks import raise_for
from .native import RUNNING
from .states import States


class Pending:
    """A batch under way. :meth:`get` waits for it, checks it and returns its states."""

    __slots__ = ("_engine", "_batch", "_block", "_plan", "_samples", "_lock", "_made", "__weakref__")

    def __init__(self, engine, batch, block, plan, samples):
        self._engine, self._batch, self._block = engine, batch, block
        self._plan, self._samples = plan, samples
        self._lock = threading.Lock()
        self._made = None

    def get(self):
        """Returns the states; the same object each time. Raises if a sample cannot be encoded."""
        with self._lock:
            if self._batch is not None:
                self._finish()
            if isinstance(self._made, BaseException):
                raise self._made
            return self._made

    def is_done(self):
        """True if :meth:`get` returns at once."""
        with self._lock:
            return self._batch is None or library.qdp_is_done(self._batch) == 1

    def _finish(self):
        engine, plan, batch = self._engine, self._plan, self._batch
        try:
            bad = library.qdp_finish_soon(batch, engine.hold_us) if engine.hold_us else RUNNING
            if bad == RUNNING:
                bad = library.qdp_finish(batch, engine.spin_us)
            if bad == 0:
                self._batch = None
                self._made = States(engine, self._block, self._samples.count, plan.num_qubits, plan.precision, plan.path)
                self._samples = None
                return
            raise_for(engine, plan, batch, self._samples, bad - 1)
        except Exception as error:  # raised by each get()
            self._made = error
        self._drop()

    def _drop(self):
        batch, self._batch, self._samples = self._batch, None, None
        library.qdp_abandon(batch)

    def __del__(self):
        # Abandoned: its memory is used again after the device is done with it.
        if getattr(self, "_batch", None) is not None and self._engine.process == os.getpid():
            self._drop()
