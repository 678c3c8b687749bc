"""A program with types, for mypy: what the stubs promise is what a user writes."""

from pathlib import Path
from typing import List, Tuple

import encode


def encoded(path: Path) -> List[encode.States]:
    with encode.QdpEngine(0, "float64", "cpu") as engine:
        made = [engine.encode([3.0, 4.0], 1), engine.encode([[1.0], [2.0]], 2, "basis"), engine.encode(path, 4)]
        pending: encode.Pending = engine.encode_batch_submit([1.0, 2.0], 1)
        made.append(pending.get())
        scope = engine.coalesce(2, 1)
        with scope:
            scope.submit([1.0, 2.0])
        states, boundaries = scope.get_result()
        first: Tuple[int, int] = boundaries[0]
        made.append(states.part(*first))
        made.extend(engine.encode_stream([[1.0, 2.0]], 1, in_flight=2))
        made.append(engine.encode_async([1.0, 2.0], 1).get())
        rows = engine.alloc_input(2, 4)
        shape: Tuple[int, int] = made[0].shape
        assert rows.nbytes >= shape[0]
        return made


def loaded() -> int:
    loader = encode.QuantumDataLoader(num_qubits=4).encoding("angle").batches(3, 8).seed(1).source_synthetic()
    rate: float = encode.QdpBenchmark().qubits(4).batches(2, 2).run_throughput().vectors_per_sec
    estimate: int = encode.estimate_memory("angle", 4, 8).total_bytes
    return sum(len(states) for states in loader) + int(rate) + estimate


def failed(error: encode.InvalidInputError) -> Tuple[str, int]:
    return error.category, -1 if error.sample is None else error.sample
