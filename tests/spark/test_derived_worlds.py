"""Random lives of derived tables: a right action never shows drift, and a wrong one is found."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.spark.test_derived import ADD, LOOKING, PRICES, TWICE, Trading

pytestmark = pytest.mark.more

LOST = ADD.replace("from matches group by comp", "from matches where symbol <> 'S1' group by comp")
LATEST = ADD.replace("(new_price - old_price) * weight", "new_price * weight - old_price * weight")
ONLY_ONE = ADD.replace("sum((new_price", "max((new_price")
ROUNDED = ADD.replace("t.price + d.diff", "round(t.price + d.diff)")
STEPS = 9


class World(Trading):
    """One life: commits, runs of the rule, of the action and of the table, in any order."""

    def live(self, text: str, seed: int, price: str, **how: Any) -> bool:
        """Was there drift? Whenever nothing waits that is what the table and the query say."""
        random, drifted = Random(seed), False
        self.begin(price, verify="off")
        text = self.recompute if text == "recompute" else text
        action = self.action("compute", text, "do_comps", **how)
        self.now(action)
        for step in range(STEPS):
            for _ in range(random.randrange(3)):
                symbol = random.choice(["S1", "S2", "S3"])
                self.move(symbol, random.choice(["+ 1", "- 0.1", "* 1.5", "+ 0"]))
            if random.random() < 0.7 or step == STEPS - 1:
                self.now(self.rule_of_stocks)
            if random.random() < 0.2:
                self.move(random.choice(["S1", "S2"]))
            if random.random() < 0.6 or step == STEPS - 1:
                self.now(action)
            if random.random() < 0.5:
                drifted |= self.look().violations > 0
        self.now(self.rule_of_stocks)
        self.now(action)
        found = self.look()
        assert found.checked_rows == 3
        assert (found.violations > 0) is bool(self.differs())
        return drifted or found.violations > 0

    def look(self) -> Any:
        found = self.drift(self.table)
        assert found.status in ("pass", "fail"), found
        assert "not_compared" not in found.details, found
        return found

    def differs(self) -> list[tuple[Any, ...]]:
        """Keys for which the table and the query of now are not nearly the same."""
        return self.rows(
            f"select comp from ({PRICES}) as q full join {{s}}.comp_prices as t using (comp)"
            " where q.price is null or t.price is null or abs(q.price - t.price) > 1e-6"
        )


@pytest.fixture
def world(session: Any, schema: str) -> World:
    return World(session, schema)


BATCHES = [{"unique_on": ["comp"]}, {"unique": True}, {}, {"unique_on": ["symbol"]}]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("price", ["decimal(20,6)", "double"])
def test_no_false_alarm(world: World, seed: int, price: str) -> None:
    text = [ADD, LOOKING, "recompute", LATEST][(seed + (price == "double")) % 4]
    assert not world.live(text, seed, price, **BATCHES[seed % 4])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("text", [TWICE, LOST, ONLY_ONE, ROUNDED])
def test_a_mistake_is_found(world: World, seed: int, text: str) -> None:
    """Where it matters: each life compares what is found with what is there."""
    price = ["decimal(20,6)", "double"][seed % 2]
    found = world.live(text, seed + 10, price, **BATCHES[seed % 4])
    assert found or text in (ONLY_ONE, ROUNDED)
