"""Show what a broker does with a record set: store it as it is, change it, or refuse it.

:class:`LogValidator` and :func:`analyze_and_validate_records` are the checks of a current broker, with its
configuration; :class:`BrokerProfile` answers as a broker of a given version, from 0.8.2 on.
"""

from __future__ import annotations

from kafkacomp.broker._profile import BrokerProfile
from kafkacomp.broker._validator import (
    AppendOrigin,
    BrokerCompressionType,
    LogAppendInfo,
    LogValidator,
    RecordValidationStats,
    ValidationResult,
    ValidatorConfig,
    analyze_and_validate_records,
    target_compression_type,
    trim_invalid_bytes,
)
from kafkacomp.exceptions import RecordError

__all__ = [
    "AppendOrigin",
    "BrokerCompressionType",
    "BrokerProfile",
    "LogAppendInfo",
    "LogValidator",
    "RecordError",
    "RecordValidationStats",
    "ValidationResult",
    "ValidatorConfig",
    "analyze_and_validate_records",
    "target_compression_type",
    "trim_invalid_bytes",
]
