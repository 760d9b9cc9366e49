"""Delta tables without Spark: names, logs, transactions and conflicts, kept in memory.

As much of them as the statements of a run depend on. What Spark and Delta do with each form of
statement is compared with this by tests/spark/test_fake_delta_contract.py; what they do when two
writers meet between reading and committing is written here as Delta's documentation has it, for
no test on Spark can make two writers meet at will.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

Row = dict[str, Any]
Kinds = dict[str, str]
META = ("CREATE OR REPLACE TABLE AS SELECT", "SET TBLPROPERTIES", "ADD COLUMNS", "RESTORE", "CLONE")
"""Operations that change a table's metadata: whoever began before one of them has to begin anew."""
REMOVING = ("UPDATE", "DELETE", "OPTIMIZE", "RESTORE", "TRUNCATE")
"""Operations that remove files: what read those files meanwhile conflicts."""


class FakeError(Exception):
    """An error of the engine; its text begins with the class of the error, as Spark's does."""


class BrokenError(FakeError):
    """A statement that fails over its rows."""


@dataclass(frozen=True)
class FakeCommit:
    """One commit, with the table as it is after it."""

    version: int
    at: int
    operation: str
    rows: tuple[Row, ...]
    columns: Kinds
    properties: Mapping[str, str]
    table_id: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    app: str = ""
    number: int = -1

    def described(self) -> tuple[Any, ...]:
        """A line of DESCRIBE HISTORY, as wide as Delta's; what no run reads is None."""
        told = [self.version, self.at, None, None, self.operation, dict(self.parameters)]
        return (*told, *[None] * 6, dict(self.metrics), self.note, "fake")


@dataclass
class FakeTable:
    """A folder with a log.

    kept
        The oldest version that the log still tells of.
    """

    folder: str
    commits: list[FakeCommit] = field(default_factory=list)
    kept: int = 0

    @property
    def newest(self) -> FakeCommit:
        """The last commit."""
        return self.commits[-1]

    def landed(self, app: str) -> int:
        """The greatest number of a transaction of this application; -1: none has landed."""
        return max((one.number for one in self.commits if one.app == app), default=-1)

    def told(self) -> list[FakeCommit]:
        """The commits that the log tells of, newest first."""
        return [one for one in reversed(self.commits) if one.version >= self.kept]


