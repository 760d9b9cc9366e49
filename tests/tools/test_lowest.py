"""The lower bounds of what users install, and what an archive of the sources holds."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from tools.lowest import lowest, requirements

ROOT = Path(__file__).parents[2]
MENDED = {"jinja2": "3.1.6", "requests": "2.33", "pyyaml": "5.4", "pyarrow": "23.0.1"}
"""The first versions without the holes that are known of them."""


@pytest.mark.parametrize("name", MENDED)
def test_no_version_with_a_known_hole_is_admitted(name: str) -> None:
    (bound, *_) = {lowest(one) for one in requirements() if one.name == name}
    assert bound >= Version(MENDED[name])


def test_each_has_a_lower_bound_that_the_environment_keeps() -> None:
    names = {one.name for one in requirements()}
    assert {"dbt-core", "pyspark", "sqlglot", "deltalake"} <= names
    assert "dbt-tapestry" not in names
    for one in requirements():
        assert one.specifier.contains(str(lowest(one))), one


def test_what_has_no_lower_bound_is_told() -> None:
    assert str(lowest(Requirement("a~=1.2,>=1.1,<2"))) == "1.2"
    with pytest.raises(ValueError, match="no lower bound"):
        lowest(Requirement("a<2"))


def test_the_archive_of_the_sources_holds_what_stands_beside_them(tmp_path: Path) -> None:
    hatch = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(hatch, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"LICENSE", "README.md", "SECURITY.md", "pyproject.toml"} <= names
    assert "python/tapestry/children.py" in names
    assert not [name for name in names if name.startswith(("tests/", ".venv"))]
