"""Commands over a profile that the environment decides: the same tables that `dbt run` made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from tests.command import tapestry

from tapestry.cli.init import new_files
from tapestry.errors import NotRunYet

PROFILES = """\
mine:
  target: "{{{{ env_var('DBT_TARGET_NAME', 'local') }}}}"
  outputs:
    local: &local
      type: tapestry
      method: session
      schema: env_local
      server_side_parameters: {{spark.sql.warehouse.dir: "{warehouse}"}}
    prod: {{<<: *local, schema: "{{{{ env_var('DBT_ENV_SCHEMA') }}}}"}}
"""


@pytest.fixture
def project(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dbt_profile_target: dict[str, Any],
) -> Path:
    """A new project; only the environment names the target and the schema of it."""
    warehouse = dbt_profile_target["server_side_parameters"]["spark.sql.warehouse.dir"]
    files = new_files("mine") | {"profiles.yml": PROFILES.format(warehouse=warehouse)}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    monkeypatch.setenv("DBT_ENV_SCHEMA", "env_there")
    return tmp_path


@pytest.mark.parametrize("variable", ["DBT_TARGET_NAME", "DBT_TARGET"])
def test_a_command_finds_what_dbt_run_made(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv("DBT_ENV_SCHEMA", f"env_{variable.lower()}")
    with monkeypatch.context() as patch:
        patch.setenv(variable, "prod")
        run_dbt(["run"])
        verified = tapestry("verify", "unanswered", "--json")
        assert verified.exit_code == 0, verified.output
        assert [one["status"] for one in json.loads(verified.stdout)] == ["pass", "pass"]
        rewound = tapestry("rewind", "unanswered", "--to", "2999-01-01", "--json")
        assert (rewound.exit_code, json.loads(rewound.stdout)) == (0, [])
        explained = tapestry("explain", "unanswered", "--json")
        assert f"env_{variable.lower()}" in explained.stdout
    local = tapestry("verify", "unanswered")
    assert isinstance(local.exception, NotRunYet)
