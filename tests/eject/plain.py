"""Real dbt runs of an ejected project, each a process of its own with another adapter."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from tests.eject.board import ejected_files


class PlainProject:
    """An ejected project in a folder with a profile for one engine."""

    def __init__(
        self,
        root: Path,
        dialect: str,
        output: Mapping[str, Any],
        files: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root
        for name, text in (files or ejected_files(dialect)).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        profile = {f"ejected_{dialect}": {"target": "x", "outputs": {"x": dict(output)}}}
        (root / "profiles.yml").write_text(yaml.safe_dump(profile))

    def dbt(self, as_of: str, *arguments: str, fails: bool = False) -> str:
        """One dbt command at an instant; its output."""
        done = subprocess.run(
            [sys.executable, "-m", "dbt.cli.main", *arguments],
            cwd=self.root,
            env={**os.environ, "TAPESTRY_AS_OF": as_of, "DBT_PROFILES_DIR": str(self.root)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        output = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, output
        return output
