"""Servers and folders for ejected projects: a PostgreSQL of its own, on a socket, as nobody."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from postgres_server import running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    """The folder of the socket of a server that lives for the tests; no port is opened."""
    with running() as folder:
        yield folder
