"""Credentials for ``gs://`` URLs, before pyarrow looks for them.

Without any, pyarrow's library asks the metadata service of Google's virtual machines. It waits for one that takes
requests and never answers for longer than a quarter of an hour, which no option limits. Where there is none, its error
does not say that credentials are missing.
"""

from __future__ import annotations

import os
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

#: The seconds to wait for the metadata service, which answers within milliseconds, and how often to ask it.
_TIMEOUT: Final = 5
_ATTEMPTS: Final = 3


def check_credentials(url: str) -> None:
    """Check that something may give credentials for a ``gs://`` URL.

    Raises:
        OSError: no file has credentials, and the metadata service does not answer; the message says what to do.
    """
    if "@" in url.partition("://")[2].partition("/")[0] or _has_file():
        return
    host = os.environ.get("GCE_METADATA_ROOT") or "metadata.google.internal"
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _ask(host)
        except TimeoutError as error:
            if attempt == _ATTEMPTS:
                raise _missing(url, host, error) from error
        except (OSError, HTTPException, ValueError) as error:
            raise _missing(url, host, error) from error
        else:
            return


def _has_file() -> bool:
    """Whether a file has the application default credentials, where pyarrow's library looks for it."""
    if os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return True  # if it is not there, the library's error names it
    home = os.environ.get("APPDATA") if os.name == "nt" else os.environ.get("HOME")
    folder = "gcloud" if os.name == "nt" else ".config/gcloud"
    given = os.environ.get("GOOGLE_GCLOUD_ADC_PATH_OVERRIDE")
    return bool(given) or (home is not None and Path(home, folder, "application_default_credentials.json").exists())


def _ask(host: str) -> None:
    connection = HTTPConnection(host, timeout=_TIMEOUT)
    try:
        connection.request("GET", "/", headers={"Metadata-Flavor": "Google"})
        connection.getresponse()
    finally:
        connection.close()


def _missing(url: str, host: str, error: Exception) -> OSError:
    return OSError(
        f"{url}: no credentials for GCS: there are no application default credentials, and the metadata service "
        f"{host} does not answer ({error}): run 'gcloud auth application-default login', set "
        "GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, or read a public bucket by gs://anonymous@..."
    )
