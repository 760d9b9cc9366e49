"""Facts about a query in standard form that hold for every window and all scans."""

from __future__ import annotations

from functools import cached_property

from tapestry.sql.arms import (
    AtInstants,
    FirstRows,
    KeptGroups,
    Lifted,
    OuterArm,
    RunningGroups,
    evaluated,
)
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.choose_strategy import STRATEGIES, AnyStrategy, strategy_for
from tapestry.sql.cumulative.rows import ends
from tapestry.sql.facts.arrivals import holds_from_begin
from tapestry.sql.facts.walk import all_tables
from tapestry.sql.ir import ValueTable
from tapestry.sql.look.endings import Endings, endings
from tapestry.sql.look.joined_uses import JoinedUse, joined_use
from tapestry.sql.look.running_values import running_columns, running_values
from tapestry.sql.look.uses_of_sources import Use, uses_of


class QueryFacts:
    """Facts about the arms of a query, over the sources of a catalog."""

    columns: tuple[str, ...]
    arms: tuple[OuterArm, ...]
    catalog: Catalog

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """The uses of its sources, each with the conditions on its rows alone."""
        return uses_of(self.arms, self.catalog)

    def pairing(self, left: str, right: str) -> JoinedUse | None:
        """Return how two uses, given by alias, are joined; None if that is of no use."""
        found = {use.alias: use for use in self.uses}
        return joined_use(self.arms, found[left], found[right])

    @property
    def costliest(self) -> AnyStrategy:
        """The costliest of its strategies."""
        found = [strategy_for(one) for arm in self.arms for one in evaluated(arm)]
        return max(found, key=STRATEGIES.index)

    @property
    def lifted(self) -> tuple[AtInstants | RunningGroups | FirstRows, ...]:
        """The arms whose query is written out."""
        return tuple(arm for arm in self.arms if isinstance(arm, Lifted))

    @property
    def asks_known(self) -> bool:
        """Whether new answers are told from known ones by their values."""
        return any(arm.by_value for arm in self.lifted)

    @property
    def strategy(self) -> str:
        """The name of its costliest strategy.

        It is one of bounds, least, anti_join, stages, gaps, candidates, cumulative and instants.
        """
        return self.costliest.name

    @property
    def keeps_states(self) -> bool:
        """Whether there are groups with running states."""
        return any(isinstance(arm, KeptGroups) for arm in self.arms)

    @property
    def rows_end(self) -> tuple[bool | None, ...]:
        """For each lifted arm, whether a row of its groups may end; None: nothing is kept.

        What is kept of a group hangs on it: of DISTINCT, how many rows have a value, or that one
        has it.
        """
        return tuple(
            ends(arm.blocks) if isinstance(arm, KeptGroups) else None for arm in self.lifted
        )

    @property
    def running_values(self) -> str:
        """The warning that every intermediate value of a column becomes an answer; "" for none."""
        return running_values(self.running_columns)

    @property
    def running_columns(self) -> tuple[str, ...]:
        """The columns of which every intermediate value becomes an answer."""
        return running_columns(self.lifted, self.columns, self.catalog)

    @cached_property
    def endings(self) -> Endings:
        """Return the events that may end an answer, which the model keeps all the same."""
        return endings(self.arms, self.catalog)

    @property
    def reads_alone(self) -> bool:
        """Return whether each answer is a row of one table, whatever else the query has.

        Then nothing is read but what arrived, or comes to a bound, within the window.
        """
        return self.costliest.own_rows and not any(
            arm.by_value or len(block.tables) != 1 for arm in self.arms for block in arm.blocks
        )

    def looks_back_at(self, source: str) -> bool:
        """Return whether deleted rows of a source still decide which answers are new.

        Not where an answer is a derivation and nothing but its own rows says when it holds. Time
        begins with the earliest arrival, of rows that are gone too; static rows have none.
        A row that was looked up and is gone leaves the rows that met it without a match.
        """
        known = self.catalog.relations[source]
        if self.asks_begin and isinstance(known, Source) and known.arrival is not None:
            return True
        return not self.costliest.own_rows or any(
            arm.by_value
            or isinstance(table, ValueTable)
            or (table.on is not None and self.catalog.root(table.source) == source)
            for arm in self.arms
            for table in all_tables([arm])
        )

    @property
    def asks_begin(self) -> bool:
        """Return whether a derivation of static rows alone holds from the begin of time."""
        return bool(self.lifted) or any(
            holds_from_begin(block) for arm in self.arms for block in arm.blocks
        )

    @property
    def forgets_ended(self) -> bool:
        """Return whether rows that ended by τ decide nothing about what is new after τ.

        Each derivation then begins at the greatest lower bound c of its one disjunct, or never: an
        inner row that ended by τ < c neither hinders it nor was ever what hindered it. With
        further disjuncts such a row may be why an earlier one of them never held, and without it
        time may seem to begin after τ.
        """
        return (
            not self.asks_begin
            and not any(
                arm.by_value
                or not strategy_for(block).at_bounds
                or (len(block.disjuncts) > 1 and not strategy_for(block).own_rows)
                for arm in self.arms
                for block in arm.blocks
            )
            and not any(isinstance(table, ValueTable) for table in all_tables(self.arms))
        )
