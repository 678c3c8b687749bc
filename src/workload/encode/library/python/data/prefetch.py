"""Batches that a thread makes ahead, and their states."""

import queue
import threading
from collections import deque

from .inputs import samples_in
from .pinned import pinned_array


class Prefetch:
    """A thread that makes batches ahead, up to `depth` of them. Spent memory goes back to it."""

    def __init__(self, make, depth, engine, precision):
        self._precision = precision
        self._ready = queue.Queue(depth)
        self._spent = queue.SimpleQueue()
        self._engine = engine
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(make,), name="qdp-prefetch", daemon=True)
        self._thread.start()

    def _allocate(self, count, length):
        try:
            samples = self._spent.get_nowait()
            if (samples.count, samples.length) == (count, length):
                return samples
        except queue.Empty:
            pass
        view = pinned_array(self._engine, count, length, self._precision)
        made = samples_in(view, (count, length))
        made.values, made.is_locked = view, True
        return made

    def _run(self, make):
        try:
            for samples in make(self._allocate):
                if not self._put((samples, None)):
                    return
            self._put((None, None))
        except Exception as error:  # delivered once, and ends the iteration
            self._put((None, error))

    def _put(self, item):
        while not self._is_closed.is_set():
            try:
                self._ready.put(item, timeout=0.05)
                return True
            except queue.Full:
                continue
        return False

    def __iter__(self):
        while True:
            samples, error = self._ready.get()
            if error is not None:
                raise error
            if samples is None:
                return
            yield samples

    def recycle(self, samples):
        """Takes memory back whose batch has been copied."""
        if samples.values is not None:
            self._spent.put(samples)

    def close(self):
        """Ends the thread, also if it waits for a place in a full queue."""
        self._is_closed.set()
        self._thread.join()


def pipelined(engine, make, depth, dtype, num_qubits, encoding, in_flight=3):
    """Yields the states of prefetched batches, in order, with several batches under way."""
    produced = Prefetch(make, depth, engine, dtype)
    waiting = deque()
    try:
        for samples in produced:
            waiting.append((engine._submit(samples, num_qubits, encoding), samples))
            if len(waiting) >= in_flight:
                yield _finished(produced, *waiting.popleft())
        while waiting:
            yield _finished(produced, *waiting.popleft())
    finally:
        produced.close()


def _finished(produced, pending, samples):
    states = pending.get()
    produced.recycle(samples)
    return states
