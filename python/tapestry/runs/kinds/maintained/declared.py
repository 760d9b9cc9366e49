"""An author says more of the rows than the query: their key, and what is expected of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tapestry.errors import ConfigurationError
from tapestry.quoting import identifier, remark
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import sql_type
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.validate import Expected, Prepared, prepare
from tapestry.runs.kinds.maintained.config import config_of
from tapestry.runs.model.declare import near
from tapestry.runs.model.model import Model
from tapestry.sql.catalog import Column


@dataclass(frozen=True)
class Declared:
    """A model's key and expectations, fitted to its columns.

    unique
        The places of the columns of `unique_key`.
    """

    unique: tuple[int, ...] = ()
    expected: tuple[Prepared, ...] = ()

    def lines(self, columns: Sequence[Column]) -> Iterator[str]:
        """As remarks in the canonical text: with others the table is another one."""
        if self.unique:
            listed = ", ".join(columns[place].name for place in self.unique)
            yield f"-- unique_key: {remark(listed)}"


NOTHING_DECLARED = Declared()


def declared(
    session: Session, model: Model, invocation: Invocation, columns: tuple[Column, ...]
) -> Declared:
    """Read them.

    Raises ConfigurationError for a key or an expectation that does not fit the columns.
    """
    return Declared(_places(model, columns), _expected(session, model, invocation, columns))


def _places(model: Model, columns: Sequence[Column]) -> tuple[int, ...]:
    names = [column.name.lower() for column in columns]
    wanted = config_of(model.config.own).unique_key
    for name in wanted:
        if name.lower() not in names:
            listed = [column.name for column in columns]
            raise ConfigurationError(
                f"unique_key: there is no column {name}",
                where=model.file,
                hint=f"{near(name, listed)}Columns are: {', '.join(listed)}",
            )
    return tuple(dict.fromkeys(names.index(name.lower()) for name in wanted))


def _expected(
    session: Session, model: Model, invocation: Invocation, columns: tuple[Column, ...]
) -> tuple[Prepared, ...]:
    if not model.config.expectations:
        return ()
    listed = ", ".join(f"CAST(NULL AS {sql_type(c.type)}) AS {identifier(c.name)}" for c in columns)
    of = Expected(f"SELECT {listed} WHERE false", model.name, [c.name for c in columns], model.file)
    return prepare(session, model.config.expectations, of, recall=invocation.recall)
