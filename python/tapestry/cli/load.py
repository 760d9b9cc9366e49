"""`tapestry load`: a mailbox or a list archive becomes rows of the messages table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tapestry.cli.end_command import described, short
from tapestry.cli.options import DbtOptions, project_options
from tapestry.cli.project import Project, open_project
from tapestry.cli.sizes import Size
from tapestry.errors import ConfigurationError, MailboxUnreadable
from tapestry.folders import temporary_folder
from tapestry.mail.files import DEEPEST
from tapestry.mail.limits import GIB, MIB, Limits
from tapestry.quoting import string
from tapestry.runs.engine.own_tables import exists
from tapestry.words import counted, printable

EXAMPLE = """\b
Example:
  tapestry load ~/mail/lists.mbox
  tapestry load 2019-April.txt.gz --list git

FILE is an mbox (also .gz), a Maildir, a folder of .eml files, one .eml file, or a .parquet file
with the table's columns. All new messages of a file are added in one commit. Messages that the
table already has in the same list (same Message-ID and List-Id) are left out, so you can load a
mailbox again when it has grown. If a mailbox has several copies of a message, the first one counts.

ts is the time at which the message arrived at the server: from the topmost Received header, else
the From line of the mbox, else the sender's Date. A message without a readable date is loaded with
ts NULL, and models never see it. A message without an id gets one that is computed from its
content.

Only the wrong parts of a header are left out; a date or an author that is not certain is NULL. The
command counts these messages and names the first of each kind.

It reads only regular files and follows no link in a Maildir or folder. It counts what it skips or
cuts. A mailbox is not loaded at all if it exceeds --max-total or --max-messages, is damaged, or is
written to at the same time. Then the other files are loaded, and the exit code is 1.
"""
_NAME = re.compile(r"[\w-]{1,255}(\.[\w-]{1,255}){0,2}")


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The limits of one mailbox."""
    for option in (
        click.option(
            "--max-messages",
            type=click.IntRange(min=1),
            default=Limits.messages,
            show_default=True,
            help="A mailbox with more messages is not loaded.",
        ),
        click.option(
            "--max-total",
            type=Size(),
            default=f"{Limits.total // GIB}GiB",
            show_default=True,
            help="A mailbox that is longer than this, unpacked, is not loaded.",
        ),
        click.option(
            "--max-message",
            type=Size(),
            default=f"{Limits.message // MIB}MiB",
            show_default=True,
            help="A longer message is cut at this size.",
        ),
        click.option(
            "--max-headers",
            type=Size(),
            default=f"{Limits.headers // MIB}MiB",
            show_default=True,
            help="Longer headers of a message are cut at this size.",
        ),
    ):
        command = option(command)
    return command


@click.command(epilog=EXAMPLE)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
)
@click.option(
    "--into", default="messages", show_default=True, help="The table, in the target schema."
)
@click.option("--list", "newsgroup", help="Name of the list; default: the one in the messages.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each file.")
@limit_options
@project_options
def load(
    files: tuple[Path, ...],
    into: str,
    newsgroup: str | None,
    as_json: bool,
    given: DbtOptions,
    **sizes: int,
) -> None:
    """Load a mailbox or a list archive: each new message becomes a row of the messages table."""
    _refuse_without_pyarrow()
    from tapestry.mail.append import create_table

    limits = Limits(**{name.removeprefix("max_"): value for name, value in sizes.items()})
    _check_name(into)
    failed: list[MailboxUnreadable] = []
    with open_project(given) as project:
        table = into if "." in into else f"{project.schema}.{into}"
        _refuse_built(project, table)
        create_table(project.session, table)
        for file in files:
            try:
                result = load_file(project.session, table, file, newsgroup, limits)
            except MailboxUnreadable as error:
                failed.append(error)
                if len(files) > 1:
                    _tell_failed(file, error, as_json)
                continue
            click.echo(json.dumps(result) if as_json else _sentence(result))
    if failed and len(files) == 1:
        raise failed[0]
    if failed:
        raise MailboxUnreadable(
            f"{len(failed)} of {counted(len(files), 'file')} not loaded, for the reasons above",
            hint="the others are loaded; load these again once the reasons are gone",
        )


