"""`tapestry doctor`: looks at everything that a run needs, and says how to fix what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tapestry.cli.checks import (
    NOTE,
    OK,
    SKIPPED,
    WRONG,
    Diagnosis,
    check_jars,
    check_java,
    check_packages,
    check_zone,
    embedded,
    trouble,
)
from tapestry.cli.models import Manifest, read_manifest
from tapestry.cli.options import DbtOptions, project_options
from tapestry.cli.project import (
    check_project_file,
    open_project,
    project_root,
    runtime_config,
)
from tapestry.report.text import models_by_kind

EXAMPLE = """\b
Example:
  tapestry doctor
  tapestry doctor --target cluster
  tapestry doctor --json | jq '.findings[] | select(.status == "wrong")'

Checks the installed packages, Java, Delta's jars, the project and its profile, the connection and
its time zone, the arrival column and layout of every source of a continuous model, how long the
sources of maintained models keep old versions, whether the storage allows only one of two
concurrent writers to commit, and whether the state of the models can be read. It changes nothing.
Exit code 1 if something is wrong; notes do not count.
"""
MARKS = {"ok": "✓", "note": "!", "wrong": "✗", "skipped": "-"}
COLOURS = {"ok": "green", "note": "yellow", "wrong": "bold red", "skipped": "dim"}


@click.command(epilog=EXAMPLE)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@project_options
def doctor(as_json: bool, given: DbtOptions) -> None:
    """Check what a run needs: Java, jars, profile, sources, storage; say how to fix it."""
    from rich.console import Console

    from tapestry.cli.show import console

    to: Console = console()
    findings: list[Diagnosis] = []
    for finding in examine(given):
        findings.append(finding)
        if not as_json:  # said as it is found: a start of Spark takes seconds
            colour = COLOURS[finding.status]
            to.print(f"[{colour}]{MARKS[finding.status]} {finding.check}[/{colour}]", end="  ")
            to.print(finding.told, markup=False)
            if finding.fix:
                to.print(f"    fix: {finding.fix}", markup=False)
    wrong = sum(finding.status == WRONG for finding in findings)
    if as_json:
        listed = [finding.as_json() for finding in findings]
        click.echo(json.dumps({"wrong": wrong, "findings": listed}, indent=2))
    else:
        click.echo(f"{wrong} wrong" if wrong else "nothing is wrong")
    if wrong:
        click.get_current_context().exit(1)


def examine(given: DbtOptions) -> Iterator[Diagnosis]:
    """All findings in order; what needs something that is wrong is skipped, and says so."""
    try:
        root = project_root(given)
        check_project_file(root)
    except Exception as error:
        yield from check_packages(embedded=True)
        yield check_java()
        yield trouble("project", error)
        return
    try:
        config = runtime_config(given)
    except Exception as error:
        yield from check_packages(embedded=True)
        yield check_java()
        of_profile = "profile" in f"{type(error).__name__} {error}".lower()
        yield trouble("profile" if of_profile else "project", error, "dbt debug  says more")
        return
    yield Diagnosis("project", OK, str(root / "dbt_project.yml"))
    told = f"{config.profile_name}, target {config.target_name}: {config.credentials.method}"
    yield Diagnosis("profile", OK, f"{told}, schema {config.credentials.schema}")
    ready = True
    first = list(check_packages(embedded(config)))
    if embedded(config):
        first += _of_a_driver_here(config, root)
    for finding in first:
        ready = ready and finding.status != WRONG
        yield finding
    manifest = None
    for found in _models(given):
        if isinstance(found, Diagnosis):
            yield found
        else:
            manifest = found
    if not ready:
        yield Diagnosis("connection", SKIPPED, "not tried: fix what is wrong above first")
        return
    yield from _connected(manifest, given)


def _of_a_driver_here(config: Any, root: Path) -> Iterator[Diagnosis]:
    """Yield the checks before a Spark of dbt's own is started."""
    from tapestry.cli.check_catalog import check_catalog

    given = dict(config.credentials.server_side_parameters or {})
    yield check_java()
    yield check_jars(given)
    yield check_catalog(given, root, config.credentials.master)


def _models(
    given: DbtOptions,
) -> Iterator[Diagnosis | Manifest]:
    """The parsed project, and what there is to say of its models."""
    try:
        manifest = read_manifest(given)
    except Exception as error:
        yield trouble("models", error, "dbt parse  shows the whole message")
        return
    yield manifest
    names = manifest.of_kinds()
    if names:
        counts = models_by_kind(manifest.kind(name) for name in names)
        yield Diagnosis("models", OK, f"{counts}: {', '.join(names[:10])}")
    else:
        write = "in a model: {{ config(materialized='continuous') }}, or 'maintained'"
        yield Diagnosis("models", NOTE, "none has a materialization of dbt-tapestry", write)


def _connected(manifest: Manifest | None, given: DbtOptions) -> Iterator[Diagnosis]:
    from tapestry.cli.check_rules import check_rules
    from tapestry.cli.check_server import check_server
    from tapestry.cli.check_sources import check_sources
    from tapestry.cli.check_state import check_state
    from tapestry.cli.check_storage import check_storage

    try:
        with open_project(given) as project:
            ((zone,),) = project.session.rows("select current_timezone()")
            yield Diagnosis("connection", OK, "Spark answers")
            yield check_zone(str(zone))
            yield check_storage(project.session, project.schema)
            if not embedded(project.config):
                yield check_server(project.session)
            yield from check_state(project.session, project.schema)
            if manifest is not None:
                yield from check_sources(project.session, manifest, project.schema)
                yield from check_rules(project.session, manifest)
    except Exception as error:
        yield trouble("connection", error, "logs/spark.log and logs/dbt.log have the whole message")
