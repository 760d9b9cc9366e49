"""`tapestry doctor`: the sources of the models."""

from __future__ import annotations

from typing import Any

from tests.cli.answers import Answers, manifest

from tapestry.cli.check_sources import check_sources


def _columns(*names: str) -> list[tuple[str, str, None]]:
    rows = [(name, "timestamp" if name == "ts" else "int", None) for name in names]
    return [*rows, ("", "", None), ("# Detailed Table Information", "", None),
            ("Provider", "delta", None)]  # fmt: skip


def _detail(files: int, clustered: list[str]) -> list[tuple[Any, ...]]:
    return [("delta", "id", "n", None, "file:/x", None, None, [], clustered, files, 10, {}, 1, 2)]


def test_sources_are_looked_at() -> None:
    many = [f"c{n}" for n in range(40)]
    answers = {
        "DESCRIBE TABLE EXTENDED `db`.`messages`": _columns("id", "ts"),
        "DESCRIBE TABLE EXTENDED `db`.`view`": [
            ("id", "int", None),
            ("# Detailed Table Information", "", None),
            ("Type", "VIEW", None),
            ("View Text", "select id from db.first", None),
        ],
        "DESCRIBE DETAIL": _detail(100, []),
    }
    found = list(check_sources(Answers(answers), manifest("ts"), "db"))
    assert [f.status for f in found] == ["ok", "note", "ok"]
    assert "cluster by (`ts`)" in found[1].fix
    answers["DESCRIBE DETAIL"] = _detail(100, ["ts"])
    assert [f.status for f in check_sources(Answers(answers), manifest("ts"), "db")] == ["ok", "ok"]
    answers["DESCRIBE TABLE EXTENDED `db`.`messages`"] = _columns(*many, "ts")
    found = list(check_sources(Answers(answers), manifest("ts"), "db"))
    assert "keeps no statistics of ts" in found[1].told
    (wrong, *_) = check_sources(Answers(answers), manifest(None), "db")
    assert (wrong.status, "loaded_at_field: ts" in wrong.fix) == ("wrong", True)
    (wrong, *_) = check_sources(Answers(answers), manifest("c1"), "db")
    assert (wrong.status, "has the type int" in wrong.told) == ("wrong", True)
    source, view = check_sources(Answers({}), manifest("ts"), "db")
    assert "there is no table or view db.messages" in source.told
    assert source.fix.startswith("load or build it first")
    assert view.fix == "dbt run --select view"


def test_a_table_without_a_time_arrives_with_its_commits() -> None:
    answers = {
        "DESCRIBE TABLE EXTENDED `db`.`messages`": _columns("id", "parent"),
        "DESCRIBE DETAIL": _detail(1, []),
    }
    needed = (
        "ALTER TABLE `db`.`messages` SET TBLPROPERTIES ('delta.enableRowTracking' = 'true',"
        " 'delta.enableInCommitTimestamps' = 'true')"
    )
    (wrong, *_) = check_sources(Answers(answers), manifest(None), "db")
    assert wrong.fix.startswith(f"{needed}; in its YAML: config: {{meta: {{arrival: commit}}}}")
    (wrong, *_) = check_sources(Answers(answers), manifest("commit"), "db")
    assert (wrong.status, wrong.fix) == ("wrong", needed)
    properties = {"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"}
    detail = list(_detail(1, [])[0])
    answers["DESCRIBE DETAIL"] = [tuple(properties if one == {} else one for one in detail)]
    (found, *_) = check_sources(Answers(answers), manifest("commit"), "db")
    assert (found.status, "rows arrive with the commits" in found.told) == ("ok", True)
