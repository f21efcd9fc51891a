"""The decoders of ``kafkacomp dump`` for internal topics."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kafkacomp._cli.common import together
from kafkacomp._kafkacomp import internal_dump_line, internal_json

if TYPE_CHECKING:
    from kafkacomp.record import Record

#: The names of kafka-dump-log, and the topic of each decoder.
_DECODERS = {
    "--offsets-decoder": "__consumer_offsets",
    "--transaction-log-decoder": "__transaction_state",
    "--cluster-metadata-decoder": "__cluster_metadata",
    "--remote-log-metadata-decoder": "__remote_log_metadata",
    "--share-group-state-decoder": "__share_group_state",
}
#: The fields of a record that a decoder replaces.
_RAW = ("key", "keyBase64", "payload", "payloadBase64")


@dataclass(frozen=True)
class Decoder:
    """Decodes keys and values of an internal topic."""

    topic: str
    show_secrets: bool
    #: Whether rows are for the lines of kafka-dump-log.
    is_kafka: bool

    def row(self, row: dict[str, Any], record: Record) -> dict[str, Any]:
        """Replace the bytes of a record that is not a control record by what they mean."""
        shown = {name: value for name, value in row.items() if name not in _RAW}
        if self.is_kafka:
            key, payload = internal_dump_line(self.topic, record.offset, record.key, record.value, self.show_secrets)
            return shown | {"key": key, "payload": payload}
        text = internal_json(
            self.topic,
            record.offset,
            record.timestamp,
            record.key,
            record.value,
            is_control=False,
            show_secrets=self.show_secrets,
        )
        decoded = json.loads(text)
        return shown | {name: value for name, value in decoded.items() if name not in {"offset", "timestamp"}}


decoder_options = together(
    *(
        click.option(option, "decoder", flag_value=topic, help=f"Decode keys and values as records of {topic}.")
        for option, topic in _DECODERS.items()
    ),
    click.option(
        "--show-secrets", is_flag=True, help="With a decoder, show SCRAM keys, delegation tokens and secret configs."
    ),
)