def _refuse_without_pyarrow() -> None:
    """Raise ConfigurationError where the extra `mail` is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "reading mail needs pyarrow, which is not installed",
            hint="pip install 'dbt-tapestry[mail]'",
        ) from error


def _check_name(into: str) -> None:
    """Names that every catalog takes; in others Spark would see variables or parts of its own."""
    if not _NAME.fullmatch(into):
        raise ConfigurationError(
            f"--into {printable(into[:100])} is no name of a table",
            hint="use letters, digits, _ and -, with a schema and a dot before it if need be",
        )


def _tell_failed(file: Path, error: MailboxUnreadable, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"file": str(file), "error": described(error)}))
    click.echo(f"Error: {short(error)}", err=True)


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
    return bool(session.rows(f"SHOW SCHEMAS LIKE {string(schema)}")) and exists(session, table)


def load_file(
    session: Any,
    table: str,
    file: Path,
    newsgroup: str | None = None,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """Load one file; counts of what it held and of what is new.

    Raises MailboxUnreadable where nothing of it is loaded.
    """
    from tapestry.mail.append import append_new

    with temporary_folder() as folder:
        # Whatever the file is called: Spark is told of a name of our own.
        staged = folder / "messages.parquet"
        try:
            held = _stage(file, staged, newsgroup, limits)
        except (MailboxUnreadable, PermissionError, FileNotFoundError) as error:
            raise _about(file, error) from error
        new = append_new(session, table, staged)
    return {"file": str(file), "table": table, "new": new, **held}


def _stage(
    file: Path, staged: Path, newsgroup: str | None, limits: Limits | None
) -> dict[str, Any]:
    from tapestry.mail.stage import stage_mailbox
    from tapestry.mail.stage_parquet import stage_parquet

    if file.suffix.lower() == ".parquet":
        stage_parquet(file, staged, limits)
        return {}
    return asdict(stage_mailbox(file, staged, newsgroup, limits))


def _about(file: Path, error: MailboxUnreadable | OSError) -> MailboxUnreadable:
    where = printable(str(file))
    if isinstance(error, MailboxUnreadable):
        return MailboxUnreadable(error.reason, where, error.hint)
    return MailboxUnreadable(
        f"it cannot be read: {error.strerror}", where, "see that it is there and that you may"
    )


def _sentence(result: dict[str, Any]) -> str:
    file = printable(result["file"])
    if "read" not in result:
        return f"{file}: {counted(result['new'], 'new row')} in {result['table']}"
    there = result["staged"] - result["new"]
    clocks = result["clocks"]
    lines = [
        f"{file}: {counted(result['read'], 'message')}, {result['new']:,} new in "
        f"{result['table']}, {there:,} already there, {result['repeated']:,} repeated in the file",
        f"  ts from Received: {clocks['Received']:,}, from the From line: {clocks['From_']:,}, "
        f"from Date: {clocks['Date']:,}",
    ]
    counts = {"none": clocks["none"], **result, **result["skipped"]}
    counts |= result["doubts"]["counts"]
    lines += [f"  {counts[name]:,} {note}" for name, note in _NOTES.items() if counts[name]]
    named = result["doubts"]["named"]
    lines += [f"    {printable(one)}" for one in named]
    if left := sum(result["doubts"]["counts"].values()) - len(named):
        lines.append(f"    and {left:,} more")
    if not result["read"]:
        lines.append(f"  {_MAILDIR if Path(result['file']).is_dir() else _MBOX}")
    return "\n".join(lines)


_MBOX = "An mbox has a line that begins with `From ` before each message."
_MAILDIR = "In a folder, files named .eml are messages; in a Maildir, all files in cur and new."
_NOTES = {
    "none": "without a readable date: ts is NULL, no model sees them",
    "id_made_up": "without an id: made from their content",
    "broken": "could not be read at all: an id is all they have",
    "cut": "with headers longer than the limits: what is beyond is left out",
    "long": "longer than --max-message: their size counts up to there",
    "lines": "with a wrong line in their headers: the other lines are read",
    "dates": "with a time that cannot be read: date is NULL, or ts is of another clock",
    "assumed": "with a time that is read under an assumption",
    "authors": "with a doubtful author",
    "ids": "with a doubtful id, of their own or of what they answer",
    "links": "skipped, being links: none is followed",
    "special": "skipped, being pipes, sockets, devices or folders",
    "unreadable": "skipped, being gone, forbidden or unreadable",
    "changed": "skipped, being written to meanwhile: load again",
    "deep": f"folders skipped, being more than {DEEPEST} below each other",
    "other": "skipped, not being named .eml",
    "before": "bytes skipped: the file begins in the middle, before its first line `From …`",
}
