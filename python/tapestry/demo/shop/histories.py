"""A seeded history of a small shop: orders, payments, refunds, and prices that change.

>>> shop = make_shop(orders=200, seed=7)
>>> make_shop(orders=200, seed=7) == shop
True
>>> early, late = (rows_at(shop, t)["orders"] for t in days_of_runs(2))
>>> len(early) < len(late), {row[4] for row in early} == {"open", "shipped", "cancelled"}
(True, True)

Each thing has the instants at which something becomes of it, so that the rows of the tables at an
instant are told by comparing with it: nothing is played. There are guests (NULL), orders of one
instant, payments that are equal in all columns, prices that are corrected afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from random import Random

Row = tuple[object, ...]

OPENING = datetime(2026, 3, 2, tzinfo=timezone.utc)
DAYS, SEED = 21, 53
PRODUCTS = {"tea": 480, "coffee": 790, "cocoa": 650, "honey": 1150, "jam": 390, "rusks": 290}
PRODUCTS |= {"mugs": 1250, "pots": 3490, "spoons": 560, "sugar": 180}
"""Each with its first price, in cents."""
CUSTOMERS = 400
GUEST, CANCELLED, TEST = 0.08, 0.09, 0.03
"""Shares of the orders: nobody's, called off, and made to try the shop, which are deleted."""
UNPAID, IN_TWO = 0.12, 0.15
"""Shares of the orders: never paid, paid in two parts."""
REFUNDED, BY_MISTAKE = 0.08, 0.06
"""The shares of the orders with a refund: of those that are paid, of those that never are."""


@dataclass(frozen=True)
class ShopOrder:
    """One order; an instant that never comes is None."""

    number: int
    customer: str | None
    product: str
    quantity: int
    ordered: datetime
    shipped: datetime | None
    cancelled: datetime | None
    deleted: datetime | None

    def is_there(self, t: datetime) -> bool:
        """Return whether the table has a row of the order."""
        return self.ordered <= t and not _past(self.deleted, t)

    def row(self, t: datetime) -> Row:
        """Return the order's row at an instant."""
        state = "open"
        if _past(self.shipped, t):
            state = "shipped"
        if _past(self.cancelled, t):
            state = "cancelled"
        return self.number, self.customer, self.product, self.quantity, state, self.ordered


@dataclass(frozen=True)
class ShopPrice:
    """The price of a product from an instant on; it is written down a day before."""

    product: str
    valid_from: datetime
    cents: int
    corrected: datetime | None = None
    withdrawn: datetime | None = None

    def is_there(self, t: datetime) -> bool:
        """Return whether the table has a row of the price."""
        return self.valid_from - timedelta(days=1) <= t and not _past(self.withdrawn, t)

    def row(self, t: datetime) -> Row:
        """Return the price's row at an instant: a correction takes a tenth off."""
        cents = self.cents * 9 // 10 if _past(self.corrected, t) else self.cents
        return self.product, self.valid_from, _money(cents)


@dataclass(frozen=True)
class Shop:
    """All that ever happens; ``payments`` and ``refunds`` are rows, with their instant at last."""

    orders: Sequence[ShopOrder]
    prices: Sequence[ShopPrice]
    payments: Sequence[Row]
    refunds: Sequence[Row]


def make_shop(orders: int = 1_000, seed: int = SEED) -> Shop:
    """Make up a shop of so many orders, in order of their instants."""
    rng = Random(seed)
    prices = [price for product in PRODUCTS for price in _prices(rng, product)]
    minutes = sorted(rng.randrange(DAYS * 24 * 60) for _ in range(orders))
    made = [
        _order(rng, number, OPENING + timedelta(minutes=at)) for number, at in enumerate(minutes, 1)
    ]
    payments: list[Row] = []
    refunds: list[tuple[int, Decimal, datetime]] = []
    for order in made:
        due = order.quantity * _cents_at(prices, order)
        paid = list(_payments(rng, order, due))
        payments += paid
        refunds += _refunds(rng, order, due, bool(paid))
    refunds.sort(key=lambda row: row[2])
    numbered = [(number, *row) for number, row in enumerate(refunds, 1)]
    return Shop(made, prices, payments, numbered)


