"""`ExpectEnough` and `ExpectNotTooMuch`: the verification as expectations of Great Expectations.

Importing this module loads Great Expectations (seconds); no run of a model does. They can be run on
any Spark dataframe with a model's select list and ``_matched_at``, by hand:

    batch.validate(ExpectEnough(
        query="select m.id from demo.messages m where now() > m.ts + interval 28 days",
        arrivals={"demo.messages": "ts"}, t="2026-03-01 12:00:00"))
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, ClassVar
from uuid import uuid4

from great_expectations.expectations.expectation import BatchExpectation

from tapestry.errors import ConfigurationError
from tapestry.names import MATCHED_AT
from tapestry.runs.checks.checks import CheckResult
from tapestry.runs.engine.instants import parse_instant
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.audit_rows import audit_rows
from tapestry.runs.kinds.continuous.config import KEYS
from tapestry.runs.model.model import Model, ModelConfig
from tapestry.runs.query.relations import plain
from tapestry.verification.check import ENOUGH, NOT_TOO_MUCH


class _Spark(Session):
    """The session protocol over the dataframe's own session."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def run(self, sql: str) -> None:
        self.spark.sql(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(sql).collect()]


class _Verification(BatchExpectation):
    """The common part of both expectations.

    query
        The author's SELECT, over Delta tables and views by their names.
    arrivals
        Table -> arrival column, or ``static``. t: up to which instant (now where none is given).
    level
        full or sample; ``share`` is the part of the history that a sample looks at.
    """

    query: str
    arrivals: dict[str, str]
    t: str | None = None
    begin: str | None = None
    level: str = "full"
    share: float = 1.0

    kind: ClassVar[str] = ""
    domain_keys: ClassVar[tuple[str, ...]] = (
        *("batch_id", "query", "arrivals", "t", "begin", "level", "share"),
    )
    success_keys: ClassVar[tuple[str, ...]] = (
        *("query", "arrivals", "t", "begin", "level", "share"),
    )

    def _validate(
        self, metrics: Any, runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        frame = getattr(execution_engine.batch_manager.active_batch_data, "dataframe", None)
        if frame is None:
            raise ConfigurationError(
                "verification needs a Spark dataframe",
                hint="make the batch with context.data_sources.add_spark(...)",
            )
        results = _results(frame, self.query, self.arrivals, self.t, self.begin, self)
        (result,) = (one for one in results if one.kind == type(self).kind)
        return {"success": result.status == "pass", "result": _as_result(result)}


class ExpectEnough(_Verification):
    """Every answer of the query, at every instant up to t, stands in the rows."""

    kind: ClassVar[str] = ENOUGH


class ExpectNotTooMuch(_Verification):
    """Every row is an answer that begins at its ``_matched_at``, and stands there once."""

    kind: ClassVar[str] = NOT_TOO_MUCH


def _results(
    frame: Any,
    query: str,
    arrivals: dict[str, str],
    t: str | None,
    begin: str | None,
    how: _Verification,
) -> list[CheckResult]:
    if MATCHED_AT not in frame.columns:
        raise ConfigurationError(
            f"the rows have no column {MATCHED_AT}", hint="validate the table of a continuous model"
        )
    spark, name = frame.sparkSession, f"verified_{uuid4().hex}"
    session = _Spark(spark)
    zone = str(session.rows("select current_timezone()")[0][0])
    config = ModelConfig.parse({"begin": begin, "verify_share": how.share}, KEYS)
    known = {plain(table): (said,) for table, said in arrivals.items()}
    model = Model("the query", name, query, config, known)
    end = datetime.now(timezone.utc) if t is None else parse_instant(t, "t")
    frame.createOrReplaceTempView(name)
    try:
        return audit_rows(session, name, model, end, how.level, zone)
    finally:
        spark.catalog.dropTempView(name)


def _as_result(result: CheckResult) -> dict[str, Any]:
    return {
        "element_count": result.checked_rows,
        "unexpected_count": result.violations,
        "partial_unexpected_list": [one["row"] for one in result.details.get("rows", ())],
        "observed_value": result.violations,
        "details": dict(result.details),
    }
