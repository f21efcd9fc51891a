"""A false size allocates no more memory than the data that exist: it may claim 2 GiB in a file of a few bytes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory by /proc")

#: What a scan or a codec needs for itself; the sizes claim at least 32 times as much.
MOST_MIB = 64

PREAMBLE = """
import gzip, io, pathlib, struct, sys
from aiokafka.record.util import calc_crc32c
import kafkacomp as kc
from kafkacomp import log, record

folder = pathlib.Path(sys.argv[1])
CLAIM = 2**31 - 1


def peak():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def batch(codec):
    builder = record.RecordBatchBuilder(compression_type=codec, base_offset=0)
    for number in range(100):
        builder.append(b"v" * 50, timestamp=0)
    return bytearray(builder.build())


def sealed(data):
    data[17:21] = calc_crc32c(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)


def with_payload(codec, payload):
    data = batch(codec)[:61] + payload
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    return sealed(data)


def attempt(call):
    try:
        call()
    except (kc.KafkaCompError, ValueError, OSError):
        pass


def use(data, more=0):
    path = folder / "t-0" / f"{0:020}.log"
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.truncate(len(data) + more)
    attempt(lambda: [None for _ in kc.scan(str(path))])
    attempt(lambda: [None for _ in kc.scan(str(path), on_error="skip")])
    attempt(lambda: log.verify_segment(path))
    attempt(lambda: log.repair(path.parent, folder / "out-0"))
    if not more:
        attempt(lambda: [list(each) for each in record.read_batches(data)])


def varint(number):
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes(found) + bytes([number])


#: Payloads whose decompressed size is false.
zstd = b"\\x28\\xb5\\x2f\\xfd\\xa0" + struct.pack("<I", CLAIM) + b"\\x01\\x00\\x00"
snappy = varint(CLAIM) + b"\\x00a"
xerial = b"\\x82SNAPPY\\x00" + struct.pack(">iii", 1, 1, len(snappy)) + snappy
short = bytearray(gzip.compress(b"abc"))
short[-4:] = struct.pack("<I", CLAIM)
# With a content size, which the descriptor announces, and blocks of 4 MiB.
header = b"\\x04\\x22\\x4d\\x18\\x68\\x70" + struct.pack("<Q", CLAIM)
checksum = kc.lz4.get_frame_info(header + b"\\0" * 5).standard_header_checksum
header += bytes([checksum])
lz4 = header + struct.pack("<I", 1 << 31 | 3) + b"abc" + bytes(4)
large = header + struct.pack("<I", 1 << 31 | 4 << 20)
PAYLOADS = {"gzip": [bytes(short)], "snappy": [snappy, xerial], "lz4": [lz4, large], "zstd": [zstd]}

before = peak()
"""

CASES = {
    "record count": "data = batch(codec); data[57:61] = CLAIM.to_bytes(4, 'big'); use(sealed(data))",
    "batch length": """
data = batch(codec)
data[8:12] = CLAIM.to_bytes(4, 'big')
use(bytes(data))
use(bytes(data), CLAIM)
""",
    "last offset delta": "data = batch(codec); data[23:27] = CLAIM.to_bytes(4, 'big'); use(sealed(data))",
    "decompressed size": """
for payload in PAYLOADS.get(codec, [varint(2 * CLAIM) + bytes(9)]):
    use(with_payload(codec, payload))
    if codec != "none":
        module = getattr(kc, codec)
        attempt(lambda: module.decompress(payload))
        attempt(lambda: module.open(io.BytesIO(payload)).read())
""",
}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("case", CASES)
def test_a_false_size_is_not_resident(case: str, codec: str, tmp_path: Path) -> None:
    program = f"{PREAMBLE}\ncodec = {codec!r}\n{CASES[case]}\nprint(peak() - before)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= MOST_MIB, f"{done.stdout.strip()} MiB"
