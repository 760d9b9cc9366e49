"""dbt's connections: the embedded Spark for `method: session`, dbt-spark's for the others."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from typing import Any

from dbt.adapters.contracts.connection import AdapterRequiredConfig, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.tapestry.column_mapping import explained
from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.failures import has_stack, short_message
from dbt.adapters.tapestry.outages import outage, place_of
from dbt.adapters.tapestry.servers import connect, open_elsewhere

logger = AdapterLogger("Tapestry")


class TapestryConnectionManager(SparkConnectionManager):
    """Each thread's connection has a session of its own over one Spark."""

    TYPE = "tapestry"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(profile, mp_context)
        credentials = profile.credentials
        if isinstance(credentials, TapestryCredentials):
            credentials.project_root = getattr(profile, "project_root", None)
            credentials.log_path = getattr(profile, "log_path", None)

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        credentials = connection.credentials
        assert isinstance(credentials, TapestryCredentials)
        if not credentials.embedded:
            return open_elsewhere(connection, super().open)
        if connection.state == ConnectionState.OPEN:
            return connection
        # Here, not above: who talks to a Thrift server needs no pyspark.
        from dbt.adapters.tapestry import embedded
        from dbt.adapters.tapestry.handle import EmbeddedConnection

        if credentials.connect:
            connection.handle = EmbeddedConnection(*connect(credentials))
            connection.state = ConnectionState.OPEN
            return connection
        try:
            spark = embedded.start(
                credentials.server_side_parameters,
                root=credentials.project_root,
                master=credentials.master,
                log_path=credentials.log_path,
                keep_warm=credentials.warm_seconds,
                say=logger.info,
            )
            session = embedded.new_session(
                spark, credentials.server_side_parameters, credentials.left_alone
            )
            connection.handle = EmbeddedConnection(session, embedded.settings_of(session))
        except DbtRuntimeError as error:
            raise FailedToConnectError(error.msg) from error
        connection.state = ConnectionState.OPEN
        return connection

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        """Turn what Spark throws into one short database error; the rest is in the logs."""
        try:
            yield
        except FailedToConnectError:
            raise
        except Exception as error:
            broken = outage(error, self._place())
            if broken is None and not _from_spark(error):
                if isinstance(error, DbtRuntimeError):
                    raise
                with super().exception_handler(sql):
                    raise
            logger.debug(f"Error while running:\n{sql}\n{error}")
            said = str(broken) if broken else explained(short_message(error), sql)
            raise DbtDatabaseError(said) from None

    def _place(self) -> str:
        """Return where this thread's Spark is."""
        credentials = getattr(getattr(self, "profile", None), "credentials", None)
        return place_of(credentials) if isinstance(credentials, TapestryCredentials) else "Spark"

    @classmethod
    def _close_handle(cls, connection: Connection) -> None:
        """Close a handle; an error is only logged: a server that is gone has closed it already."""
        try:
            super()._close_handle(connection)
        except Exception as error:
            logger.debug(f"a connection was not closed: {error}")

    @classmethod
    def get_result_from_cursor(cls, cursor: Any, limit: int | None) -> Any:
        """Collect the rows; Spark executes a SELECT only now: its errors are caught here, too."""
        try:
            return super().get_result_from_cursor(cursor, limit)
        except Exception as error:
            broken = outage(error, "the target's Spark")
            if broken is None and not _from_spark(error):
                raise
            logger.debug(str(error))
            raise DbtDatabaseError(str(broken) if broken else short_message(error)) from None


def _from_spark(error: Exception) -> bool:
    """Return whether an error is Spark's: by its class, or by a Thrift server's stack in it."""
    return type(error).__module__.split(".")[0] in ("pyspark", "py4j") or has_stack(error)
