"""How the tests start Java."""

from __future__ import annotations

from typing import Final

SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Over a few rows the second compiler, and a collector beside, take half of all processor time."""
