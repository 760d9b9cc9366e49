"""Methods that macros call to write names of columns into SQL, or to refuse them in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta
from dbt_common.exceptions import CompilationError

from dbt.adapters.tapestry.changed_columns import ChangedColumns
from dbt.adapters.tapestry.column_mapping import check_constraints, refuse_unmapped
from dbt.adapters.tapestry.column_names import (
    bare,
    column_sql,
    key_sql,
    means_itself,
    name_sql,
    named_column,
)
from dbt.adapters.tapestry.dbt_errors import dbt_errors
from dbt.adapters.tapestry.session import DbtSession
from dbt.adapters.tapestry.snapshot_columns import Snapshot
from tapestry.errors import TapestryError
from tapestry.quoting import authored, identifier, identifiers, rendered_name


def names_in(columns: Iterable[Any]) -> list[str]:
    """Return the names of dbt's columns, or the names themselves."""
    return [column if isinstance(column, str) else str(column.column) for column in columns]


def listed(texts: str | Sequence[str] | None) -> list[str]:
    """Return an option's names, given as one name or a list; as in dbt, an empty text is none."""
    if not texts:
        return []
    return [texts] if isinstance(texts, str) else [str(text) for text in texts]


class ColumnDoors(metaclass=AdapterMeta):
    """A mixin of the adapter: the methods that macros call for names of columns."""

    config: Any

    @available.parse(lambda texts, _: listed(texts))
    def columns_sql(self, texts: str | Sequence[str], of: Any) -> list[str]:
        """Return names or expressions as SQL; ``of``: the columns, or the query that has them.

        A query is asked for its columns only where a text can mean a column by its look alone.
        """
        with dbt_errors():
            wanted = listed(texts)
            if isinstance(of, str):
                if all(map(means_itself, wanted)):
                    return wanted
                of = self._columns_of(of)
            return [column_sql(text, names_in(of)) for text in wanted]

    @available.parse_list
    def names_of_query(self, query: str) -> list[str]:
        """Return the names of a query's columns, in the query's upper and lower case."""
        with dbt_errors():
            return self._columns_of(query)

    @available
    def name_sql(self, name: str) -> str:
        """Return a text that can only be a name (a column in YAML, a constraint) as SQL."""
        with dbt_errors():
            return name_sql(str(name))

    @available
    def description_of(self, name: str, columns: Mapping[str, Mapping[str, Any]]) -> str:
        """Return a column's description in the YAML, which may write its name in another case."""
        by_name = {bare(key): column for key, column in columns.items()}
        known = named_column(name, list(by_name))
        return "" if known is None else str(by_name[known].get("description") or "")

    @available.parse_list
    def merge_columns(self, option: str, texts: Any, columns: Any, table: Any) -> list[str]:
        """Return the columns that unique_key or merge_update_columns name.

        Raises DbtRuntimeError for a text that names none.
        """
        with dbt_errors():
            names = names_in(columns)
            return [key_sql(option, text, names, str(table)) for text in listed(texts)]

    @available.parse_list
    def columns_without(self, texts: Any, columns: Any) -> list[str]:
        """Return all columns but those that merge_exclude_columns names, quoted."""
        names = names_in(columns)
        out = {text.lower() for text in listed(texts)} | {bare(t).lower() for t in listed(texts)}
        return [identifier(name) for name in names if name.lower() not in out]

    @available.parse_list
    def columns_for_star(self, columns: Any, there: Any) -> list[str]:
        """Return the columns of a merge, quoted, or none where it can say `*`.

        It cannot where the table has other columns (``there``), or where a name has a backtick:
        Delta resolves `*` by names that it parses again.
        """
        names = names_in(columns)
        listed_ = "`" in "".join(names) or names != names_in(there)
        return [identifier(name) for name in names] if listed_ else []

    @available.parse_list
    def changed_columns(
        self, rule: str, node: Mapping[str, Any], sql: str, query: Any, table: Any
    ) -> Any:
        """Return the statements that give an incremental model's table the columns of its query.

        ``fitting`` is the query ``sql`` in a form that stops at values that a column would cut, if
        any could be, and ``fitted`` those columns.
        """
        name = ".".join(rendered_name(str(part)) for part in (table.schema, table.identifier))
        changed = ChangedColumns(
            rule=rule,
            query={str(one.column): str(one.dtype) for one in self._columns_in(query)},
            table={str(one.column): str(one.dtype) for one in self._columns_in(table)},
            relation=name,
            file=str(node.get("original_file_path") or ""),
            promised=bool((node["config"].get("contract") or {}).get("enforced")),
            properties=self.table_properties(table) if table.is_delta else None,  # type: ignore[attr-defined]
            # Rows with expectations, and those of a Python model, are a table already.
            by_value=node["language"] == "sql" and not self.has_expectations(node),  # type: ignore[attr-defined]
        )
        try:
            return {
                "statements": changed.statements(),
                "fitting": changed.fitting(sql),
                "fitted": identifiers(changed.fitted()),
            }
        except TapestryError as error:
            raise CompilationError(str(error)) from error

    @available.parse_none
    def check_merge_keys(self, node: Mapping[str, Any], query: str) -> None:
        """Refuse, before the first run of a merged model, keys that its query does not have.

        Plain names are checked by the first merge, as in dbt, whose own tests build such a table.
        """
        config = node["config"]
        if config.get("incremental_strategy") != "merge":
            return
        options = ("unique_key", "merge_update_columns")
        odd = {o: [t for t in listed(config.get(o)) if not means_itself(t)] for o in options}
        if not any(odd.values()):
            return
        with dbt_errors():
            columns = self._columns_of(query)
            for option, texts in odd.items():
                self.merge_columns(option, texts, columns, node["relation_name"])

    @available.parse_none
    def check_new_table(self, node: Mapping[str, Any], query: str) -> None:
        """Refuse, before a table with a contract is made, what would only fail afterwards."""
        with dbt_errors():
            session = DbtSession(self)  # type: ignore[arg-type]
            names = [str(column["name"]) for column in node["columns"].values()]
            refuse_unmapped(session, node, [bare(name) for name in names])
            check_constraints(session, node, authored(query))

    @available.parse(lambda *_: {})
    def python_table(self, node: Mapping[str, Any], table: str) -> dict[str, Any]:
        """Return the options, columns and buckets for a Python model's table; a batch has few."""
        config, target = node["config"], table == node["alias"]
        named = config.get("tblproperties") or {}
        options = {str(k): str(v) for k, v in named.items() if str(k).startswith("delta.")}
        if target:
            options |= {str(k): str(v) for k, v in (config.get("options") or {}).items()}
        if target and config.get("location_root"):
            options["path"] = f"{config['location_root']}/{table}"
        layout = ("partition_by", "clustered_by", "liquid_clustered_by")
        return {
            "options": options,
            "columns": {key: listed(config.get(key)) if target else [] for key in layout},
            "buckets": int(config.get("buckets") or 0),  # JSON, read as Python
        }

    @available.parse_list
    def snapshot_compared(
        self, node: Mapping[str, Any], table: Any, added: Mapping[str, str], check_cols: Any
    ) -> list[dict[str, str]]:
        """Return the columns a snapshot compares (none: `updated_at` only); refuse unfit columns.

        ``table``: the columns that it has, or none; ``added``: the names of the columns dbt adds.
        """
        with dbt_errors():
            there = None if table is None else {c.column: str(c.dtype) for c in table}
            snapshot = Snapshot(node, self._types_of(str(node["compiled_code"])), there)
            snapshot.refuse_names(added.values())
            open_end = node["config"].get("dbt_valid_to_current")
            if open_end:
                snapshot.refuse_open_end(str(open_end), added["dbt_valid_to"], self._types_of)
            if check_cols:
                return snapshot.compared(check_cols)
            snapshot.casts()
            return []

    def _columns_in(self, relation: Any) -> list[Any]:
        """Return the columns of a relation."""
        return list(self.get_columns_in_relation(relation))  # type: ignore[attr-defined]

    def _columns_of(self, query: str) -> list[str]:
        """Return the names of a query's columns."""
        return list(self._types_of(query))

    def _types_of(self, query: str) -> dict[str, str]:
        """Return a query's columns and their types; Spark analyses it and reads no row."""
        # sql: a query of the author, or of all columns of a relation
        rows = DbtSession(self).rows(f"DESCRIBE QUERY {query}")  # type: ignore[arg-type]
        return {str(row[0]): str(row[1]) for row in rows}
