"""What a refusal says is to be done, done: every way out of every refusal is accepted.

The cases stand in ``tests/sql/advice``.  What the code says and no case tries stands below, with
the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.sql.advice import clock, later, names, pivots, reading, sizes, unordered
from tests.sql.advice.case import (
    UNASKED,
    Case,
    Way,
    accepted,
    meant_rows,
    refusal_of,
    rows_of,
)
from tools.reference.errors import Message, messages

from tapestry.errors import Refusal
from tapestry.quoting import identifier
from tapestry.sql.read.refuse_unread import INSTEAD
from tapestry.sql.read.refuse_unsupported import UNSUPPORTED

ROOT = Path(__file__).resolve().parents[2]
CASES = [
    one
    for module in (clock, later, names, pivots, reading, sizes, unordered)
    for one in module.CASES
]
IDS = [f"{n}-{one.code}-{one.refused.query[:60]}" for n, one in enumerate(CASES)]
SPARK = "tests/spark/test_sources_describe.py: what Spark says of a name is needed"
IN_PLACES = "no text is known that leads there: tests/sql/test_expressions_in_places.py"
WITHIN = "no text leads there: an earlier pass refuses it with other words"
UNTRIED: Mapping[tuple[str, str], str] = {
    ("arrival-type", "let the loader write"): SPARK,
    ("no-arrival-column", "set arrival or"): SPARK,
    ("temporary-view", "make it a Delta table"): SPARK,
    ("unknown-relation", "load or build it"): SPARK,
    ("path", "give it a name"): "tests/spark/test_maintained_pins.py: relations without a pin",
    ("own-column", "call the column"): "tests/spark/test_maintained_odd.py: columns called as ours",
    (
        "unique-key",
        "name columns that tell",
    ): "tests/property/test_kept_by_keys.py: no key, and why",
    ("own-column", "over another continuous"): "the same words as those of the rewriter's",
    (
        "clock-in-rule",
        "compare with commit_time",
    ): "tests/spark/test_actions.py: the clock in a rule",
    ("read-otherwise", "list the columns"): "asks for a report: a mistake of ours",
    ("read-otherwise", "see `tapestry explain`"): "asks for a report: a mistake of ours",
    ("read-otherwise", "write CAST("): "asks for a report: a mistake of ours",
    (
        "written-otherwise",
        "put parentheses around its",
    ): IN_PLACES,
    ("reads-itself", "remove {{ this }} and"): "test_a_query_without_its_own_table_is_accepted",
    ("reads-itself", "remove {{ this }}: a run"): "tests/advise: a project that is not parsed",
    ("odd-type", "rename the field in the table, or read"): "tests/sql/test_column_types.py",
    ("variable-in-name", "rename it"): "test_a_name_without_a_variable_is_quoted",
    ("collated-hash", "write CAST("): "tests/spark/test_value_hash.py: types as Spark tells them",
    ("no-answer", "leave it out"): WITHIN,
    ("no-source", "let it read"): WITHIN,
    ("not-checkable", "put the set operation into"): WITHIN,
    ("not-checkable", "write ROWS BETWEEN"): WITHIN,
    ("not-checkable", "compare now() with the value"): WITHIN,
    ("generator", "explode in a table upstream, by"): "tests/eject: what a database has no form of",
    ("odd-from", "read it from a table"): WITHIN,
    ("unknown-column", "qualify it"): WITHIN,
    ("untracked-commits", "… (it writes a commit"): "tests/spark: what Spark says of it is needed",
    ("untracked-commits", "copy the table"): "tests/spark: what Spark says of it is needed",
    ("not-a-select", "write it as SELECT"): WITHIN,
    ("scalar-subquery", "write it as [NOT] EXISTS"): WITHIN,
    ("own-column", "rename it in a view over"): "a source with a column called _instant is needed",
    (
        "too-many-alternatives",
        "compare now() with a column",
    ): "more than 64 arms of a derived table",
    ("unknown-column", "define it with WINDOW"): WITHIN,
}
"""Code, and the beginning of a hint, that no case here tries; with the reason."""


@pytest.mark.parametrize("one", CASES, ids=IDS)
def test_every_way_out_is_accepted(one: Case) -> None:
    refusal = refusal_of(one.refused)
    assert refusal is not None, "it is not refused"
    assert refusal.code == one.code
    assert one.ways, "no way out is tried"
    for way in one.ways:
        accepted(way)


@pytest.mark.parametrize(
    "one",
    [case for case in CASES if case.meant != UNASKED],
    ids=[name for case, name in zip(CASES, IDS, strict=True) if case.meant != UNASKED],
)
def test_every_way_out_gives_the_rows_that_were_meant(one: Case) -> None:
    wanted = meant_rows(one)
    assert wanted, "no row shows nothing"
    for way in one.ways:
        assert rows_of(way) == wanted, way.query


def said() -> list[Refusal]:
    """The refusals of all cases."""
    found = [refusal_of(one.refused) for one in CASES]
    return [refusal for refusal in found if refusal is not None]


def advice() -> list[Message]:
    """Each piece of advice that the code holds: from calls, and from tables of words."""
    found = [one for one in messages(ROOT) if one.kind == "Refusal" and one.hint]
    tables = [*(hint for _, _, hint in UNSUPPORTED), *INSTEAD.values()]
    return [*found, *(Message("Refusal", "", hint, "unsupported-clause") for hint in tables)]


def test_each_piece_of_advice_is_tried() -> None:
    tried = said()
    missing = {
        (one.code, one.hint)
        for one in advice()
        if not any(one.code == r.code and _is(one.hint, r.hint) for r in tried)
    }
    excused = {
        (code, hint)
        for code, hint in missing
        for c, begin in UNTRIED
        if code == c and hint.startswith(begin)
    }
    assert missing == excused
    assert len(excused) == len(UNTRIED), "what is tried, or gone, needs no reason"


def _is(pattern: str, hint: str) -> bool:
    """Is it this text, with something for each … ?"""
    told = ".*".join(re.escape(part) for part in pattern.split("…"))
    return re.fullmatch(told, " ".join(hint.split()), re.DOTALL) is not None


def test_a_query_without_its_own_table_is_accepted() -> None:
    text = "select id from messages{% if is_incremental() %} where ts > (select max(ts) from t)"
    accepted(Way(text.partition("{%")[0]))


def test_a_name_without_a_variable_is_quoted() -> None:
    with pytest.raises(Refusal):
        identifier("a${b}")
    assert identifier("a_b") == "`a_b`"


@pytest.mark.parametrize(
    "view",
    [
        "select id, json_tuple(author, 'a') as x from messages",
        "select id, rand() as x from messages",
    ],
)
def test_a_view_is_no_table(view: str) -> None:
    """Why advice says table: what a view holds is refused as if it stood in the model."""
    alone = refusal_of(Way(view))
    inside = refusal_of(Way("select id, x from v", views={"v": view}))
    assert alone is not None
    assert inside is not None
    assert (alone.code, alone.hint) == (inside.code, inside.hint)
