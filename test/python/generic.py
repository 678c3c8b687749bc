"""Modules of exported kernels: `probe` searches, `scale` transforms, `squares` generates.

Usage: generic.py DEVICE
"""

import array
import gc
import signal
import struct
import sys
import threading

import numpy as np

import probe
import scale
import squares

name = sys.argv[1]


def raises(call, kind, *words):
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
        return
    raise SystemExit(f"nothing was raised: {words}")


def expected(index, salt, limit, words):
    """The kernel `probe` of test/export/kernels.ts."""
    first = (index * salt & 0xFFFFFFFF) ^ words[index & 255]
    second = (first ^ first >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
    if second ^ second >> 12 >= limit:
        return []
    wide = index * 0x100000001 & 0xFFFFFFFFFFFFFFFF
    return [(index, value, wide, (float(index), -0.5)) for value in range(1 + (index & 1))]


# A search: hits in order, with arrays in them; ranges of any size give the same.
device = probe.Device(name)
words = [(7 * i + 3) % 1000 for i in range(256)]
salt, limit = 0x9E3779B9, 0x00400000
want = [hit for index in range(1000, 60000) for hit in expected(index, salt, limit, words)]
assert len(want) > 20
data = array.array("I", words)
for size in (None, 1000, 7777):
    hits = probe.search(1000, 59000, salt=salt, limit=limit, words=data, device=device, range_size=size)
    assert [tuple(hit) for hit in hits] == want
assert list(probe.search(0, 0, salt=1, limit=1, words=data, device=device)) == []
hit = next(iter(probe.search(1000, 59000, salt=salt, limit=limit, words=data, device=device)))
assert isinstance(hit, probe.Hit) and hit.index == want[0][0] and hit._fields == ("index", "value", "wide", "half")

# An endless search is left; progress is told, and may end it; threads may share the device.
for hit in probe.search(0, 1 << 62, salt=salt, limit=1 << 31, words=data, device=device):
    break
seen = []
list(probe.search(0, 100000, salt=salt, limit=0, words=data, device=device, progress=lambda *n: seen.append(n), range_size=30000))
assert seen and seen[-1] == (100000, 100000) and seen == sorted(seen), seen
raises(
    lambda: list(probe.search(0, 1 << 40, salt=salt, limit=0, words=data, device=device, progress=lambda *_: False)),
    probe.CancelledError,
)
found = []
threads = [
    threading.Thread(target=lambda: found.append(list(probe.search(1000, 59000, salt=salt, limit=limit, words=data, device=device))))
    for _ in range(3)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all([tuple(hit) for hit in hits] == want for hits in found) and len(found) == 3


# Ctrl-C ends a search.
class Alarm(Exception):
    pass


def ring(*_):
    raise Alarm


signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    list(probe.search(0, 1 << 60, salt=salt, limit=0, words=data, device=device, range_size=1 << 50))
    raise SystemExit("the search must be interrupted")
except Alarm:
    pass

# Rows to rows, in a new array or the caller's.
x = np.random.default_rng(7).normal(size=(1000, 2)).astype(np.float32)
factor = np.float32(np.float32(0.75) * 2 + 5)
right = (x[:, 0] + x[:, 1]) * factor + np.arange(1000, dtype=np.float32)
made = scale.transform(x, by=0.75, class_=5, device=scale.Device(name))
assert isinstance(made, memoryview) and made.format == "f" and np.array_equal(np.asarray(made), right)
out = np.zeros(1000, np.float32)
assert scale.transform(x, by=0.75, class_=5, y=out) is out and np.array_equal(out, right)
assert len(scale.transform(np.zeros((0, 2), np.float32), by=1, class_=0)) == 0
flat = struct.pack("4f", 1, 2, 3, 4)
assert np.asarray(scale.transform(memoryview(flat).cast("B").cast("f", (2, 2)), by=0.5, class_=0)).tolist() == [3.0, 8.0]

# Rows of bytes.
rows = squares.generate(3, 1000, add=2, device=squares.Device(name), row=2)
assert rows.shape == (1000, 2)
indices = np.arange(3, 1003, dtype=np.uint64)
assert np.array_equal(np.asarray(rows)[:, 0], (indices * indices + 2).astype(np.uint32))
assert np.array_equal(np.asarray(rows)[:, 1], indices.astype(np.uint32))
into = bytearray(8 * 10)
assert squares.generate(0, 10, add=0, row=2, out=into) is into and struct.unpack("20I", into)[2:4] == (1, 1)

# A device that is given by name is opened for the call, and closed when the iterator is done, left, or never used.
# The devices are counted where the module opens them.
class Counted(probe.Device):
    live = 0

    def __init__(self, name):
        super().__init__(name)
        Counted.live += 1

    def close(self):
        Counted.live -= self._opened is not None
        super().close()


probe._kernel.search.__globals__["Device"] = Counted
by_name = {"salt": salt, "limit": limit, "words": data, "device": name}
assert [tuple(hit) for hit in probe.search(1000, 59000, **by_name)] == want and Counted.live == 0
hits = probe.search(0, 1 << 62, **by_name)
assert next(hits) is not None and Counted.live == 1
hits.close()
assert Counted.live == 0
hits = probe.search(0, 10, **by_name)
del hits
gc.collect()
assert Counted.live == 0
probe._kernel.search.__globals__["Device"] = probe.Device
assert np.array_equal(np.asarray(scale.transform(x, by=0.75, class_=5, device=name)), right)
assert np.array_equal(np.asarray(squares.generate(3, 1000, add=2, device=name, row=2)), np.asarray(rows))
raises(lambda: probe.search(0, 10, salt=1, limit=0, words=data, device="gpu:0"), probe.ArgumentError, "gpu:0")
raises(lambda: probe.search(0, 10, salt=1, limit=0, words=data, device=3), probe.ArgumentError, "device is 3", "Device", '"cpu"')
raises(lambda: scale.transform(x, by=1, class_=0, device=b"cpu"), scale.ArgumentError, "give a Device")
raises(lambda: squares.generate(0, 10, add=0, device="gpu:0"), squares.ArgumentError, "gpu:0")

# Errors.
for wrong in ("x", "12", 2.5, float("nan"), float("inf"), None, [1]):
    raises(lambda: probe.search(0, 10, salt=wrong, limit=0, words=data), probe.ArgumentError, f"salt is {wrong!r}", "u32")
    raises(lambda: probe.search(0, wrong, salt=1, limit=0, words=data), probe.ArgumentError, f"count is {wrong!r}")
for wrong in ("x", "1.5", None, [1]):
    raises(lambda: scale.transform(x, by=wrong, class_=0), scale.ArgumentError, f"by is {wrong!r}", "f32")
for right_too in (12.0, np.uint8(12), np.float32(12), True):
    assert list(probe.search(0, right_too, salt=right_too, limit=0, words=data, device=device)) == []
raises(lambda: probe.search(0, 10, salt=-1, limit=0, words=data, device=device), ValueError, "salt", "-1", "u32")
raises(lambda: probe.search(0, 10, salt=1 << 32, limit=0, words=data, device=device), probe.ArgumentError, "4294967296")
raises(lambda: probe.search(-1, 10, salt=1, limit=0, words=data, device=device), ValueError, "-1")
raises(lambda: list(probe.search(0, 10, salt=1, limit=0, words=None, device=device)), ValueError, "words")
raises(lambda: probe.search(0, 10, salt=1, limit=0, words=array.array("d", [1.0]), device=device), ValueError, "u32", "'d'")
raises(lambda: scale.transform(x.astype(np.float64), by=1, class_=0), ValueError, "f32")
raises(lambda: scale.transform(x[::2], by=1, class_=0), ValueError, "contiguous")
raises(lambda: scale.transform(x, by=1, class_=0, y=np.zeros(3, np.float32)), ValueError, "12 bytes")
raises(lambda: scale.transform(x, by=1, class_=0, y=bytes(4000)), ValueError, "read-only")
raises(lambda: squares.generate(0, 10, add=0, row=0), ValueError, "0")
raises(lambda: probe.Device("gpu:0"), ValueError, "gpu:0")
raises(lambda: probe.Device("cuda:99"), probe.MillraceError, "cuda")
device.close()
raises(lambda: list(probe.search(0, 10, salt=1, limit=0, words=data, device=device)), probe.MillraceError, "closed")
with probe.Device(name) as again:
    assert again.info.kind in ("cpu", "cuda", "opencl") and repr(again).startswith("<Device")
assert any(info.kind == "cpu" for info in probe.devices())
print("ok")
