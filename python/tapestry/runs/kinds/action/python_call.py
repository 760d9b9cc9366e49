"""Calls a function in Python with the rows of one batch, and writes the rows that it returns.

    call     in a thread with a deadline, in a session of its own: settings and names that the
             function makes there are private, and its own writes are not the batch's write
    stage    the returned rows are computed once, and kept by Spark until they are written
    write    one statement under the batch's transaction (``returned_rows``)

A batch may be executed again after a kill. If its statement has landed, the function is not even
called, as it would see its own writes. Else it is called with the same idempotency key; should
another process be faster meanwhile, the statement is skipped by Delta.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tapestry.errors import ActionFailed, ConfigurationError, TapestryError, TargetChanged
from tapestry.quoting import Sql, relation_name
from tapestry.runs.engine.own_tables import in_schema_of
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import ActionConfig, config_of
from tapestry.runs.kinds.action.current_batch import CURRENT, CurrentBatch
from tapestry.runs.kinds.action.landing import Landing
from tapestry.runs.kinds.action.python_text import is_python, named_relations, returned_to
from tapestry.runs.kinds.action.returned_rows import ReturnedTable
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.kinds.action.statement import (
    ActionStatement,
    bound_names,
    bound_rows,
    statements_in,
    written_tables,
)
from tapestry.runs.kinds.action.waves import rows_of_wave
from tapestry.runs.kinds.action.within import stopped_after, within
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import new_view
from tapestry.runs.query.relations import in_session, plain
from tapestry.runs.tables.action_batch import ActionBatch
from tapestry.runs.tables.target import look, newest_commits
from tapestry.words import without_stack

LONGEST_MESSAGE = 1_000
LOOK_BACK = 1_000


@dataclass(frozen=True)
class FunctionCall:
    """A call of an action's function with the rows of one batch.

    said
        By name: what the batch says of itself (``said_of``).
    wave
        The batches with whose rows it is called; (): with those of the one.
    """

    model: Model
    rules: Sequence[RuleRead]
    batch: ActionBatch
    said: Mapping[str, str | None]
    wave: Sequence[ActionBatch] = ()

    @property
    def config(self) -> ActionConfig:
        """The keys that its author has written."""
        return config_of(self.model.config.own)

    def execute(
        self,
        how: Landing,
        apart: Callable[[], AbstractContextManager[Session]],
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Call the function and write what it returns, as ``how`` says.

        ``apart`` opens a session of its own.

        ``ready`` is called before they are written.

        Raises ActionFailed, with the line, where the function raises or returns what cannot be
        written; ActionTimedOut where it is not done in time.
        """
        tables = returned_to(self.model, self.config.writes)
        with apart() as own:
            if self.batch.again and any(has_landed(own, table, how.run_id) for table in tables):
                return
            spark = self.spark_of(own)
            reads = self.read_texts(own)
            view = Sql(new_view())

            def work() -> list[tuple[str, str]] | None:
                return self.stage_rows(spark, self.call(spark, reads), view)

            columns = within(self.config.timeout, work, own)
            if columns is None:
                return
            if len(tables) != 1:
                raise ActionFailed(
                    "the function has returned rows, and writes: does not name the one table that"
                    " takes them",
                    where=self.model.file,
                    hint="name it: dbt.config(writes='…'); or return None",
                )
            try:
                rows = ReturnedTable(
                    self.model.file, view, tuple(columns), tables[0], self.config.merge_on
                )
                statement = rows.statement(own)
                ready()
                for key, value in how.settings.items():
                    spark.conf.set(key, value)
                with stopped_after(self.config.timeout, own):
                    own.run(statement)
            finally:
                spark.catalog.dropTempView(view.strip("`"))

    def spark_of(self, own: Session) -> Any:
        """Return the session as the function is to see it.

        Raises ConfigurationError where the connection takes SQL only.
        """
        frame = own.can.frame
        if frame is None:
            raise ConfigurationError(
                "an action in Python needs a session of Spark, and this connection takes SQL only",
                where=self.model.file,
                hint="run it with method: session (embedded, master: spark://… or sc://…), or write"
                " it in SQL",
            )
        return frame("SELECT 1").sparkSession

    def read_texts(self, own: Session) -> dict[str, Sql]:
        """Return, by relation that the function names, a SELECT of the rows it sees there.

        For a rule these are the rows of the batch; any other table is read as it stands now.
        """
        found: dict[str, Sql] = {}
        bound = {in_session(plain(rule.relation)): rule for rule in self.rules}
        for relation in map(plain, named_relations(self.model.sql).values()):
            rule = bound.get(in_session(relation))
            if rule is None:
                found[relation] = pinned(own, relation)
            else:
                first = next(iter(rule.bound))
                found[relation] = self.rows_bound([rule], first)
        return found

    def rows_bound(self, rules: Sequence[RuleRead], name: str) -> Sql:
        """Return a SELECT of the rows that the function is called with, of rules under a name."""
        if self.wave:
            return rows_of_wave(self.wave, rules, self.config, name)
        return bound_rows(self.batch, rules, self.config, name)

    def call(self, spark: Any, reads: Mapping[str, Sql]) -> Any:
        """Call the function and return its result."""
        names = bound_names(self.rules)

        def bound(name: str) -> Any:
            known = {one.lower(): one for one in names}
            if name.lower() not in known:
                raise ConfigurationError(
                    f"no rule of {self.model.name} binds {name}",
                    where=self.model.file,
                    hint=f"there is {', '.join(names)}",
                )
            return spark.sql(self.rows_bound(self.rules, known[name.lower()]))

        def load(relation: str) -> Any:
            return spark.sql(reads[plain(relation)])

        told = {name.lower(): value for name, value in self.said.items()}
        key = {name: told.get(f"key.{name.lower()}") for name in self.config.unique_on}
        if self.batch.key is None:  # it is of several batches
            key = {}
        CURRENT.set(
            CurrentBatch(
                key, str(told["idempotency_key"]), self.batch.event.attempt,
                self.batch.release, bound,
            )
        )  # fmt: skip
        space: dict[str, Any] = {"spark": spark, "__name__": "__dbt_model__"}
        try:
            exec(compile(self.model.sql, self.model.file, "exec"), space)
            return space["model"](space["dbtObj"](load), spark)
        except Exception as error:
            raise self.raised(error) from error

    def stage_rows(self, spark: Any, returned: Any, view: Sql) -> list[tuple[str, str]] | None:
        """Compute the returned rows; return the columns of the view that has them.

        None where there is nothing to be written.
        """
        frame = self.as_frame(spark, returned)
        if frame is None:
            return None
        try:
            kept = frame.localCheckpoint(True)
        except Exception as error:
            raise self.raised(error) from error
        if not kept.take(1):
            return None
        kept.createOrReplaceTempView(view.strip("`"))
        if not spark.catalog.tableExists(view.strip("`")):
            raise ActionFailed(
                "the function has returned a DataFrame of another Spark session than its own",
                where=self.model.file,
                hint="use the session that it is given, and the DataFrames of dbt.ref",
            )
        return [(str(name), str(kind)) for name, kind in kept.dtypes]

    def as_frame(self, spark: Any, returned: Any) -> Any:
        """Return the function's result as a DataFrame of Spark; None where that is None.

        Raises ActionFailed for anything else.
        """
        if returned is None or hasattr(returned, "localCheckpoint"):
            return returned
        if hasattr(returned, "to_spark"):
            return returned.to_spark()
        kind = type(returned)
        if (kind.__module__.split(".")[0], kind.__name__) == ("pandas", "DataFrame"):
            return spark.createDataFrame(returned) if len(returned) else None
        raise ActionFailed(
            f"the function has returned {kind.__name__}, which is no DataFrame",
            where=self.model.file,
            hint="return a DataFrame, whose rows go into the table that writes: names, or None",
        )

    def raised(self, error: Exception) -> TapestryError:
        """Return an error that the function has raised as one of ours, with its line."""
        if isinstance(error, TapestryError):
            return error
        line = _line_in(error.__traceback__, self.model.file)
        if isinstance(error, SyntaxError) and error.filename == self.model.file:
            line = error.lineno or 0
        message = without_stack(str(error))[:LONGEST_MESSAGE]
        where = f"{self.model.file}, line {line}" if line else self.model.file
        return ActionFailed(
            f"{type(error).__name__}: {message}",
            where=where,
            hint="correct the function, or what it asks; the next attempt calls it anew",
        )


