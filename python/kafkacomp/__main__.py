"""``python -m kafkacomp``."""

from __future__ import annotations

import sys

from kafkacomp._cli import main

if __name__ == "__main__":
    sys.exit(main())
