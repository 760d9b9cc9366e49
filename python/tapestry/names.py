"""Names of hidden columns, bookkeeping tables and table properties, each written once."""

from typing import Final

MATCHED_AT: Final = "_matched_at"
"""The first instant at which a row of a continuous model was an answer (TIMESTAMP)."""

ARRIVAL: Final = "_arrival"
"""The effective arrival of a source row: its ts, or the instant at which a late row arrived."""

COMMITTED_AT: Final = "_committed_at"
"""The commit time of a source row (``arrival: commit``)."""

ROW_ID: Final = "_row_id"
"""The identifier of a row, unique within one pinned version of its source."""

ENDED: Final = "_ended"
"""The first instant at which a source row is no longer visible: it was deleted."""

KEY: Final = "_key"
"""The identity of an answer beside its values (``sql.facts.keys``): staged rows carry it."""

STATE_TABLE: Final = "tapestry_state"
RUNS_TABLE: Final = "tapestry_runs"
CHECKS_TABLE: Final = "tapestry_checks"
COMMITS_TABLE: Final = "tapestry_commits"
DELIVERIES_TABLE: Final = "tapestry_deliveries"
MEMORIES_TABLE: Final = "tapestry_memories"
QUERIES_TABLE: Final = "tapestry_queries"
REJECTED_SUFFIX: Final = "__rejected"
STAGED_SUFFIX: Final = "__staged"

GENERATION_PROPERTY: Final = "tapestry.generation"
"""Delta table property of a target: which creation or refresh of the table this is."""

KIND_PROPERTY: Final = "tapestry.kind"
"""Delta table property of a target: the materialization of the model that made it."""

FIRST_KIND: Final = "continuous"
"""The kind of a target that does not say its own: once there was no other."""

STATE_PROPERTY: Final = "tapestry.state"
"""Delta table property of a target: the state table that knew it when it was created."""

REJECTED_PROPERTY: Final = "tapestry.rejected"
"""Delta table property of a table of rejected rows: what the columns of ours are called in it."""

STAGED_PROPERTY: Final = "tapestry.staged"
"""Delta table property of a staged table: whose rows its version holds."""

SIDE_PROPERTY: Final = "tapestry.side"
"""Delta table property of a kept table of a target: which kind of rows it has."""

MEMORY_PREFIX: Final = "tapestry_memory__"
"""The prefix of the tables that hold rows of sources which several runs need."""

MEMORY_PROPERTY: Final = "tapestry.memory"
"""Delta table property of such a table: of which source it holds which rows, as JSON."""

ALL_ON_PROPERTY: Final = "tapestry.all_on"
"""Delta table property of ``tapestry_queries``: its version in which no model was switched off."""

SWITCHED_OFF: Final = "switched off"
"""The ``code`` of dbt's response for a model that the operator has switched off."""
