"""What a model's author can say, and what is refused with the valid words."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from tapestry.errors import ConfigurationError, WindowError
from tapestry.runs.context.clock import Clock, far_ahead, read_clock, window_end
from tapestry.runs.engine.instants import parse_instant, parse_length, parse_zone
from tapestry.runs.kinds.action.config import ActionConfig
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import ModelConfig

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


def test_defaults_and_meta() -> None:
    assert parse_config("continuous", {}) == ModelConfig(own=ContinuousConfig())
    parsed = parse_config(
        "continuous", {"lag": "5 minutes", "meta": {"late_rows": "warn", "owner": "me"}}
    )
    own = parsed.own
    assert (own.lag, own.late_rows) == (timedelta(minutes=5), "warn")


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"late_row": "warn"}, "did you mean late_rows"),
        ({"on_query_chnage": "fail"}, "did you mean on_query_change"),
        ({"On-Source-Rewrite": "fail"}, "did you mean on_source_rewrite"),
        ({"meta": {"expectation": []}}, "did you mean expectations"),
        ({"LAG": "1 hour"}, "did you mean lag"),
        ({"late_rows": "ignore"}, "deliver, warn, fail"),
        ({"on_query_change": "continu"}, "did you mean continue"),
        ({"on_schema_change": "sync_all_columns"}, "nothing is ever taken back"),
        ({"late_after": "soon"}, "is not a length of time"),
        ({"begin": "once"}, "is not an instant"),
        ({"assume": {"a": 1}}, "list of conditions"),
        ({"deterministic_functions": {"slug": True}}, "list of functions"),
        ({"determinstic_functions": ["slug"]}, "did you mean deterministic_functions"),
        ({"verify": "samples"}, "did you mean sample"),
        ({"verify_share": 2}, "is not a share"),
        ({"every": "often"}, "is not a length of time"),
        ({"every": "0 seconds"}, "is too short"),
        ({"priority": "high"}, "is not a whole number"),
        ({"memories": ["r1", ["r1"]]}, r"write it like \[r1, \[r1, r2\]\]"),
        ({"memories": [["r1", "R1"]]}, "two that it joins"),
        ({"memories": [["a", "b", "c"]]}, "and of pairs of them"),
        ({"memories": [["a", 1]]}, "and of pairs of them"),
        ({"memories": [" "]}, "is not a list of aliases"),
        ({"priority": 1.5}, "the greater number goes first"),
        ({"priority": True}, "is not a whole number"),
        ({"Priorty": 1}, "did you mean priority"),
        ({"verify_share": "a lot"}, "is not a share"),
        ({"expectations": [{"expct": "a > 0"}]}, "did you mean expect?"),
        ({"on_verify_failure": "drop"}, "fail, warn"),
        ({"lag": "1 hour", "meta": {"lag": "2 hours"}}, "keep one of them"),
    ],
)
def test_refused(config: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as error:
        parse_config("continuous", config)
    assert len(str(error.value).splitlines()) <= 5


def test_how_often_and_in_which_order() -> None:
    parsed = parse_config("continuous", {"every": "30s", "meta": {"priority": "-2"}})
    assert (parsed.every, parsed.priority) == (timedelta(seconds=30), -2)
    assert parse_config("continuous", {}).every is None


@pytest.mark.parametrize(
    "key", ["tags", "lookback", "latest_rows_view", "flag", "verified", "beginning", "on_error"]
)
def test_keys_of_other_packages_are_not_ours(key: str) -> None:
    parse_config("continuous", {key: "x", "meta": {key: "x"}})


def test_keys_of_dbt_are_known() -> None:
    parse_config("continuous", {"on_query_changes": 1}, known=frozenset({"on_query_changes"}))


def test_off_in_yaml_is_false_and_on_is_true() -> None:
    assert parse_config("continuous", {"verify": False}).verify == "off"
    assert parse_config("continuous", {"memories": True}).memories == "on"
    pairs = parse_config("continuous", {"memories": ["r1", ["r1", "r2"]]})
    assert pairs.memories == ("r1", ("r1", "r2"))
    with pytest.raises(ConfigurationError, match="verify: True is not a value of this key"):
        parse_config("continuous", {"verify": True})


@pytest.mark.parametrize(
    ("text", "length"),
    [("0 seconds", timedelta(0)), ("1 hour", HOUR), ("1 day 12 hours", timedelta(hours=36))],
)
def test_lengths(text: str, length: timedelta) -> None:
    assert parse_length(text, "lag") == length


def test_a_run_holds_its_batches_also_without_a_limit() -> None:
    def lease(timeout: str) -> timedelta:
        config = parse_config("action", {"timeout": timeout}).own
        assert isinstance(config, ActionConfig)
        return config.lease

    assert lease("1 hour") == timedelta(hours=4)
    assert lease("0 seconds") == timedelta(days=1)
    assert NOON + lease("366000 days") > NOON


@pytest.mark.parametrize(
    "text",
    ["", "-1 hour", "5", "1 fortnight", "1 hour ago", "366001 days", f"{'9' * 400} seconds"],
)
def test_no_lengths(text: str) -> None:
    with pytest.raises(ConfigurationError, match="lag"):
        parse_length(text, "lag")


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-01T12:00:00Z",
        "2026-03-01 12:00:00",
        "2026-03-01 13:00:00+01:00",
        "2026-03-01 12:00:00 UTC",
        "2026-03-01T12:00:00.000000000Z",
        datetime(2026, 3, 1, 12),
    ],
)
def test_instants(value: Any) -> None:
    assert parse_instant(value, "begin") == NOON


def test_instants_without_offset_are_in_the_session_zone() -> None:
    zone = parse_zone("Europe/Berlin")
    assert parse_instant("2026-03-01 13:00:00", "begin", zone) == NOON
    assert parse_instant(date(2026, 3, 1), "begin") == NOON - 12 * HOUR
    assert parse_instant("20260301", "begin") == NOON - 12 * HOUR


@pytest.mark.parametrize(
    "value", ["2026-03-29 02:30", datetime(2026, 3, 29, 2, 30), "2026-03-01 12:00:00.0000001"]
)
def test_an_instant_that_would_be_another(value: Any) -> None:
    """One that the clocks skip is none, and no digit is cut off."""
    with pytest.raises(ConfigurationError, match=r"^begin: "):
        parse_instant(value, "begin", parse_zone("Europe/Berlin"))


def test_an_hour_that_comes_twice_is_its_first() -> None:
    found = parse_instant("2026-10-25 02:30", "begin", parse_zone("Europe/Berlin"))
    assert found.isoformat() == "2026-10-25T00:30:00+00:00"


def test_the_clock_is_read_once_unless_given() -> None:
    assert read_clock({}, {}, NOON) == Clock(NOON, False, NOON)
    given = read_clock({}, {"TAPESTRY_AS_OF": "2026-02-01"}, NOON)
    assert given.given
    assert read_clock({"tapestry_as_of": "2026-02-02"}, {"TAPESTRY_AS_OF": "x"}, NOON).given
    with pytest.raises(ConfigurationError, match="TAPESTRY_AS_OF: 'yesterday'"):
        read_clock({}, {"TAPESTRY_AS_OF": "yesterday"}, NOON)


def test_a_window_ends_where_the_first_limit_is() -> None:
    clock = Clock(NOON)
    assert window_end(clock, HOUR, None).t == NOON - HOUR
    assert window_end(clock, timedelta(0), NOON).t is None
    assert window_end(clock, timedelta(0), None, {"up": NOON - HOUR}).t == NOON - HOUR
    assert window_end(clock, timedelta(0), NOON - HOUR, {"up": NOON - 2 * HOUR}).t is None
    assert "nothing to do" in window_end(clock, HOUR, NOON).warnings[0]
    with pytest.raises(WindowError):
        window_end(Clock(NOON, given=True), HOUR, NOON + HOUR)


def test_far_ahead() -> None:
    years, day = timedelta(days=3650), timedelta(days=1)
    given, clock = Clock(NOON + years, True, NOON), Clock(NOON, False, NOON)
    assert far_ahead(given, NOON + years, [])
    assert far_ahead(given, NOON + years, [NOON - day])
    assert not far_ahead(Clock(NOON - years, True, NOON), NOON - years, [NOON])
    assert not far_ahead(clock, NOON, [NOON - day])
    assert not far_ahead(clock, NOON, [])


def test_a_clock_that_is_wrong_by_years() -> None:
    """No source has had a commit for years: the second one had, in another test it is the last."""
    years = timedelta(days=3650)
    wrong = Clock(NOON + years, False, NOON + years)
    (warning,) = far_ahead(wrong, NOON + years, [NOON - years, NOON])
    assert "newest commit, of 2" in warning
    assert not far_ahead(wrong, NOON + years, [NOON - years, NOON + years])
