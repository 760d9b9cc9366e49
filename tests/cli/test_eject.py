"""`tapestry eject`: which models, and which files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.answers import manifest

from tapestry.cli.eject import with_upstream, write_files
from tapestry.errors import ConfigurationError


def test_upstream_continuous_models_are_ejected_too() -> None:
    assert with_upstream(manifest("ts"), ["second"]) == ["first", "second"]
    with pytest.raises(ConfigurationError, match="is not continuous or maintained"):
        with_upstream(manifest("ts"), ["view"])


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    files = {"models/a.sql": "one", "b.yml": "two"}
    (tmp_path / "b.yml").write_text("mine")
    with pytest.raises(ConfigurationError, match="there already"):
        write_files(tmp_path, files, overwrite=False)
    assert not (tmp_path / "models").exists(), "all or none"
    write_files(tmp_path, files, overwrite=True)
    assert (tmp_path / "models/a.sql").read_text() == "one"
