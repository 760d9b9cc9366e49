"""Seeded transfers of money between banks, after the ARGUS paper's FedWire transactions.

>>> plan = TransferPlan(days=2, per_day=1_000, accounts=2_000)
>>> sum(len(transfers_of_day(day, plan)) for day in range(plan.days)), plan.rows
(2005, 2005)

Amounts are log-normal, about one in a thousand lies above 500,000. Big money moves from even
accounts and banks to odd ones only, so that nobody passes on what came in: what the example queries
look for is in the six rows that the last day ends with, and in ``chains``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tapestry.demo.columns import TIMESTAMP, mix
from tapestry.demo.skeleton import Ints

LAST_DAY = date(2004, 3, 3)
"""The day that the example queries ask for."""
SEED = 2004
BANKS = 9_000
"""An even number: an account and its bank, what is left of dividing by it, are even both or odd."""
CITIBANK, FLEET = 222, 224
MEDIAN, SIGMA = 1_451, 1.889
"""The amounts, log-normal, in dollars: 0.099 % exceed 500,000, and 0.027 % exceed 1,000,000."""
BIG = 400_000
COMMON_TYPE, OTHER_TYPES = 1_000, (1_002, 1_032, 1_500, 1_600)

TRANSFERS = pa.schema(
    [
        ("tran_id", pa.int64()),
        ("type_code", pa.int32()),
        ("tran_date", pa.date32()),
        ("amount", pa.decimal128(15, 2)),
        ("sbank_aba", pa.string()),
        ("sbank_name", pa.string()),
        ("orig_account", pa.string()),
        ("rbank_aba", pa.string()),
        ("rbank_name", pa.string()),
        ("benef_account", pa.string()),
        ("ibank_aba", pa.string()),
        ("arrived_at", TIMESTAMP),
    ]
)

PLANTED = (
    # 120 millions leave Citibank; more than half goes on from the bank that received it, ...
    (CITIBANK, 101, 120_000_000),
    (101, 203, 70_000_000),
    # ... all of that through one more bank, where but a little of it is moved once more.
    (203, 305, 70_000_000),
    (305, 407, 400_000),
    # A bank that receives and sends on one day, for different customers.
    (502, 601, 2_000_000),
    (601 + BANKS, 707, 600_000),
)
"""Sender's account, receiver's account, dollars; the last rows of the last day."""


@dataclass(frozen=True)
class TransferPlan:
    """The number of transfers: on each of some days, among some accounts.

    ``chains``: so many times money goes through three accounts within some days, all of it after
    the first step.
    """

    days: int = 3
    per_day: int = 106_667
    accounts: int = 200_000
    chains: int = 0

    @property
    def rows(self) -> int:
        """The number of transfers: the last one gives its place to the planted ones."""
        return self.days * self.per_day - 1 + len(PLANTED)


@dataclass
class _Day:
    """The numbers that the columns of a day are made of; money in cents, days since 1970."""

    first_id: int
    kinds: Ints
    dates: Ints
    cents: Ints
    senders: Ints
    receivers: Ints
    between: Ints
    nobody: Ints
    instants: Ints


def transfers(plan: TransferPlan) -> pa.Table:
    """The transfers of all days, in order of arrival; in memory, so for small sets."""
    return pa.concat_tables(transfers_of_day(day, plan) for day in range(plan.days))


def write_transfers(folder: Path, plan: TransferPlan) -> list[Path]:
    """Write a parquet file a day, each in order of arrival; the files in that order."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for day in range(plan.days):
        files.append(folder / f"day_{day:04}.parquet")
        pq.write_table(transfers_of_day(day, plan), files[-1], compression="zstd")
    return files


def transfers_of_day(day: int, plan: TransferPlan) -> pa.Table:
    """The transfers of one day, counted from 0, in order of arrival."""
    made = _background(day, plan)
    _lay_chains(made, day, plan)
    if day == plan.days - 1:
        _end_with_planted(made)
    return _columns(made)


