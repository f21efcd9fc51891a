"""Private keys for encrypted segments. No repr, message or log contains a key."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkacomp.exceptions import EncryptionKeyError

if TYPE_CHECKING:
    from kafkacomp.tiered.manifest import Encryption

_PEM = b"-----BEGIN "
#: The environment variable with further keys, for Spark executors: a JSON object of key ids and paths of PEM files.
ENVIRONMENT = "KAFKACOMP_ENCRYPTION_KEYS"


@dataclass(frozen=True, repr=False)
class DataKey:
    """The encrypted data key of a segment, and what decrypts it."""

    #: The private key in PEM format.
    private_key: str
    #: The data key, encrypted with the public key.
    wrapped_key: bytes
    #: The additional authenticated data of the segment's chunks.
    aad: bytes


class EncryptionKeys:
    """Private keys by their ids."""

    def __init__(self, keys: Mapping[str, str | bytes | os.PathLike[str]] | None = None) -> None:
        """Read the keys.

        Args:
            keys: For each key id in the plugin's configuration ``encryption.key.pairs``, the path or the content of a
                PEM file.

        Raises:
            EncryptionKeyError: a file cannot be read.
            TypeError: ``keys`` is not a mapping of key ids to paths or contents.
        """
        if keys is not None and not isinstance(keys, Mapping):
            raise TypeError(f"encryption_keys must be a mapping of key ids, not {type(keys).__name__}")
        self._pems = {key_id: _pem(key_id, key) for key_id, key in (keys or {}).items()}

    def __repr__(self) -> str:
        """The ids, without the keys."""
        return f"EncryptionKeys({sorted(self._pems)})"

    def __bool__(self) -> bool:
        """Whether there are any keys."""
        return bool(self._pems)

    def only(self, key_ids: set[str]) -> EncryptionKeys:
        """The keys with these ids."""
        found = EncryptionKeys()
        found._pems = {key_id: pem for key_id, pem in self._pems.items() if key_id in key_ids}
        return found

    def data_key(self, encryption: Encryption, name: str) -> DataKey:
        """The encrypted data key with its private key, for the core; ``name`` is the segment's.

        Raises:
            EncryptionKeyError: the private key is not available.
        """
        pem = self._pems.get(encryption.key_id) or _of_environment(encryption.key_id)
        if pem is None:
            raise EncryptionKeyError(
                f"{name}: encrypted for the key pair {encryption.key_id!r}, whose private key is not available:"
                f" pass encryption_keys={{{encryption.key_id!r}: <path of a PEM file>}}, or on the command line"
                f" --encryption-key {encryption.key_id}=<path of a PEM file>"
            )
        return DataKey(pem, encryption.wrapped_key, encryption.aad)


def _of_environment(key_id: str) -> str | None:
    """Return the path of this key in the environment variable."""
    text = os.environ.get(ENVIRONMENT)
    if text is None:
        return None
    try:
        keys = json.loads(text)
    except (ValueError, RecursionError):
        keys = None
    if not isinstance(keys, dict):
        raise EncryptionKeyError(f"the environment variable {ENVIRONMENT} must be a JSON object of key ids and paths")
    return _pem(key_id, keys[key_id]) if key_id in keys else None


def _pem(key_id: object, key: object) -> str:
    if not isinstance(key_id, str):
        raise TypeError(f"a key id must be a string, not {type(key_id).__name__}")
    if isinstance(key, str | os.PathLike) and not (isinstance(key, str) and key.lstrip().startswith(_PEM.decode())):
        try:
            with open(key, "rb") as file:  # noqa: PTH123 - a path of any kind
                content = file.read(1 << 20)
        except (OSError, ValueError) as error:
            # The message omits the text, which may be a key given by mistake.
            reason = error.strerror if isinstance(error, OSError) else type(error).__name__
            raise EncryptionKeyError(f"the file of the encryption key {key_id!r} cannot be read: {reason}") from None
    elif isinstance(key, bytes | bytearray | memoryview):
        content = bytes(key)
    elif isinstance(key, str):
        content = key.encode("utf-8", "replace")
    else:
        raise TypeError(f"the encryption key {key_id!r} must be a path or the content of a PEM file")
    if not content.lstrip().startswith(_PEM):
        raise EncryptionKeyError(f"the encryption key {key_id!r} is not a PEM file")
    return content.decode("utf-8", "replace")
