"""Commands of tapestry, carried out in this process."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from tapestry.cli.main import commands


def tapestry(*words: str) -> Result:
    """A command in the current folder."""
    return CliRunner().invoke(commands, list(words))


def tapestry_on(project: Any, *words: str) -> Result:
    """A command on the project of dbt's fixture."""
    return tapestry(
        *words, "--project-dir", str(project.project_root), "--profiles-dir", project.profiles_dir
    )
