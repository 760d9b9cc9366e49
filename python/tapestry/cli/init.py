"""`tapestry init`: a new project in an empty folder, which `dbt run` runs at once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shlex import quote

import click

from tapestry.errors import ConfigurationError

EXAMPLE = """\b
Example:
  tapestry init my_project && cd my_project
  dbt run                      # an embedded Spark; data under ./warehouse; only Java is needed
  dbt show --select unanswered
  tapestry explain unanswered

Writes dbt_project.yml, profiles.yml, and two models: one that generates messages in place of a
loader, and one continuous model over it. Replace the first with a source of your own.
"""

PROJECT = """\
name: {name}
version: "1.0"
config-version: 2
profile: {name}
"""
PROFILES = """\
{name}:
  target: local
  outputs:
    # An embedded Spark with Delta: needs Java 17 or 21 and nothing else.
    local: {{type: tapestry, method: session, schema: {name}, threads: 2}}
    # cluster: {{type: tapestry, method: session, master: "spark://host:7077", schema: {name}}}
    # thrift:  {{type: tapestry, method: thrift, host: host, port: 10000, schema: {name}}}
"""
LOADER = """\
-- Stands in for a loader: the first run writes some messages, every later run one more, each with
-- the instant at which it arrived. Replace it by a source (see models.yml).
{{ config(materialized='incremental', incremental_strategy='append') }}
{%- set now = "timestamp'" ~ run_started_at.strftime('%Y-%m-%d %H:%M:%S.%f') ~ "+00:00'" %}
{% if is_incremental() %}
select
  max(id) + 1 as id,
  if(max(id) % 2 = 0, max(id), cast(null as int)) as parent,
  if(max(id) % 2 = 0, 'bob', 'ann') as author,
  if(max(id) % 2 = 0, 'an answer', 'a question') as subject,
  {{ now }} as ts
from {{ this }}
{% else %}
select id, parent, author, subject, {{ now }} - age as ts
from values
  (1, null, 'ann', 'a question', interval 3 hours),
  (2, 1, 'bob', 'an answer', interval 2 hours),
  (3, null, 'cid', 'another question', interval 1 hour)
  as messages(id, parent, author, subject, age)
{% endif %}
"""
MODEL = """\
-- Messages that nobody has answered for a minute. Each run appends those that became so since the
-- last run, with _matched_at, the instant at which they did. Nothing is ever taken back.
{{ config(materialized='continuous') }}
select m.id, m.author, m.subject
from {{ ref('messages') }} m
where now() >= m.ts + interval 1 minute
  and not exists (select 1 from {{ ref('messages') }} r where r.parent = m.id)
"""
MODELS = """\
version: 2

models:
  - name: messages
    description: One row a message; append-only.
    config:
      meta: {arrival: ts}        # the column that says when a row arrived
  - name: unanswered
    description: Messages that were without an answer when they turned one minute old.
    columns:
      - name: id
        data_tests: [unique]

# A table that something else loads:
# sources:
#   - name: bboard
#     tables:
#       - name: messages
#         config: {loaded_at_field: ts}
"""
IGNORED = "target/\nlogs/\nwarehouse/\ndbt_packages/\n"


@click.command(epilog=EXAMPLE)
@click.argument(
    "folder", required=False, default=".", type=click.Path(path_type=Path, file_okay=False)
)
@click.option("--name", help="Name of the project; default: that of the folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the written files as JSON.")
def init(folder: Path, name: str | None, as_json: bool) -> None:
    """Make a new project in an empty FOLDER (the current one by default)."""
    root = folder.resolve()
    name = project_name(name or root.name)
    there = sorted(path.name for path in root.iterdir()) if root.exists() else []
    visible = [item for item in there if not item.startswith(".")]
    if visible:
        raise ConfigurationError(
            f"the folder is not empty: {', '.join(visible[:3])}",
            str(root),
            f"name a new one: tapestry init {folder / 'my_project'}",
        )
    files = new_files(name)
    for path, text in files.items():
        target = root / path
        if target.exists():  # a .gitignore of one's own
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    if as_json:
        click.echo(json.dumps({"project": name, "folder": str(root), "files": sorted(files)}))
        return
    click.echo(f"{name}: a new project in {root}")
    where = "" if root == Path.cwd() else f"cd {quote(str(folder))} && "
    click.echo(f"  next: {where}dbt run        (and: tapestry explain unanswered, tapestry doctor)")


def project_name(text: str) -> str:
    """A name that dbt takes: letters, digits and underscores, a letter first.

    >>> project_name("My Project 2"), project_name("2nd")
    ('my_project_2', 'p_2nd')
    """
    name = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")
    if not name:
        raise ConfigurationError(f"{text!r} gives no name for a project", hint="give one: --name")
    return name if name[0].isalpha() else f"p_{name}"


def new_files(name: str) -> dict[str, str]:
    """Path -> text of the files of a new project."""
    return {
        "dbt_project.yml": PROJECT.format(name=name),
        "profiles.yml": PROFILES.format(name=name),
        "models/messages.sql": LOADER,
        "models/unanswered.sql": MODEL,
        "models/models.yml": MODELS,
        ".gitignore": IGNORED,
    }
