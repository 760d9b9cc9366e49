"""The lowest version of each dependency that pyproject.toml admits, as constraints for pip.

    python -m tools.lowest >constraints.txt

`make test-lowest` installs them and runs tests with them: a bound says what works.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
USED = ("local", "mail", "compiled", "report", "expectations")
"""The extras that run for users; what the tests themselves need is no promise."""


def requirements(extras: tuple[str, ...] = USED) -> Iterator[Requirement]:
    """What the project asks for on this machine, its own extras left out."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    for text in [*project["dependencies"], *(one for extra in extras for one in optional[extra])]:
        found = Requirement(text)
        if found.name != project["name"] and (found.marker is None or found.marker.evaluate()):
            yield found


def lowest(requirement: Requirement) -> Version:
    """The lowest version that a requirement admits; ValueError where it names none."""
    bounds = [Version(one.version) for one in requirement.specifier if one.operator in _LOWER]
    if not bounds:
        raise ValueError(f"{requirement} has no lower bound")
    return max(bounds)


_LOWER = (">=", "==", "~=")


def main() -> None:
    """Print one line a dependency."""
    for name, version in sorted({(one.name, str(lowest(one))) for one in requirements()}):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
