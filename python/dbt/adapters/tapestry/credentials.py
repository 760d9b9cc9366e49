"""The settings in profiles.yml under `type: tapestry`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.spark.connections import SparkConnectionMethod, SparkCredentials
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.answer_settings import ANSI
from tapestry.errors import TapestryError
from tapestry.runs.engine.instants import parse_length

EMBEDDED_HOST = "embedded"


@dataclass
class TapestryCredentials(SparkCredentials):
    """dbt-spark's settings, `master`, and defaults that make `method: session` enough.

    `project_root` and `log_path` are no settings: the connection manager fills them in, because
    dbt opens connections with the credentials alone. `left_alone` are the server-side parameters
    that the profile gives as null: they stay as the server has them.
    """

    method: SparkConnectionMethod = SparkConnectionMethod.SESSION
    master: str | None = None
    keep_warm: str | None = None
    """Keep Spark for the next `dbt run`, until it was left alone for so long: `10 minutes`."""
    poll_interval: float = 0.2  # type: ignore[assignment]
    """Seconds between questions to a Thrift server whether a statement is done.

    dbt-spark's 5 are for large tables; a run of a continuous model makes dozens of small ones.
    """
    open_timeout: float = 120.0
    """Seconds that a server may take to open a session: one that is silent holds no run for ever.

    A Spark Connect server that is gone in the middle of a run is asked again for as long.
    """
    query_retries: int = 0
    """The number of times that a statement is sent again after its connection was lost.

    The one retry of dbt-spark may repeat what the server has done already (INSERT).
    """
    # Any, so that numbers and true/false need no quotes in YAML; Spark gets text.
    server_side_parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        data = super().__pre_deserialize__(data)
        if data.get("method", "session") == "session":
            data.setdefault("host", EMBEDDED_HOST)
        return data

    def __post_init__(self) -> None:
        if self.host is None and self.method == SparkConnectionMethod.SESSION:
            self.host = EMBEDDED_HOST
        # dbt-spark forces ANSI mode off, even against the profile; here the profile wins.
        given = {ANSI: "false", **(self.server_side_parameters or {})}
        super().__post_init__()
        self.server_side_parameters = {
            str(key): str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in given.items()
            if value is not None
        }
        self.left_alone = frozenset(str(key) for key, value in given.items() if value is None)
        self.project_root: str | None = None
        self.log_path: str | None = None

    @property
    def warm_seconds(self) -> float | None:
        """`keep_warm` in seconds; raises DbtRuntimeError where it is no length of time."""
        given: Any = self.keep_warm
        if given is None or given is False:
            return None
        try:
            return parse_length(given, "keep_warm").total_seconds() or None
        except TapestryError as error:
            raise DbtRuntimeError(str(error)) from error

    @property
    def type(self) -> str:
        return "tapestry"

    @property
    def connect(self) -> bool:
        """True where the session is one of a Spark Connect server."""
        return self.embedded and (self.master or "").startswith("sc://")

    @property
    def embedded(self) -> bool:
        """True where this process holds the Spark driver."""
        return self.method == SparkConnectionMethod.SESSION

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """Yield what `dbt debug` shows and, with aliases, what macros have as `target`.

        Packages ask for `target.database`: it is there, and None, as Spark has no databases.
        """
        if with_aliases:
            yield "database", None
        yield from super().connection_info(with_aliases=with_aliases)

    def _connection_keys(self) -> tuple[str, ...]:
        if self.embedded:
            return "method", "master", "keep_warm", "schema"
        return "method", *super()._connection_keys()
