"""Each line that ends with `# wrong` must be an error of each type checker, and no other line."""

import io

import kafkacomp as kc
from kafkacomp import gzip, record, zstd

gzip.open("file", "r", level=3)  # wrong
gzip.open("file", "rb", encoding="utf-8")  # wrong
gzip.open("file", "wb", max_output_size=3)  # wrong
gzip.open("file", "rw")  # wrong
kc.open("file", "lz4", "rt").read(1).decode()  # wrong
zstd.open("file").write("text")  # wrong
zstd.ZstdFile("file", "r", level=3)  # wrong
zstd.compress("text")  # wrong
kc.compress(b"", None)  # wrong
kc.compress(b"", 3.5)  # wrong
kc.decompress(b"", "zstd", magic="2")  # wrong
kc.scan(3)  # wrong
kc.scan("path", on_error="ignore")  # wrong
kc.scan("path", options=kc.ScanOptions(timestamp_unit="hours"))  # wrong
kc.scan("path", options=kc.ScanOptions(log_format="0.8"))  # wrong
kc.scan("path", format="0.7")  # wrong
kc.scan("path").report.offset  # wrong
kc.write([{"value": b""}], "target")  # wrong
kc.write(kc.scan("path"), io.BytesIO())  # wrong
kc.LogDir("path")["orders"]  # wrong
kc.LogDir(io.BytesIO())  # wrong
builder = record.RecordBatchBuilder(compression_type=None)  # wrong
builder.append(b"value", b"key")  # wrong
builder.append("value")  # wrong
builder.append(b"value", headers={"a": "text"})  # wrong
key: bytes = next(iter(next(record.read_batches(b"")))).key  # wrong
record.Record(b"").offset = 3  # wrong
