"""The published vectors of all six encodings, in both precisions, as one sample and as batches.

Usage: vectors.py DATA [BACKEND]
"""

import json
import sys

import numpy as np

import encode

data, backend = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "cpu")
checked = 0
for precision in ("float64", "float32"):
    engine = encode.QdpEngine(0, precision, backend)
    parts, limit = (("re", "im"), 1e-15) if precision == "float64" else (("re_f32", "im_f32"), 1e-6)
    for name in ("amplitude", "angle", "basis", "phase", "iqp_z", "iqp"):
        with open(f"{data}/{name}.json", encoding="utf-8") as file:
            published = json.load(file)
        method = published["encoding"]
        bound = 2e-15 if method == "iqp" and precision == "float64" else limit
        for case in published["single"] + published["batch"]:
            samples = np.array(case["input"], dtype=np.float64)
            if "num_samples" in case:
                samples = samples.reshape(case["num_samples"], case["sample_size"])
            given = [samples, samples.tolist()]
            for each in given:
                states = engine.encode(each, case["num_qubits"], method.upper())
                made = states.numpy() if backend == "cuda" else np.from_dlpack(states)
                want = np.array(case[parts[0]]).ravel() + 1j * np.array(case[parts[1]]).ravel()
                assert made.dtype == ("complex128" if precision == "float64" else "complex64"), made.dtype
                assert made.shape == (max(1, case.get("num_samples", 1)), 1 << case["num_qubits"]), made.shape
                error = np.abs(made.ravel() - want).max()
                assert error <= bound, (precision, name, case["name"], error)
                checked += 1
    engine.close()
print("ok", checked)