def _line_in(raised: TracebackType | None, file: str) -> int:
    """Return the line of a file that was executed last; 0: none was."""
    lines = [one.lineno or 0 for one in traceback.extract_tb(raised) if one.filename == file]
    return lines[-1] if lines else 0


def has_landed(session: Session, table: str, run_id: str) -> bool:
    """Does one of the newest commits of a table say that it is the write of a batch?"""
    return any(one.run_id == run_id for one in newest_commits(session, table, LOOK_BACK))


def pinned(session: Session, relation: str) -> Sql:
    """Return a SELECT of a table pinned at its present version; a view is not pinned."""
    try:
        seen = look(session, relation)
    except TargetChanged:
        seen = None  # of another format: it has no versions
    every = f"SELECT * FROM {relation_name(relation)}"
    if seen is None:
        return Sql(every)
    version = seen.version
    if version is None:
        version = newest_commits(session, relation)[0].version
    return Sql(f"{every} VERSION AS OF {version:d}")


def targets_of(model: Model) -> tuple[str, ...]:
    """Return the relations that an action writes, as far as they can be told."""
    said = config_of(model.config.own).writes
    if is_python(model):
        return returned_to(model, said)
    named = (plain(name if "." in name else in_schema_of(model.relation, name)) for name in said)
    return tuple(named) or written_tables(model.sql)


def parts_of(model: Model) -> tuple[ActionStatement, ...]:
    """Return the statements of an action; none of one in Python."""
    return () if is_python(model) else statements_in(model.sql, model.file)