def days_of_runs(count: int) -> list[datetime]:
    """The ends of the last days, one for each run: most has happened before the first of them."""
    return [OPENING + timedelta(days=DAYS - count + number) for number in range(1, count + 1)]


def rows_at(shop: Shop, t: datetime) -> Mapping[str, list[Row]]:
    """The rows of each table at an instant."""
    return {
        "orders": [one.row(t) for one in shop.orders if one.is_there(t)],
        "prices": [one.row(t) for one in shop.prices if one.is_there(t)],
        "payments": [row for row in shop.payments if _past(row[-1], t)],
        "refunds": [row for row in shop.refunds if _past(row[-1], t)],
    }


def _prices(rng: Random, product: str) -> Iterator[ShopPrice]:
    """The prices of a product: a new one every few days, the first one before the first order."""
    at, cents = OPENING - timedelta(days=2), PRODUCTS[product]
    while at < OPENING + timedelta(days=DAYS + 2):
        corrected = _sometimes(rng, 0.5, at, 1, 7)
        withdrawn = _sometimes(rng, 0.25, at, 1, 7) if at > OPENING else None
        yield ShopPrice(product, at, cents, corrected, withdrawn)
        at += timedelta(days=rng.randint(2, 5), hours=rng.randrange(24))
        cents += rng.choice((-40, -20, 30, 50))


def _order(rng: Random, number: int, at: datetime) -> ShopOrder:
    customer = int(CUSTOMERS * rng.random() ** 3)  # some order often, most seldom
    return ShopOrder(
        number,
        None if rng.random() < GUEST else f"customer {customer:03}",
        rng.choice(list(PRODUCTS)),
        rng.randint(1, 5),
        at,
        _sometimes(rng, 0.8, at, 1, 6),
        _sometimes(rng, CANCELLED, at, 0, 8),
        _sometimes(rng, TEST, at, 0, 9),
    )


def _cents_at(prices: Sequence[ShopPrice], order: ShopOrder) -> int:
    """The price that was valid when an order came in, before any correction."""
    known = [p for p in prices if p.product == order.product and p.valid_from <= order.ordered]
    return max(known, key=lambda price: price.valid_from).cents


def _payments(rng: Random, order: ShopOrder, due: int) -> Iterator[Row]:
    """None, one, or two: of two halves that are paid at once the rows are equal."""
    if rng.random() < UNPAID:
        return
    at = order.ordered + timedelta(minutes=rng.randint(1, 7 * 24 * 60))
    if rng.random() >= IN_TWO:
        yield order.number, _money(due), at
        return
    yield order.number, _money(due // 2), at
    later = rng.choice((0, rng.randint(60, 10 * 24 * 60)))
    yield order.number, _money(due - due // 2), at + timedelta(minutes=later)


def _refunds(
    rng: Random, order: ShopOrder, due: int, paid: bool
) -> Iterator[tuple[int, Decimal, datetime]]:
    """Now and then a part is given back; sometimes before anything was paid."""
    if rng.random() < (REFUNDED if paid else BY_MISTAKE):
        cents = due // rng.choice((1, 2, 4))
        days = rng.randint(2, 12) if rng.random() < 0.9 else 0
        yield order.number, _money(cents), order.ordered + timedelta(days=days, minutes=1)


def _sometimes(
    rng: Random, share: float, since: datetime, first: int, last: int
) -> datetime | None:
    """An instant some days later, or never."""
    minutes = rng.randint(first * 24 * 60 + 1, last * 24 * 60)
    return since + timedelta(minutes=minutes) if rng.random() < share else None


def _past(instant: object, t: datetime) -> bool:
    return isinstance(instant, datetime) and instant <= t


def _money(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)
