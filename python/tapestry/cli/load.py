"""`tapestry load`: a mailbox or a list archive becomes rows of the messages table."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tapestry.cli.project import Project, open_project, project_options
from tapestry.errors import ConfigurationError
from tapestry.words import counted

EXAMPLE = """\b
Example:
  tapestry load ~/mail/lists.mbox
  tapestry load 2019-April.txt.gz --list git

FILE is an mbox (also .gz), a Maildir, a folder of .eml files, one .eml file, or a .parquet file
with the table's columns. All new messages of a file arrive in one commit; a message that the table
already holds in the same list (same Message-ID, same List-Id) is left out, so that loading a grown
mailbox again adds what is new. Of several copies in a mailbox the first one counts.

ts is when the message arrived at the server: the topmost Received header, else the mbox's From
line, else the sender's Date. A message without any readable date is loaded with ts NULL; models
never see it. A message without an id gets one made from its content.
"""


@click.command(epilog=EXAMPLE)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--into", default="messages", show_default=True, help="Table, in the target schema.")
@click.option("--list", "newsgroup", help="Name of the list, instead of what the messages say.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON a file.")
@project_options
def load(
    files: tuple[Path, ...],
    into: str,
    newsgroup: str | None,
    as_json: bool,
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
) -> None:
    """Load a mailbox or a list archive: each new message becomes a row of the messages table."""
    from tapestry.mail.append import create_table

    with open_project(project_dir, profiles_dir, target) as project:
        table = into if "." in into else f"{project.schema}.{into}"
        _refuse_built(project, table)
        create_table(project.session, table)
        for file in files:
            result = load_file(project.session, table, file, newsgroup)
            click.echo(json.dumps(result) if as_json else _sentence(result))


def _refuse_built(project: Project, table: str) -> None:
    """A table that dbt is going to build cannot be one that mail is loaded into."""
    schema, _, name = table.rpartition(".")
    config = project.config
    file = next(
        (
            file
            for folder in (*config.model_paths, *config.seed_paths, *config.snapshot_paths)
            for file in sorted((project.root / folder).rglob(f"{name}.*"))
            if file.suffix in (".sql", ".py", ".csv")
        ),
        None,
    )
    if file is None or schema != project.schema or _is_there(project.session, schema, table):
        return
    raise ConfigurationError(
        f"dbt builds {table} itself, from {file.relative_to(project.root)}",
        hint=f"load --into another table; or delete that file, and make {name} a source with"
        " loaded_at_field: ts",
    )


def _is_there(session: Any, schema: str, table: str) -> bool:
    from tapestry.runs.sources.literals import string
    from tapestry.runs.staging import exists

    return bool(session.rows(f"SHOW SCHEMAS LIKE {string(schema)}")) and exists(session, table)


def load_file(session: Any, table: str, file: Path, newsgroup: str | None = None) -> dict[str, Any]:
    """Load one file; counts of what it held and of what is new."""
    from tapestry.mail.append import append_new
    from tapestry.mail.stage import Counts, stage_mailbox

    with tempfile.TemporaryDirectory(prefix="tapestry-load-") as folder:
        if file.suffix == ".parquet":
            counts, staged = Counts(), file.resolve()
        else:
            staged = Path(folder) / "messages.parquet"
            counts = stage_mailbox(file, staged, newsgroup)
        new = append_new(session, table, staged)
    held = {} if file.suffix == ".parquet" else asdict(counts)
    return {"file": str(file), "table": table, "new": new, **held}


def _sentence(result: dict[str, Any]) -> str:
    if "read" not in result:
        return f"{result['file']}: {counted(result['new'], 'new row')} in {result['table']}"
    there = result["staged"] - result["new"]
    lines = [
        f"{result['file']}: {result['read']} messages, {result['new']} new in {result['table']}, "
        f"{there} already there, {result['repeated']} repeated in the file"
    ]
    clocks = result["clocks"]
    lines.append(
        f"  ts from Received: {clocks['Received']}, from the From line: {clocks['From_']}, "
        f"from Date: {clocks['Date']}"
    )
    if clocks["none"]:
        lines.append(f"  {clocks['none']} without a readable date: ts is NULL, no model sees them")
    if result["id_made_up"]:
        lines.append(f"  {result['id_made_up']} without an id: made from their content")
    if result["broken"]:
        lines.append(f"  {result['broken']} could not be read at all: an id is all they have")
    return "\n".join(lines)
