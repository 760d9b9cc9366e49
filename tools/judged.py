"""Which tests judge the rewriting now: all of them, or a few queries where nothing has changed.

    python -m tools.judged [QUERIES]     pytest's arguments, and on stderr why it is those
    python -m tools.judged --passed      all of them passed: remember of which texts

Random queries against the definition, and mutants that they must notice, say something of the
rewriting, of what verifies it and of themselves. While the texts of these are those of which all of
it has passed (``tests/judged.txt``), the gate asks a few queries that are new with each commit.
The digest is of the files as they lie there: neither a history nor git is needed.
"""

from __future__ import annotations

import hashlib
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSED = ROOT / "tests/judged.txt"
ORACLE = "tests/property/test_rewrite_equals_oracle.py"
JUDGES = (
    ORACLE,
    "tests/property/test_oracle.py",
    "tests/property/test_rewriting_mutants.py",
    "tests/verification",
)
CHANGING = (
    "python/tapestry/sql",
    "python/tapestry/verification",
    "python/tapestry/quoting.py",
    "python/tapestry/instants.py",
    "tests/property",
    "tests/verification",
    "tests/seeds.py",
)
"""What the judges judge, and they themselves."""
APART = (
    "python/tapestry/sql/commits",
    "python/tapestry/sql/operators",
    "tests/property/test_kept_by_keys.py",
    "tests/property/test_lifted_commits.py",
    "tests/property/test_slips_of_keys.py",
    "tests/property/test_sums_of_changes.py",
)
"""What lies among it and is judged by itself: the comparison of two versions of a query."""
ENGINES = ("sqlglot", "sqlglotc", "duckdb")
QUERIES, FEW = 250, 50


def digest(root: Path = ROOT) -> str:
    """Of all files that matter, by their place and text, and of the engines' versions."""
    found = hashlib.sha256()
    for folder in CHANGING:
        place = root / folder
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in files:
            name = path.relative_to(root).as_posix()
            if path.suffix in (".py", ".json", ".sql") and not name.startswith(APART):
                found.update(f"{name}\n".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    for name in ENGINES:
        try:
            found.update(f"{name} {version(name)}\n".encode())
        except PackageNotFoundError:
            continue  # the compiled sqlglot is an extra
    return found.hexdigest()


def chosen(queries: int, root: Path = ROOT) -> tuple[list[str], str]:
    """The arguments of pytest, and why."""
    passed = root / PASSED.relative_to(ROOT)
    known = passed.read_text("utf-8").split() if passed.exists() else []
    if digest(root) in known:
        why = f"unchanged since all judges passed: {FEW} new queries"
        return [ORACLE, "--queries", str(FEW)], why
    why = f"changed since all judges passed, if they ever did: {queries} queries and the mutants"
    return [*JUDGES, "--queries", str(queries)], why


def main(arguments: list[str]) -> int:
    """Say which tests, or remember that they passed."""
    if arguments == ["--passed"]:
        PASSED.write_text(f"{digest()}\n", "utf-8")
        return 0
    found, why = chosen(int(arguments[0]) if arguments else QUERIES)
    print(f"rewriting: {why} (python -m tools.judged)", file=sys.stderr)
    print(" ".join(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
