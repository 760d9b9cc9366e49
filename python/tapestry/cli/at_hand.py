"""The tables of a project's schema for those who only read them: without Spark where possible."""

from __future__ import annotations

from tapestry.cli.project import Project
from tapestry.report.read import SessionTables, Tables, tables_at_hand


def tables_of(project: Project, schema: str = "") -> Tables:
    """The tables of a schema, by default the target's."""
    credentials, schema = project.config.credentials, schema or project.schema
    at_hand = None
    if credentials.embedded:
        settings = credentials.server_side_parameters
        at_hand = tables_at_hand(settings, schema, project.root, credentials.master)
    return at_hand or SessionTables(project.session, schema)
