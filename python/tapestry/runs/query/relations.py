"""Makes the catalog of a query for the rewriting: tables pinned, views looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tapestry.errors import ConfigurationError, Refusal
from tapestry.names import COMMITTED_AT, GENERATION_PROPERTY, MATCHED_AT
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.sources.committed import COMMIT
from tapestry.runs.sources.describe import SESSION_CATALOG, DeltaSource, arrival_column
from tapestry.runs.sources.kept_commits import UnkeptCommits
from tapestry.runs.sources.pins import Pin, Pinned, Pins, newest_version
from tapestry.runs.sources.scans import plain_scan
from tapestry.sql import Catalog, Scan, Source, View, relation_names
from tapestry.sql.catalog import Column

STATIC = "static"


@dataclass(frozen=True)
class Unsaid:
    """Defaults for what a project does not declare of a query's sources.

    arrival
        The arrival of a source without a declared one; None: it has to be declared.
    given
        Relations that stand for no table.
    """

    arrival: str | None = None
    given: Mapping[str, Source] = field(default_factory=dict)


NOTHING_ASSUMED = Unsaid()
ALL_STATIC = Unsaid(STATIC)


LITTLE = 8 * 2**20
"""Bytes of all that is read up to which statements are interpreted, and planned once.

A statement over less spends its time in planning, and each exchange that is planned again, and each
list of files that Delta's log gives, is a job more.
"""


@dataclass(frozen=True)
class Relations:
    """The relations that a query reads, views opened: the catalog, and each table with its pin."""

    catalog: Catalog
    tables: Mapping[str, Pinned]

    @property
    def size(self) -> int:
        """The size in bytes of the tables."""
        return sum(one.table.size for one in self.tables.values())

    @property
    def little(self) -> bool:
        """Whether they are read in less time than it takes to compile what reads them."""
        return self.size <= LITTLE

    def behind(self, session: Session, last: Mapping[str, Pin]) -> tuple[str, ...]:
        """Return a warning where the last run has read a newer version of a table.

        Its invocation began later and was faster: this one has nothing to add, and going on from
        there would take the answers back. Nothing is said of a table that no longer has that
        version, because it was restored from a copy.
        """
        for name, then in last.items():
            pin = self.tables[name].pin if name in self.tables else then
            if then.table_id != pin.table_id or then.version <= pin.version:
                continue
            if newest_version(session, name) >= then.version:
                return (
                    f"the last run has read version {then.version} of {name}, this invocation began"
                    f" at version {pin.version}: another one was faster, and there is nothing to"
                    " add",
                )
        return ()

    def arrival(self, name: str) -> str | None:
        """Return the arrival column's name of a table; None for a static one."""
        source = self.catalog.relations[name]
        return source.arrival if isinstance(source, Source) else None

    def arrives(self, name: str) -> Column | None:
        """Return the arrival column of a table; None for a static one."""
        arrival = self.arrival(name)
        return None if arrival is None else arrival_column(self.tables[name].table, arrival)

    def scan(self, name: str) -> Scan:
        """Return the scan of a table at its pin, its rows arriving at their ts."""
        return plain_scan(self.tables[name].table, self.tables[name].pin, self.arrives(name))

    def scans(self) -> dict[str, Scan]:
        """Return the scan of each table."""
        return {name: self.scan(name) for name in self.tables}

    def unkept(self, commits_table: str) -> tuple[UnkeptCommits, ...]:
        """Return the commit times that give rows their arrival and are not in ``commits_table``."""
        return tuple(
            UnkeptCommits(commits_table, table.table_id, table.name, table.commits)
            for table in (pinned.table for pinned in self.tables.values())
            if table.commits is not None and table.commits.new
        )


def read_relations(
    session: Session, sql: str, model: Model, pins: Pins, time_zone: str,
    unsaid: Unsaid = NOTHING_ASSUMED,
) -> Relations:  # fmt: skip
    """Look up all relations that ``sql`` reads, through views, at this invocation's pins.

    ``unsaid`` has defaults for what the project does not declare.

    Raises Refusal for a name that does not exist or cannot be pinned, and for the model itself;
    ConfigurationError for a source whose arrival is neither declared nor assumed.
    """
    relations: dict[str, Source | View] = {}
    tables: dict[str, Pinned] = {}
    open_names = list(relation_names(sql))
    while open_names:
        name = open_names.pop()
        if name in relations:
            continue
        if name in unsaid.given:
            relations[name] = unsaid.given[name]
            continue
        if in_session(name) == plain(model.relation):
            raise Refusal(
                f"{model.name} reads its own table; what is new is found without it",
                where=model.file,
                hint="remove {{ this }} and is_incremental(): write the query as if run once",
                code="reads-itself",
            )
        found = pins.of(session, in_session(name))
        if isinstance(found, View):
            relations[name] = found
            open_names += [_inside(found, inner) for inner in relation_names(found.sql)]
            continue
        said = _said(found, name, model, unsaid.arrival)
        if said == COMMIT:
            found = pins.committed(session, in_session(name), found)
        tables[name] = found
        relations[name] = _source(name, found.table, said)
    declared = frozenset(map(plain, model.config.deterministic_functions))
    return Relations(Catalog(relations, time_zone, declared), tables)


def plain(name: str) -> str:
    """Return a name as the rewriting writes it: lower case, no backticks.

    >>> plain("`Db`.`Messages`")
    'db.messages'
    """
    return name.replace("`", "").lower()


def in_session(name: str) -> str:
    """Return a table's name without the session's catalog: one table, one name, one pin.

    >>> in_session("spark_catalog.db.messages"), in_session("db.messages")
    ('db.messages', 'db.messages')
    """
    return name.removeprefix(SESSION_CATALOG)


def _inside(view: View, name: str) -> str:
    """Return a name in a view's text: without a schema it belongs to the view's own."""
    return name if "." in name or not view.namespace else f"{view.namespace.lower()}.{name}"


def _source(name: str, table: DeltaSource, said: str) -> Source:
    """Return a table as a source of the catalog."""
    if said == STATIC:
        return Source(name, table.columns, None)
    if table.commits is None:
        return Source(name, table.columns, arrival_column(table, said).name)
    hidden = (arrival_column(table, COMMITTED_AT),)
    named = tuple(column for column in table.columns if column not in hidden)
    return Source(name, named, COMMITTED_AT, hidden=hidden)


def _said(found: Pinned, name: str, model: Model, unsaid: str | None) -> str:
    """Return the declared arrival of a table; a continuous model's table has it by itself."""
    every = model.arrivals.get(in_session(name), ())
    if len(every) > 1:
        raise ConfigurationError(
            f"the project says several things of the arrival of {name}: {', '.join(every)}",
            where=model.file,
            hint="let every source and model in the YAML that names this table say the same",
        )
    said = next(iter(every), None)
    named = {column.name for column in found.table.columns}
    if said is None and GENERATION_PROPERTY in found.table.properties and MATCHED_AT in named:
        said = MATCHED_AT
    said = said or unsaid
    if said is None:
        raise ConfigurationError(
            f"{name} says nothing of the arrival of its rows",
            where=model.file,
            hint=f"in the YAML of {name}: config: {{loaded_at_field: <timestamp column>}}"
            " (or meta: {arrival: <column>});\n"
            "  no such column: meta: {arrival: commit};"
            " a look-up table, the same at every instant: meta: {arrival: static}",
        )
    return said
