"""A dbt project on DuckDB: what runs dbt again and again is the same on every adapter."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "dbt_project.yml": "{name: small, profile: small, version: '1.0', config-version: 2,"
    " flags: {send_anonymous_usage_stats: false}}",
    "models/loaded.sql": "{% if execute %}{% do exceptions.warn('loaded: one row is odd') %}"
    "{% endif %}select 1 as id, timestamp '2026-01-01' as ts",
    "models/kept.sql": "{{ config(materialized='ephemeral') }}"
    " select id from {{ ref('loaded') }} where id > 0",
    "models/big.sql": "{{ config(materialized='table') }}"
    " select id, '{{ env_var(\"TAPESTRY_AS_OF\", \"\") }}' as as_of from {{ ref('kept') }}",
    "models/broken.sql": "{{ config(materialized='table') }} select no_such_column from"
    " {{ ref('loaded') }}",
    "models/after_broken.sql": "select * from {{ ref('broken') }}",
    "models/pointing.sql": "{{ config(materialized='table') }} select id from {{ ref('big') }}",
    "models/models.yml": """
version: 2
models:
  - name: big
    config: {contract: {enforced: true}}
    constraints: [{type: primary_key, columns: [id]}]
    columns: [{name: id, data_type: int}, {name: as_of, data_type: varchar}]
  - name: pointing
    config: {contract: {enforced: true}}
    columns:
      - name: id
        data_type: int
        constraints: [{type: foreign_key, to: "ref('big')", to_columns: [id]}]
""",
}


def make_project(root: Path) -> list[str]:
    """Write the project; dbt's arguments for it."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    profile = f"small: {{target: it, outputs: {{it: {{type: duckdb, path: '{root}/it.duckdb'}}}}}}"
    (root / "profiles.yml").write_text(profile)
    folders = ["--project-dir", str(root), "--profiles-dir", str(root)]
    return [*folders, "--log-path", str(root / "logs"), "--log-level", "none"]
