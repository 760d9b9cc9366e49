"""The checks of `tapestry doctor` before it connects: packages, Java, jars, profile, models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from tapestry.cli.end_command import short
from tapestry.errors import ConfigurationError, TapestryError

OK, NOTE, WRONG, SKIPPED = "ok", "note", "wrong", "skipped"
INSTALL_LOCAL: Final = 'pip install "dbt-tapestry[local]"'
PACKAGES: Final = ("dbt-tapestry", "dbt-core", "dbt-spark", "sqlglot")
LOCAL: Final = ("pyspark", "delta-spark")


@dataclass(frozen=True)
class Diagnosis:
    """The result of one check; ``fix`` is the command or line that solves it."""

    check: str
    status: str
    told: str
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        """The finding as plain values."""
        return asdict(self)


def check_packages(embedded: bool) -> Iterator[Diagnosis]:
    """Check that the packages are installed, and that pyspark and delta-spark fit each other."""
    found: dict[str, str] = {}
    for name in PACKAGES + (LOCAL if embedded else ()):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            yield Diagnosis("packages", WRONG, f"{name} is not installed", INSTALL_LOCAL)
    if found:
        told = ", ".join(f"{name} {number}" for name, number in found.items())
        yield Diagnosis("packages", OK, told)


def check_java() -> Diagnosis:
    """Check that there is a Java on which Spark runs."""
    from dbt_common.exceptions import DbtRuntimeError

    from dbt.adapters.tapestry.java import check_java as version_of_java

    try:
        return Diagnosis("java", OK, f"Java {version_of_java()}")
    except DbtRuntimeError as error:
        told = " ".join(error.msg.splitlines()[0].split())
        fix = "apt-get install openjdk-17-jre-headless (macOS: brew install openjdk@17), or:"
        return Diagnosis("java", WRONG, told, f"{fix} export JAVA_HOME=<a Java 17 or 21>")


def check_jars(given: dict[str, str]) -> Diagnosis:
    """Check whether Delta's jars are on this machine already."""
    from dbt_common.exceptions import DbtRuntimeError

    from dbt.adapters.tapestry.jars import jar_settings

    try:
        settings = jar_settings(given)
    except DbtRuntimeError as error:
        return Diagnosis("jars", WRONG, error.msg.splitlines()[0], INSTALL_LOCAL)
    except ConfigurationError as error:
        return trouble("jars", error)
    wanted = settings.get("spark.jars.packages")
    if wanted is None:
        count = len(settings["spark.jars"].split(","))
        return Diagnosis("jars", OK, f"{count} files, found at an earlier start")
    return Diagnosis(
        "jars",
        NOTE,
        f"not fetched yet: the first start needs the network for {wanted}",
        "dbt debug  (once, with a network; a mirror: spark.jars.ivySettings in the profile)",
    )


def check_zone(zone: str) -> Diagnosis:
    """Days are calendar arithmetic: are they always 24 hours in this zone?"""
    from tapestry.sql.facts.fixed_lengths import zone_is_fixed

    if zone_is_fixed(zone):
        return Diagnosis("time zone", OK, zone)
    return Diagnosis(
        "time zone",
        NOTE,
        f"{zone} has transitions: conditions of a day or longer on now() are refused",
        "in the profile: server_side_parameters: {spark.sql.session.timeZone: UTC}",
    )


def trouble(check: str, error: Exception, fix: str = "") -> Diagnosis:
    """An error that a check ended with, as a finding."""
    if isinstance(error, TapestryError):
        return Diagnosis(check, WRONG, _line(error.reason), _line(error.hint) or fix)
    # Through dbt comes one of ours as text: `reason`, `  in: where`, `  do: hint`.
    what, _, hint = short(error).partition("\n  do: ")
    return Diagnosis(check, WRONG, _line(what), _line(hint) or fix)


def _line(text: str, width: int = 300) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def embedded(config: Any) -> bool:
    """Return whether this profile starts a Spark in this process."""
    credentials = config.credentials
    master = getattr(credentials, "master", None) or ""
    return bool(getattr(credentials, "embedded", False)) and not master.startswith("sc://")