def _background(day: int, plan: TransferPlan) -> _Day:
    rng = np.random.Generator(np.random.PCG64((SEED, day)))
    rows = plan.per_day
    at = np.sort(rng.integers(0, 86_390_000_000, rows))
    ties = np.flatnonzero(rng.random(rows) < 0.02)[1:]
    at[ties] = at[ties - 1]
    midnight = LAST_DAY - timedelta(days=plan.days - 1 - day)
    number = (midnight - date(1970, 1, 1)).days
    cents = (MEDIAN * 100 * np.exp(SIGMA * rng.standard_normal(rows))).astype(np.int64) + 1
    cents = np.where(rng.random(rows) < 0.1, (cents // 10_000 + 1) * 10_000, cents)
    cents = cents.clip(max=9_900_000_000)
    kinds = rng.choice(OTHER_TYPES, rows).astype(np.int64)
    senders, receivers = rng.integers(0, plan.accounts, (2, rows))
    big = cents >= BIG * 100
    return _Day(
        day * plan.per_day + 1,
        np.where(rng.random(rows) < 0.85, COMMON_TYPE, kinds),
        number - (rng.random(rows) < 0.01),  # booked the day before
        cents,
        np.where(big, senders // 2 * 2, senders),
        np.where(big, receivers // 2 * 2 + 1, receivers),
        np.where(rng.random(rows) < 0.04, rng.integers(0, BANKS, rows), -1),
        np.where(rng.random(rows) < 0.003, rng.integers(0, 3, rows), -1),
        at + number * 86_400_000_000,
    )


def _lay_chains(made: _Day, day: int, plan: TransferPlan) -> None:
    """Put the steps of chains that fall on a day in the place of other transfers."""
    chains = np.arange(plan.chains, dtype=np.int64)
    pause = 1 + chains // plan.days % 3  # days between two steps
    noise = mix(chains, SEED)
    first = 100_000_100 + (noise % np.uint64(300_000_000)).astype(np.int64)
    found = []
    for step in range(3):
        here = chains[(chains + step * pause) % plan.days == day]
        here = here[here % plan.days + (step * pause)[here] < plan.days]
        found.append((np.full(len(here), step), here))
    steps, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
    rng = np.random.Generator(np.random.PCG64((SEED, day, 1)))
    rows = rng.choice(plan.per_day - 1, len(numbers), replace=False)
    made.kinds[rows] = COMMON_TYPE
    made.cents[rows] = np.where(steps == 0, first[numbers], first[numbers] // 5 * 4)
    made.dates[rows] = made.instants[rows] // 86_400_000_000
    made.nobody[rows] = -1
    made.senders[rows] = _accounts_of(numbers, steps, plan)
    made.receivers[rows] = _accounts_of(numbers, steps + 1, plan)


def _accounts_of(chains: Ints, steps: Ints, plan: TransferPlan) -> Ints:
    """The account that a chain has reached before a step."""
    noise = mix(chains * 4 + steps, SEED + 1)
    return np.asarray((noise % np.uint64(plan.accounts)).astype(np.int64))


def _end_with_planted(made: _Day) -> None:
    """Put the planted transfers in the place of the last one."""
    senders, receivers, dollars = np.array(PLANTED, dtype=np.int64).T
    count = len(PLANTED)
    day = made.instants[-1] // 86_400_000_000
    last = day * 86_400_000_000 + 86_391_000_000
    at = last + np.arange(count, dtype=np.int64) * 1_000_000
    nothing = np.full(count, -1)
    for name, values in {
        "kinds": np.full(count, COMMON_TYPE),
        "dates": np.full(count, day),
        "cents": dollars * 100,
        "senders": senders,
        "receivers": receivers,
        "between": nothing,
        "nobody": nothing,
        "instants": at,
    }.items():
        setattr(made, name, np.concatenate([getattr(made, name)[:-1], values]))


def _columns(made: _Day) -> pa.Table:
    rows = len(made.cents)
    missing = [made.nobody == one for one in range(3)]  # an account, or the name of the sender
    from_bank, to_bank = made.senders % BANKS, made.receivers % BANKS
    return pa.table(
        [
            pa.array(np.arange(made.first_id, made.first_id + rows)),
            pa.array(made.kinds.astype(np.int32)),
            pa.array(made.dates.astype(np.int32)).cast(pa.date32()),
            _money(made.cents),
            _digits(from_bank, 9),
            _or_null(bank_names().take(pa.array(from_bank)), missing[2]),
            _or_null(_digits(made.senders, 10), missing[0]),
            _digits(to_bank, 9),
            bank_names().take(pa.array(to_bank)),
            _or_null(_digits(made.receivers, 10), missing[1]),
            _or_null(_digits(made.between.clip(min=0), 9), made.between < 0),
            pa.array(made.instants).cast(TIMESTAMP),
        ],
        schema=TRANSFERS,
    )


def bank_names() -> pa.Array:
    """Return the names of the banks, by their numbers."""
    names = [f"BANK {number:04}" for number in range(BANKS)]
    names[CITIBANK], names[FLEET] = "CITIBANK", "FLEET"
    return pa.array(names)


def _money(cents: Ints) -> pa.Array:
    """Decimals of 128 bits, the low half first; no amount is negative."""
    halves = np.zeros((len(cents), 2), dtype="<i8")
    halves[:, 0] = cents
    return pa.Array.from_buffers(
        pa.decimal128(15, 2), len(cents), [None, pa.py_buffer(halves.tobytes())]
    )


def _digits(numbers: Ints, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def _or_null(values: pa.Array, missing: NDArray[np.bool_]) -> pa.Array:
    return pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), values)


def first_midnight(plan: TransferPlan) -> datetime:
    """The midnight at which the first day begins."""
    first = LAST_DAY - timedelta(days=plan.days - 1)
    return datetime(first.year, first.month, first.day, tzinfo=timezone.utc)
