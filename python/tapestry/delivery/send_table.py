"""Appends a batch to another Delta table, once: its transaction is (life of the sink, m)."""

from __future__ import annotations

from tapestry.delivery.batch import Delivery
from tapestry.delivery.declare import TableSink
from tapestry.delivery.retry import Refused
from tapestry.quoting import relation_name
from tapestry.runs.engine.column_types import Columns
from tapestry.runs.engine.errors_of_delta import already_exists, lost_race, not_found, odd_names
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.schema_change import holds, types_by_name
from tapestry.runs.tables.target import transaction


def send_table(session: Session, sink: TableSink, delivery: Delivery) -> None:
    """Append the answers; the table and its schema are made where there are none.

    Refused where it does not take them: a column that it lacks, say, or one of a narrower type,
    into which Spark would round.
    """
    batch, answers = delivery.batch, delivery.answers
    table = table_of(sink, answers.relation)
    under = transaction(f"tapestry.delivery.{batch.life}", batch.m)
    inserted = f"INSERT INTO {relation_name(table)} {under} ({answers.names}) {answers.select}"
    try:
        _refuse_narrower(session, table, answers.columns)
        _insert(session, table, answers.names, answers.relation, inserted)
    except Exception as error:
        reason = " ".join(str(error).split("\n\n")[0].split())
        raise Refused(f"{table} did not take the rows: {reason[:300]}") from error


def table_of(sink: TableSink, relation: str) -> str:
    """The sink's table; without a schema in that of the model."""
    schema = relation.rpartition(".")[0]
    return sink.table if "." in sink.table or not schema else f"{schema}.{sink.table}"


def _refuse_narrower(session: Session, table: str, columns: Columns) -> None:
    try:
        there = types_by_name(session, table)
    except Exception as error:
        if not_found(error):
            return
        raise
    for column, kind in columns:
        known = there.get(column.lower(), kind)
        if not holds(known, kind):
            raise ValueError(f"its {column} is {known}, the model's is {kind}; widen it, or cast")


def _insert(session: Session, table: str, names: str, relation: str, inserted: str) -> None:
    try:
        session.run(inserted)
    except Exception as error:
        if lost_race(error):
            session.run(inserted)  # appends do not conflict: another delivery of this batch landed
            return
        if not not_found(error):
            raise
        _create(session, table, names, relation)
        session.run(inserted)


def _create(session: Session, table: str, names: str, relation: str) -> None:
    """The table, and its schema where there is none: as dbt does for a model.

    Names that Parquet does not take are mapped, as they are in the model's own table.
    """
    begun = f"CREATE TABLE IF NOT EXISTS {relation_name(table)} USING delta"
    rows = f" AS SELECT {names} FROM {relation_name(relation)} WHERE false"
    try:
        try:
            _create_in_schema(session, table, begun + rows)
        except Exception as error:
            if not odd_names(error):
                raise
            mapped = f"{begun} TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
            session.run(mapped + rows)
    except Exception as error:
        if not already_exists(error) and not lost_race(error):
            raise


def _create_in_schema(session: Session, table: str, created: str) -> None:
    try:
        session.run(created)
    except Exception as error:
        if not not_found(error):
            raise
        schema = table.rpartition(".")[0]
        session.run(f"CREATE SCHEMA IF NOT EXISTS {relation_name(schema)}")
        session.run(created)
