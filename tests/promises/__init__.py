"""Random damage to logs whose truth is known, and what every door must keep of it."""

import sys
from pathlib import Path

# The modules of the model are programs too, and import one another by name.
sys.path.append(str(Path(__file__).resolve().parents[1] / "map_model"))
