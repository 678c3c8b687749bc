# Files of samples by other people's writers. Run once; the output is checked in:
#   pip install pyarrow==25.0.1 polars==1.44.2 duckdb && python write.py FOLDER
import json, os, sys
import duckdb, polars as pl, pyarrow as pa, pyarrow.feather as feather, pyarrow.parquet as pq

folder = sys.argv[1]
at = lambda name: os.path.join(folder, name)
rows = [[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 0.25, 8.0], [7.0, 0.0, 0.0, 0.001], [-1.0, 1e-3, 2.5, 0.125], [3.0, 0.0, 4.0, 12.0]]
nulls = [None, [1.0, None, 3.0, 4.0], None, [0.5, -0.5, 0.25, 8.0]]
made = {}


def note(name, writer, expect):
    made[name] = {"writer": writer, **expect}


ARROW = f"pyarrow {pa.__version__}"
POLARS = f"polars {pl.__version__}"
DUCK = f"duckdb {duckdb.__version__}"
good = {"rows": rows}
table = lambda data, type: pa.table({"x": pa.array(data, type)})
lists, floats = pa.list_(pa.float64()), pa.list_(pa.float32())
exact = [[float(v) for v in row] for row in [[1, 2, 3, 4], [0.5, -0.5, 0.25, 8]]]


def parquet(name, t, expect=good, **options):
    pq.write_table(t, at(name), **options)
    note(name, ARROW, expect)


parquet("lists.parquet", table(rows, lists), row_group_size=2)
parquet("fixed.parquet", table(rows, pa.list_(pa.float64(), 4)))
parquet("large-lists.parquet", table(rows, pa.large_list(pa.float64())))
parquet("floats.parquet", table(exact, floats), {"rows": exact})
parquet("column.parquet", table([3.0, 1.0, 2.0], pa.float64()), {"rows": [[3.0], [1.0], [2.0]]})
parquet("pages-v2.parquet", table(rows, lists), data_page_version="2.0")
parquet("split.parquet", table(rows, lists), use_dictionary=False, use_byte_stream_split=True)
parquet("plain.parquet", table(rows, lists), use_dictionary=False, compression="none")
for codec in ["gzip", "brotli", "zstd", "lz4"]:
    parquet(f"{codec}.parquet", table(rows, lists), compression=codec)
zeroed = {"rows": [[0.0] * 4, [1.0, 0.0, 3.0, 4.0], [0.0] * 4, [0.5, -0.5, 0.25, 8.0]], "nullAt": {"sample": 0}}
parquet("nulls.parquet", table(nulls, lists), zeroed)
parquet("uneven.parquet", table([[1.0, 2.0], [3.0, 4.0], [5.0]], lists), {"fault": "size", "sample": 2})
parquet("whole.parquet", table([[1, 2]], pa.list_(pa.int64())), {"fault": "dtype"})
parquet("text.parquet", table(["a"], pa.string()), {"fault": "dtype"})
parquet("struct.parquet", table([{"a": 1.0}], pa.struct([("a", pa.float64())])), {"fault": "dtype"})
parquet("deep.parquet", table([[[1.0]]], pa.list_(lists)), {"fault": "dtype"})
parquet("two.parquet", pa.table({"a": rows, "b": rows}), {"fault": "format"})
parquet("empty.parquet", table([], lists), {"fault": "format"})

pl.DataFrame({"x": rows}).write_parquet(at("polars.parquet"), compression="snappy")
note("polars.parquet", POLARS, good)
pl.DataFrame({"x": rows}, schema={"x": pl.Array(pl.Float64, 4)}).write_parquet(at("polars-array.parquet"), compression="lz4")
note("polars-array.parquet", POLARS, good)
duckdb.sql("select * from (values " + ", ".join(f"({json.dumps(r)}::double[])" for r in rows) + ") t(x)").write_parquet(at("duck.parquet"))
note("duck.parquet", DUCK, good)


def arrow(name, t, expect=good, **options):
    with pa.OSFile(at(name), "wb") as file, pa.ipc.new_file(file, t.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(t, max_chunksize=2)
    note(name, ARROW, expect)


arrow("lists.arrow", table(rows, lists))
arrow("fixed.arrow", table(rows, pa.list_(pa.float64(), 4)))
arrow("large-lists.arrow", table(rows, pa.large_list(pa.float64())))
arrow("floats.arrow", table(exact, floats), {"rows": exact})
arrow("nulls.arrow", table(nulls, lists), zeroed)
arrow("lz4.arrow", table(rows, lists), compression="lz4")
arrow("zstd.arrow", table(rows, lists), compression="zstd")
arrow("uneven.arrow", table([[1.0, 2.0], [3.0, 4.0], [5.0]], lists), {"fault": "size", "sample": 2})
arrow("whole.arrow", table([[1, 2]], pa.list_(pa.int64())), {"fault": "dtype"})
arrow("halves.arrow", table([[1.0]], pa.list_(pa.float16())), {"fault": "dtype"})
arrow("deep.arrow", table([[[1.0]]], pa.list_(lists)), {"fault": "dtype"})
arrow("empty.arrow", table([], lists), {"fault": "format"})
feather.write_feather(table(rows, lists), at("default.feather"))
note("default.feather", ARROW, good)
with pa.OSFile(at("stream.arrow"), "wb") as file, pa.ipc.new_stream(file, table(rows, lists).schema) as out:
    out.write_table(table(rows, lists))
note("stream.arrow", ARROW, good)
pl.DataFrame({"x": rows}).write_ipc(at("polars.arrow"))
note("polars.arrow", POLARS, good)

with open(at("files.json"), "w") as file:
    json.dump(made, file, indent=1)
