"""Batches, records and what a broker answers."""

import pickle

from kafkacomp import broker, record
from kafkacomp.typing import Headers


def build(headers: Headers) -> bytes:
    builder = record.RecordBatchBuilder(2, "lz4", 9, base_offset=7)
    builder.append(b"value", key=b"key", timestamp=1, headers=headers)
    builder.append(None, headers={"trace": b"1", "none": None})
    builder.append(memoryview(b"value"), headers=[("a", b"1"), ("a", None)])
    return builder.build()


def read(data: bytes) -> list[tuple[int, bytes | None, bytes | None]]:
    found: list[tuple[int, bytes | None, bytes | None]] = []
    for batch in record.read_batches(data):
        kind: int = batch.compression_type
        columns = batch.columns()
        found += zip(columns.offsets, columns.keys, columns.values, strict=True)
        for each in batch:
            names: list[str] = [name for name, _ in each.headers]
            again: record.Record = pickle.loads(pickle.dumps(each))
            print(kind, names, each == again, {each})
    return found


def answer(data: bytes) -> bytes | None:
    profile = broker.BrokerProfile("2.8")
    try:
        return profile.append(data, compression_type="zstd")
    except Exception as error:
        print(getattr(error, "error_code", None))
        return None
