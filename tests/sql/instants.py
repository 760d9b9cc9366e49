"""Rows and instants on which solved atoms are compared with their definition."""

from datetime import datetime, timedelta

ROWS = """
    SELECT CAST(ts AS TIMESTAMP) AS ts, CAST(due AS TIMESTAMP) AS due, CAST(d AS DATE) AS d,
           CAST(n AS INT) AS n, CAST(x AS DECIMAL(10, 2)) AS x
    FROM (VALUES
      ('2026-01-02 03:00:00', '2026-01-02 05:00:00', '2026-01-02', 1, 1.5),
      ('2026-01-02 00:00:00', '2026-01-01 00:00:00', '2026-01-01', 0, 0.0),
      ('2026-01-01 23:59:59.999999', '2026-01-02 00:00:00.000001', '2026-01-03', -1, -0.5),
      (NULL, '2026-01-02 03:30:00', '2025-12-31', 2, 2.0),
      ('2026-01-01 00:00:00', NULL, '2026-02-01', 2026, 3600.25),
      ('2025-12-31 22:00:00', '2026-01-02 02:00:00', NULL, NULL, NULL),
      ('2026-01-02 02:59:59.5', '2026-01-02 03:00:00', '2026-01-02', 2025, -3600.5),
      ('2026-02-01 00:00:00', '2026-01-02 03:00:00', '2025-01-01', 3, 1.0)
    ) AS v(ts, due, d, n, x)
"""

_BASES = (
    *("2025-12-31", "2026-01-01", "2026-01-02", "2026-01-03", "2026-02-01"),
    *("2025-01-01", "2027-01-01", "2026-01-26", "2026-04-01"),
)
_HOURS = (-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 22, 23)
_MICROS = (-1, 0, 1, 500_000)


def instants() -> list[str]:
    """Instants around every step of the atoms: whole hours, and a microsecond on each side."""
    return [
        (datetime.fromisoformat(base) + timedelta(hours=h, microseconds=us)).isoformat(sep=" ")
        for base in _BASES
        for h in _HOURS
        for us in _MICROS
    ]


def disagreements(atom: str, solved: dict[str, str]) -> str:
    """A select list: rows where solution and atom differ, and rows that are true, false."""
    tests = {"true": "IS TRUE", "false": "IS FALSE", "unknown": "IS NULL"}
    columns = [
        f"SUM(CASE WHEN (({atom}) {test}) <> ({solved[wanted]}) THEN 1 ELSE 0 END)"
        for wanted, test in tests.items()
    ]
    columns += [f"SUM(CASE WHEN {atom} THEN 1 ELSE 0 END)"]
    columns += [f"SUM(CASE WHEN NOT ({atom}) THEN 1 ELSE 0 END)"]
    return ", ".join(columns)
