#!/bin/sh
# Install the wheel of a folder with what the tests below need, and run them: tools/test_wheel.sh DIST
set -eu
wheel=$(ls "$1"/kafkacomp-*.whl)
python -m pip install --only-binary :all: -r requirements/wheel.in "$wheel[arrow,cli,remote]"
python tools/count_records.py tests/vectors
python -m pytest -m "not java and not slow" tests/test_message_set.py tests/test_read_batches.py tests/test_record_builder.py \
    tests/test_validator.py tests/test_write.py
