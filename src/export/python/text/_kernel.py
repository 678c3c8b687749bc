"""Tasks of a kernel: search, generate, transform."""

import contextlib
import ctypes
import struct
import time
from collections import namedtuple
from ctypes import byref, c_size_t, c_uint64, c_void_p

from ._device import Device, View, default_device
from ._library import ArgumentError, CancelledError, ChunkFunction, Data, ProgressFunction, Rows, TaskOptions
from ._library import error_of, kernel_of, library

# The C type and the format in a record, by the type of a field. An f16 is a float for callers.
_TYPES = {
    "u32": (ctypes.c_uint32, "I"),
    "i32": (ctypes.c_int32, "i"),
    "u64": (ctypes.c_uint64, "Q"),
    "i64": (ctypes.c_int64, "q"),
    "f16": (ctypes.c_float, "f"),
    "f32": (ctypes.c_float, "f"),
    "f64": (ctypes.c_double, "d"),
    "bool": (ctypes.c_uint32, "I"),
}
_SIGNS = {"u": "BHILQN", "i": "bhilqn", "f": "efd"}

Field = namedtuple("Field", "name type length is_array")
Buffer = namedtuple("Buffer", "name kind type row_bytes")


class Kernel:
    """A kernel of the library, with its declarations."""

    def __init__(self, symbol, name, job=(), chunk=(), hit=(), buffers=(), rows=(), output=None):
        self.name = name
        self.address = kernel_of(symbol)
        self.job = [Field(*field) for field in job]
        self.chunk = [Field(*field) for field in chunk]
        self.hit_fields = [Field(*field) for field in hit]
        self.buffers = [Buffer(*buffer) for buffer in buffers]
        self.row_names = frozenset(rows)
        self.output = output
        self._job_struct = _struct("Job", self.job)
        self._chunk_struct = _struct("Chunk", self.chunk)
        # `index` cannot be the name of another field: the exporter renames it.
        self.Hit = namedtuple("Hit", ["index", *(field.name for field in self.hit_fields)], module=__name__)
        formats = ("".join(_TYPES[f.type][1] * f.length) for f in self.hit_fields)
        self._record = struct.Struct("<Q" + "".join(formats))

    # ---- tasks ----

    def search(self, start, count, job, data, device=None, options=None):
        """Yields the hits of [start, start + count) in ascending order. While they are used, the next range runs."""
        start, count = _range_of(start, count)
        values, arrays = self._job_values(job), self._data(data, ())
        opened = contextlib.ExitStack()
        device = opened.enter_context(_opened(device))
        return self._search(start, start + count, values, arrays, device, dict(options or {}), opened)

    def _search(self, at, end, values, arrays, device, options, opened):
        size, progress = options.pop("range", None), options.pop("progress", None)
        length = size or _FIRST_RANGE
        finished, total = 0, end - at
        running = None
        try:
            while at < end or running is not None:
                ended, running = running, None
                if at < end:
                    count = min(length, end - at)
                    running = self._start_search(device, values, arrays, at, count, options)
                    at += count
                if ended is None:
                    if at < end:
                        continue  # two ranges are under way from here on
                    ended, running = running, None
                ended.wait()
                if size is None:
                    length = _next_range(length, ended)
                hits = self._hits(ended)
                ended.close()
                finished += ended.total
                if progress is not None and progress(finished, total) is False:
                    raise CancelledError(f"stopped after {finished} of {total} indices")
                yield from hits
        finally:
            with opened:
                if running is not None:
                    running.close()

    def _start_search(self, device, values, arrays, start, count, options):
        task = Task(device, arrays.keep, self._options(options), count)
        library.mr_search_start(
            device.handle, self.address, _reference(values), arrays.pointer, start, count, task.options, task.place
        )
        return task

    def _hits(self, task):
        records, found = c_void_p(), c_size_t()
        library.mr_search_hits(task.handle, byref(records), byref(found))
        if found.value == 0:
            return []
        # SAFETY: the records are the task's until it is closed; they are copied here.
        copied = ctypes.string_at(records.value, found.value * self._record.size)
        made = self.Hit._make
        if not any(field.is_array for field in self.hit_fields):
            return [made(record) for record in self._record.iter_unpack(copied)]
        return [made(self._grouped(record)) for record in self._record.iter_unpack(copied)]

    def _grouped(self, record):
        yield record[0]
        at = 1
        for field in self.hit_fields:
            part = record[at : at + field.length]
            yield part if field.is_array else part[0]
            at += field.length

    def generate(self, start, count, job, data, row=None, out=None, device=None, options=None):
        """Returns the rows of [start, start + count) as an array, or writes them to `out`."""
        start, count = _range_of(start, count)
        number = [buffer.name for buffer in self.buffers].index(self.output)
        buffer = self.buffers[number]
        row_bytes = self._row_bytes(buffer, row)
        values, arrays = self._job_values(job), self._data(data, {self.output})
        made = _made(buffer, count, row_bytes) if out is None else out
        view = View(made, writable=True)
        if view.bytes != count * row_bytes:
            raise ArgumentError(f"`out` has {view.bytes} bytes; {count} rows of {row_bytes} bytes are {count * row_bytes}")
        with _opened(device) as device:
            task = Task(device, [arrays.keep, view], self._options(options or {}), count)
            library.mr_generate_start(
                device.handle, self.address, _reference(values), arrays.pointer, number, row_bytes, start, count,
                view.address, task.options, task.place,
            )  # fmt: skip
            task.finish()
        return made

    def transform(self, arrays, job, rows=None, device=None, options=None):
        """Runs the kernel on rows. Returns the array that it writes, or a dict of several."""
        options = options or {}
        rows = rows or {}
        values = self._job_values(job)
        given = {name: View(array) for name, array in arrays.items() if array is not None and self._is_read(name)}
        with_rows = self.row_names or {
            name for name, view in given.items() if len(view.shape) > 1
        }.union(buffer.name for buffer in self.buffers if buffer.kind == "rw")
        count = self._row_count(given, with_rows)
        entries, results, keep = [], {}, []
        for number, buffer in enumerate(self.buffers):
            if buffer.name not in with_rows:
                continue
            if buffer.kind == "read":
                view = given.pop(buffer.name, None)
                if view is None:
                    raise ArgumentError(f"`{buffer.name}` is missing: an array with a row for each index")
                _check_elements(buffer, view)
                entries.append(Rows(number, view.bytes // count if count else 0, view.address, None))
            else:
                row_bytes = self._row_bytes(buffer, rows.get(buffer.name))
                results[buffer.name] = arrays.get(buffer.name)
                if results[buffer.name] is None:
                    results[buffer.name] = _made(buffer, count, row_bytes)
                view = View(results[buffer.name], writable=True)
                if view.bytes != count * row_bytes:
                    raise ArgumentError(f"`{buffer.name}` has {view.bytes} bytes, not {count} rows of {row_bytes} bytes")
                entries.append(Rows(number, row_bytes, None, view.address))
            keep.append(view)
        if count == 0:
            return next(iter(results.values())) if len(results) == 1 else results
        data = self._data(given, with_rows)
        table = (Rows * len(entries))(*entries)
        with _opened(device) as device:
            task = Task(device, [keep, data.keep, table], self._options(options), count)
            library.mr_transform_start(
                device.handle, self.address, _reference(values), data.pointer, table, len(entries), count, task.options,
                task.place,
            )  # fmt: skip
            task.finish()
        return next(iter(results.values())) if len(results) == 1 else results

    # ---- arguments ----

    def _is_read(self, name):
        return any(buffer.name == name and buffer.kind == "read" for buffer in self.buffers)

    def _row_count(self, given, with_rows):
        counts = {}
        for buffer in self.buffers:
            view = given.get(buffer.name)
            if view is None or buffer.name not in with_rows:
                continue
            if buffer.row_bytes is None:
                counts[buffer.name] = view.shape[0] if view.shape else 1
            elif view.bytes % buffer.row_bytes:
                raise ArgumentError(f"`{buffer.name}` has {view.bytes} bytes: rows have {buffer.row_bytes}")
            else:
                counts[buffer.name] = view.bytes // buffer.row_bytes
        if len(set(counts.values())) > 1:
            raise ArgumentError(f"arrays have different numbers of rows: {counts}")
        if not counts:
            raise ArgumentError("no array has rows: give one with two dimensions")
        return next(iter(counts.values()))

    def _row_bytes(self, buffer, elements):
        size = ctypes.sizeof(_TYPES[buffer.type][0])
        if buffer.row_bytes is not None:
            return buffer.row_bytes
        elements = 1 if elements is None else elements
        if not isinstance(elements, int) or elements < 1:
            raise ArgumentError(f"a row of {elements!r} elements: give a whole number of at least 1")
        return elements * size

    def _job_values(self, job):
        if not self.job:
            return None
        return _filled(self._job_struct, self.job, job, "job")

    def _data(self, data, rows):
        """The table of buffers that are the same for all indices; an absent one is a number of zero bytes."""
        if not self.buffers:
            return _Data(None, [])
        table, keep = (Data * len(self.buffers))(), []
        for entry, buffer in zip(table, self.buffers):
            if buffer.name in rows:
                continue
            array = data.get(buffer.name)
            if array is None:
                raise ArgumentError(f"`{buffer.name}` is missing: an array, or the number of zero bytes of a new one")
            if isinstance(array, int):
                entry.size = array
                continue
            view = array if isinstance(array, View) else View(array)
            _check_elements(buffer, view)
            entry.bytes, entry.size = view.address, view.bytes
            keep.append(view)
        return _Data(ctypes.cast(table, c_void_p), [table, keep])

    def _options(self, options):
        made = TaskOptions()
        chunk, progress = options.get("chunk"), options.get("progress")
        if self.chunk and chunk is None:
            raise ArgumentError(f"kernel {self.name} has values of a launch: give `chunk`, a function of start and count")
        if chunk is not None:
            made.chunk = ChunkFunction(self._chunk_caller(chunk))
        if progress is not None:
            made.progress = ProgressFunction(lambda _, done, total: 1 if progress(done, total) is False else 0)
        made.max_indices = options.get("max_indices", 0)
        made.ring_hits = options.get("ring_hits", 0)
        return made

    def _chunk_caller(self, chunk):
        def call(_user, start, count, values, _data):
            try:
                made = _filled(self._chunk_struct, self.chunk, chunk(start, count), "chunk")
            except Exception:  # reported by ctypes' hook would not end the task
                import traceback

                traceback.print_exc()
                return -1
            ctypes.memmove(values, byref(made), ctypes.sizeof(made))
            return 0

        return call


_Data = namedtuple("_Data", "pointer keep")
_FIRST_RANGE = 1 << 20
_SECONDS = 0.25


def _next_range(length, task):
    """Ranges take about a quarter of a second, so that hits arrive soon and devices stay busy."""
    seconds = max(task.seconds, 1e-4)
    return max(1 << 12, min(1 << 40, int(length * min(8.0, max(0.25, _SECONDS / seconds)))))


class Task:
    """Work under way on a device."""

    def __init__(self, device, keep, options, total):
        self.device, self.total = device, total
        self._keep = keep
        self._given = options
        self.options = byref(options)
        self._place = c_void_p()
        self.place = byref(self._place)
        self._begun = time.monotonic()
        self.seconds = 0.0

    @property
    def handle(self):
        return self._place.value

    def wait(self):
        """Waits for the end in steps, so that a signal such as Ctrl-C is seen; then the work is stopped."""
        pause = 5e-5
        try:
            while not library.mr_task_is_done(self.handle):
                time.sleep(pause)
                pause = min(2 * pause, 0.02)
        except BaseException:
            self.close()
            raise
        self.seconds = time.monotonic() - self._begun
        status = library.mr_task_wait(self.handle)
        if status < 0:
            error = error_of(status, self.device.handle)
            self.close()
            raise error

    def close(self):
        handle, self._place.value = self._place.value, None
        if handle:
            library.mr_task_close(handle)

    def finish(self):
        self.wait()
        self.close()


def _struct(name, fields):
    entries = []
    for field in fields:
        kind = _TYPES[field.type][0]
        entries.append((field.name, kind * field.length if field.is_array else kind))
    return type(name, (ctypes.Structure,), {"_fields_": entries})


def _filled(kind, fields, values, what):
    made = kind()
    unknown = set(values) - {field.name for field in fields}
    if unknown:
        raise ArgumentError(f"no {what} value is named {', '.join(sorted(unknown))}")
    for field in fields:
        if field.name not in values:
            raise ArgumentError(f"the {what} value {field.name} is missing")
        value = values[field.name]
        if not field.is_array:
            setattr(made, field.name, _in_range(field, value))
            continue
        try:
            elements = list(value)
        except TypeError:
            raise ArgumentError(f"{field.name} is {value!r}: give {field.length} values of type {field.type}") from None
        if len(elements) != field.length:
            raise ArgumentError(f"{field.name} has {field.length} elements, not {len(elements)}")
        getattr(made, field.name)[:] = [_in_range(field, element) for element in elements]
    return made


def _in_range(field, value):
    """ctypes would wrap a number that is too large."""
    if field.type in ("f16", "f32", "f64"):
        return _number(field.name, value, float, f"give a number of type {field.type}")
    if field.type == "bool":
        return 1 if value else 0
    value = _number(field.name, value, int, f"give a whole number of type {field.type}")
    bits = 8 * ctypes.sizeof(_TYPES[field.type][0])
    low, high = (0, 1 << bits) if field.type[0] == "u" else (-(1 << (bits - 1)), 1 << (bits - 1))
    if not low <= value < high:
        raise ArgumentError(f"{field.name} is {value}: {field.type} holds {low} to {high - 1}")
    return value


def _number(name, value, kind, accepted):
    """The value as an int or a float. A text is not a number, and a fraction is not an int."""
    try:
        made = kind(value)
        is_right = not isinstance(value, (str, bytes, bytearray)) and (kind is float or made == value)
    except (TypeError, ValueError, OverflowError):
        is_right = False
    if not is_right:
        raise ArgumentError(f"{name} is {value!r}: {accepted}")
    return made


def _check_elements(buffer, view):
    """Arrays of bytes are taken as they are; others must have elements of the kernel's type."""
    kind = view.format.lstrip("@=<>!") if view.format else "B"
    if view.itemsize == 1:
        return
    size = ctypes.sizeof(_TYPES[buffer.type][0])
    if view.itemsize != size or kind not in _SIGNS.get(buffer.type[0], ""):
        raise ArgumentError(f"`{buffer.name}` has elements of type {buffer.type}, the array has {view.format!r}")


def _range_of(start, count):
    start = _number("start", start, int, "give a whole number")
    count = _number("count", count, int, "give a whole number")
    if not 0 <= start < 1 << 64 or not 0 <= count <= (1 << 64) - start:
        raise ArgumentError(f"indices {start} to {start + count} are outside 0 to 2^64")
    return start, count


@contextlib.contextmanager
def _opened(device):
    """A device for a call. One that is given by name is opened for it and closed after it."""
    if isinstance(device, str):
        with Device(device) as opened:
            yield opened
    elif device is None:
        yield default_device()
    elif hasattr(type(device), "handle"):
        yield device
    else:
        raise ArgumentError(f'device is {device!r}: give a Device, or the name of one, such as "cpu" or "cuda:0"')


def _made(buffer, count, row_bytes):
    kind, letter = _TYPES[buffer.type]
    flat = memoryview(bytearray(count * row_bytes))
    if row_bytes % ctypes.sizeof(kind) or count == 0:
        return flat
    elements = row_bytes // ctypes.sizeof(kind)
    return flat.cast(letter) if elements == 1 else flat.cast(letter, (count, elements))


def _reference(values):
    return None if values is None else ctypes.cast(byref(values), c_void_p)