@dataclass
class FakeDelta:
    """A catalog and the folders of its tables; several sessions may share it.

    meanwhile
        Called once, between the reading and the commit of the next statement that writes: what
        another writer does at that moment.
    """

    tables: dict[str, FakeTable] = field(default_factory=dict)
    folders: dict[str, FakeTable] = field(default_factory=dict)
    views: set[str] = field(default_factory=set)
    meanwhile: Callable[[], object] | None = None
    _clock: Any = field(default_factory=lambda: count(1_000))

    def copy(self) -> FakeDelta:
        """The same tables once more; what happens to them does not happen to these."""
        copies = {id(t): replace(t, commits=[*t.commits]) for t in self._all()}
        tables = {name: copies[id(table)] for name, table in self.tables.items()}
        folders = {name: copies[id(table)] for name, table in self.folders.items()}
        return FakeDelta(tables, folders, {*self.views}, _clock=count(next(self._clock)))

    def _all(self) -> list[FakeTable]:
        return [*self.tables.values(), *self.folders.values()]

    def gone(self, name: str) -> bool:
        """Does the catalog know a table whose folder somebody deleted?"""
        return name in self.tables and self.tables[name].folder not in self.folders

    def table(self, name: str) -> FakeTable:
        """A table by its name, or by its folder; raises what Spark raises where there is none."""
        if name in self.views:
            raise FakeError(f"[EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE] {name} is a view")
        if name in self.folders:
            return self.folders[name]
        found = self.tables.get(name)
        if found is None:
            raise FakeError(f"[TABLE_OR_VIEW_NOT_FOUND] {name}")
        if self.gone(name):
            raise FakeError(f"[DELTA_PATH_DOES_NOT_EXIST] {found.folder} doesn't exist")
        return found

    def write(
        self, name: str, operation: str, new: Callable[[FakeCommit], FakeCommit], app: str = ""
    ) -> None:
        """A commit on the table: of what ``new`` makes of the newest one, if nobody intervenes."""
        table = self.table(name)
        base = table.newest
        wanted = new(base)
        if app and table.landed(app) >= wanted.number:
            return  # Delta skips a transaction that has landed, and does not say so
        self._let_others()
        if self.tables.get(name, table) is not table:
            raise FakeError(f"[DELTA_METADATA_CHANGED] {name} is another table by now")
        for other in table.commits[base.version + 1 :]:
            self._refuse_conflict(wanted, other)
        if table.newest is not base:
            wanted = new(table.newest)
        number = wanted.number if app else -1
        self._append(table, replace(wanted, operation=operation, app=app, number=number))

    def create(
        self, name: str, columns: Kinds, rows: Sequence[Row], properties: Mapping[str, str]
    ) -> None:
        """CREATE TABLE … AS: a table that was not there."""
        folder = self._folder_of(name)
        self._let_others()
        self._refuse_taken(name, folder)
        if folder in self.folders:
            raise FakeError(
                "[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] Cannot create table: the location"
                f" ('{folder}') is not empty and also not a Delta table"
            )
        self._create(name, folder, "CREATE TABLE AS SELECT", _made(columns, rows, properties))

    def replace(
        self, name: str, columns: Kinds, rows: Sequence[Row], properties: Mapping[str, str]
    ) -> None:
        """CREATE OR REPLACE TABLE … AS: another id, content and properties; its log and its
        transactions stay."""
        folder = self._folder_of(name)
        known = self.folders.get(folder)
        base = -1 if known is None else known.newest.version
        self._let_others()
        now = self.folders.get(folder)
        if now is not None and now.newest.version != base:
            raise FakeError("[DELTA_METADATA_CHANGED] the table was changed meanwhile")
        operation = "CREATE OR REPLACE TABLE AS SELECT"
        self._create(name, folder, operation, _made(columns, rows, properties))

    def create_empty(self, name: str, columns: Kinds, properties: Mapping[str, str]) -> None:
        """CREATE TABLE IF NOT EXISTS."""
        folder = self._folder_of(name)
        if name in self.tables:
            return
        self._let_others()
        self._refuse_taken(name, folder)
        if folder in self.folders:
            raise FakeError(
                f"[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] the location ('{folder}')"
            )
        made = replace(_made(columns, (), properties), metrics={})
        self._create(name, folder, "CREATE TABLE", made)

    def drop(self, name: str) -> None:
        """DROP TABLE IF EXISTS: its folder goes with it."""
        table = self.tables.pop(name, None)
        if table is not None:
            self.folders.pop(table.folder, None)

    # What people do, and storage.

    def delete_folder(self, name: str) -> None:
        """Somebody removes the files; the catalog keeps its entry."""
        del self.folders[self.tables[name].folder]

    def forget(self, name: str) -> None:
        """The catalog loses its entry; the files stay."""
        del self.tables[name]

    def clean_up(self, name: str, keep: int = 1) -> None:
        """The log tells of its last commits only."""
        table = self.table(name)
        table.kept = table.newest.version + 1 - keep

    def clone(self, name: str, copy: str) -> None:
        """CREATE TABLE … SHALLOW CLONE: the properties go along, neither id nor log does."""
        made = replace(self.table(name).newest, metrics={}, note=None, app="", number=-1)
        self._create(copy, self._folder_of(copy), "CLONE", made)

    def rename(self, name: str, other: str) -> None:
        """ALTER TABLE … RENAME TO."""
        self.tables[other] = self.tables.pop(name)

    def restore(self, name: str, version: int) -> None:
        """RESTORE TABLE … TO VERSION AS OF."""
        then = self.table(name).commits[version]
        self._append(self.table(name), _after(then, "RESTORE"))

    def foreign(self, name: str, operation: str, rows: Iterable[Row] | None = None) -> None:
        """Somebody commits to the table; ``rows`` are what it holds after that."""
        now = self.table(name).newest
        kept = now.rows if rows is None else tuple(rows)
        self._append(self.table(name), replace(_after(now, operation), rows=kept))

    def _let_others(self) -> None:
        others, self.meanwhile = self.meanwhile, None
        if others is not None:
            others()

    def _refuse_taken(self, name: str, folder: str) -> None:
        if name in self.tables:
            raise FakeError(f"[TABLE_OR_VIEW_ALREADY_EXISTS] {name} in {folder}")

    def _folder_of(self, name: str) -> str:
        known = self.tables.get(name)
        return f"/lake/{name.replace('.', '/')}" if known is None else known.folder

    def _create(self, name: str, folder: str, operation: str, made: FakeCommit) -> None:
        table = self.folders.setdefault(folder, FakeTable(folder))
        self.tables[name] = table
        table_id = f"id-{next(self._clock)}"
        parameters = {"properties": json.dumps(dict(made.properties))}
        self._append(
            table, replace(made, operation=operation, parameters=parameters, table_id=table_id)
        )

    def _append(self, table: FakeTable, made: FakeCommit) -> None:
        table.commits.append(replace(made, version=len(table.commits), at=next(self._clock)))

    @staticmethod
    def _refuse_conflict(mine: FakeCommit, other: FakeCommit) -> None:
        if mine.app and mine.app == other.app:
            raise FakeError("[DELTA_CONCURRENT_TRANSACTION] ConcurrentTransactionException")
        if other.operation in META:
            raise FakeError("[DELTA_METADATA_CHANGED] MetadataChangedException")
        if mine.operation in REMOVING and other.operation in REMOVING:
            raise FakeError("[DELTA_CONCURRENT_DELETE_READ] ConcurrentDeleteReadException")


def _made(columns: Kinds, rows: Sequence[Row], properties: Mapping[str, str]) -> FakeCommit:
    metrics = counted(rows)
    return FakeCommit(0, 0, "", tuple(rows), dict(columns), dict(properties), "", metrics=metrics)


def _after(commit: FakeCommit, operation: str) -> FakeCommit:
    return replace(
        commit, operation=operation, parameters={}, metrics={}, note=None, app="", number=-1
    )


def counted(rows: Sequence[Row]) -> dict[str, str]:
    """What a commit says of the rows that it wrote."""
    size = str(100 * len(rows))
    return {
        "numFiles": str(bool(rows) * 1),
        "numOutputRows": str(len(rows)),
        "numOutputBytes": size,
    }


after = _after
