# Writes files of 200 samples of 16 qubits for sources.mjs, with other libraries. The data is not compressible.
#   pip install numpy pyarrow polars duckdb && python test/encode/sources.py FOLDER
import os, sys
import duckdb, numpy as np, polars as pl, pyarrow as pa, pyarrow.feather as feather, pyarrow.parquet as pq

folder = sys.argv[1]
at = lambda name: os.path.join(folder, name)
samples, length = 200, 65536
values = np.random.default_rng(1).standard_normal(samples * length)
ends = pa.array(np.arange(0, samples * length + 1, length, dtype=np.int32))
lists = lambda flat: pa.table({"x": pa.ListArray.from_arrays(ends, pa.array(flat))})
table = lists(values)

for codec in ["snappy", "zstd", "none", "gzip", "lz4"]:
    pq.write_table(table, at(f"arrow-{codec}.parquet"), compression=codec)
pq.write_table(table, at("arrow-groups.parquet"), compression="none", row_group_size=8)
pq.write_table(table, at("arrow-v2.parquet"), data_page_version="2.0")
pq.write_table(table, at("arrow-split.parquet"), compression="none", use_dictionary=False, use_byte_stream_split=True)
pq.write_table(lists(np.round(values, 2)), at("arrow-dictionary.parquet"))
pq.write_table(lists(values.astype(np.float32)), at("arrow-f32.parquet"))
frame = pl.from_arrow(table)
for codec in ["zstd", "snappy", "uncompressed"]:
    frame.write_parquet(at(f"polars-{codec}.parquet"), compression=codec)
for codec in ["snappy", "zstd"]:
    duckdb.from_arrow(table).write_parquet(at(f"duck-{codec}.parquet"), compression=codec)
for codec in ["uncompressed", "lz4"]:
    feather.write_feather(table, at(f"{codec}.feather"), compression=codec)
values.tofile(at("raw.f64"))
