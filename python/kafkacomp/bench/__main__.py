"""``python -m kafkacomp.bench``."""

from __future__ import annotations

import sys

from kafkacomp.bench import main

if __name__ == "__main__":
    sys.exit(main())
