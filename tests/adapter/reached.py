"""Sessions of a profile without a project around them: for the tests of the ways to a Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from types import SimpleNamespace
from typing import Any

from dbt.adapters.tapestry.connections import TapestryConnectionManager
from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.session import DbtSession


class Reached:
    """A profile's connections; ``session`` is one in the thread that calls, as a model has it."""

    def __init__(self, **output: Any) -> None:
        data = {"schema": "there", **output}
        TapestryCredentials.validate(data)
        self.credentials = TapestryCredentials.from_dict(data)
        profile: Any = SimpleNamespace(
            credentials=self.credentials, project_root=output.pop("root", None), log_path=None
        )
        self.connections = TapestryConnectionManager(profile, get_context("spawn"))
        self.config = SimpleNamespace(credentials=self.credentials)

    @contextmanager
    def session(self, name: str = "model") -> Iterator[DbtSession]:
        """A session, closed in the end."""
        self.connections.set_connection_name(name)
        try:
            yield DbtSession(self)  # type: ignore[arg-type]
        finally:
            self.connections.release()
