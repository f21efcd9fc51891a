"""The reference of exceptions by Kafka's error codes, from the classes."""

from __future__ import annotations

import inspect

from kafkacomp import exceptions


def _row(cls: type[exceptions.KafkaCompError]) -> str:
    code = "" if cls.error_code is None else str(cls.error_code)
    bases = ", ".join(f"`{base.__name__}`" for base in cls.__bases__)
    summary = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0]
    link = f"[`{cls.__name__}`][kafkacomp.exceptions.{cls.__name__}]"
    return f"| {code} | {link} | {bases} | {summary} |"


def page() -> str:
    """A row for each exception, those with an error code first."""
    classes = [
        cls
        for name in exceptions.__all__
        if inspect.isclass(cls := getattr(exceptions, name)) and issubclass(cls, exceptions.KafkaCompError)
    ]
    classes.sort(key=lambda cls: (cls.error_code is None, cls.error_code or 0, cls.__name__))
    lines = [
        "# Errors",
        "",
        "`error_code` of an exception is the code of Kafka's protocol (`org.apache.kafka.common.protocol.Errors`),",
        "or `None` if Kafka has no code for it. The command line shows the message; its",
        "[exit status](../command-line.md) does not depend on the code.",
        "",
        '<div class="names" markdown>',
        "",
        "| Code | Exception | Bases | Raised for |",
        "|---|---|---|---|",
        *map(_row, classes),
        "",
        "</div>",
        "",
        "Every exception can have `position` (the byte at which the corrupt batch, message or frame begins),",
        "`segment` (the file) and `row` (the row of an Arrow column).",
        "",
    ]
    return "\n".join(lines)
