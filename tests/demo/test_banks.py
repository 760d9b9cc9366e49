"""The seed of banks: its types, its odd rows, and the example that reads it as a look-up table."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal

import jinja2
import pytest
import yaml

from tapestry.demo.archive import Archive
from tapestry.demo.made_up import made_up_transfers
from tapestry.demo.play import WITH_SEEDS
from tapestry.demo.tables import SEEDS
from tapestry.demo.transfers import bank_names
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite

from .archives import ROOT
from .fedwire import TRANSACTION

MODEL = "above_the_limit_of_its_bank"
BANKS = Source(
    "banks", tuple(Column(name, kind.lower()) for name, kind in SEEDS["banks"].items()), None
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return made_up_transfers(450, 3, tmp_path_factory.mktemp("archive"))


def test_the_types_are_those_that_dbt_is_told() -> None:
    (seed,) = yaml.safe_load((ROOT / "seeds/banks.yml").read_text("utf-8"))["seeds"]
    told = {name: kind.upper() for name, kind in seed["config"]["column_types"].items()}
    assert told == SEEDS["banks"]
    assert [column["name"] for column in seed["columns"]] == list(told)
    assert seed["config"]["meta"] == {"arrival": "static"}
    assert [path.stem for path in sorted((ROOT / "seeds").glob("*.csv"))] == list(SEEDS)
    assert {path.stem for path in (ROOT / "models/banks").glob("*.sql")} == WITH_SEEDS == {MODEL}


def test_values_keep_their_types(archive: Archive) -> None:
    rows = archive.database.execute("from main.banks order by aba").fetchall()
    assert rows[0] == ("000000101", "BANK 0101", Decimal("50000.00"), date(2004, 3, 1))
    assert [sum(value is None for value in column) for column in zip(*rows, strict=True)] == [
        *(0, 1, 1, 1)
    ]
    names = bank_names()
    for aba, name, *_ in rows:
        assert len(aba) == 9
        assert name in (None, names[int(aba)].as_py())


def test_the_example_gives_what_the_definition_says(archive: Archive) -> None:
    """Run by run; the planted transfers are among the answers, and one at its limit is not."""
    template = jinja2.Template((ROOT / f"models/banks/{MODEL}.sql").read_text("utf-8"))
    text = template.render(source=lambda _, name: name, ref=lambda name: name)
    rewriting = rewrite(text, Catalog({"transaction": TRANSACTION, "banks": BANKS}))
    found: list[tuple[object, ...]] = []
    tau = None
    for step, until in enumerate(archive.steps, 1):
        visible = f"(select * from main.transaction where step <= {step})"
        scans = {
            "transaction": Scan(visible, "arr", "rid", late=True),
            "banks": Scan("main.banks", None, None),
        }
        sql = rewriting.incremental(Window(tau, until), scans, dialect="duckdb")
        found += archive.database.execute(sql).fetchall()
        tau = until
    expected = archive.database.execute(f"from {archive.expect(MODEL)}").fetchall()
    assert Counter(found) == Counter(expected)
    amounts = {(row[2], row[3]) for row in found}
    assert (Decimal("120000000.00"), "CITIBANK") in amounts
    assert (Decimal("70000000.00"), "BANK 0101") in amounts
    assert not {name for _, name in amounts} & {"BANK 0203", "BANK 0502", "BANK 0601", "BANK 0604"}
