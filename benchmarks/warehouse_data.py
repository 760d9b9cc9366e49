"""The sources of the warehouse, and a day's changes of them.

Values are drawn by a hash of the row's number, so that the same day has the same rows wherever it
is made. Rows of a day carry its time: what is new is at the end, as in a shop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGAN: Final = "TIMESTAMP '2025-01-01 00:00:00'"
DAYS: Final = 400
PRODUCTS, STORES, EMPLOYEES = 5_000, 200, 3_000
DAY: Final = 0.001
"""The part of all orders that come in a day, of those before it."""


def _draw(salt: int, below: int) -> str:
    return f"pmod(hash(id, {salt:d}), {below:d})"


def _at(salt: int, since: str = BEGAN, days: int = DAYS) -> str:
    return f"{since} + make_interval(0, 0, 0, 0, 0, 0, {_draw(salt, days * 86_400)})"


def _money(salt: int) -> str:
    return f"CAST({_draw(salt, 20_000)} / 100 AS DECIMAL(12, 2))"


def selects(first: int, until: int, since: str = BEGAN, days: int = DAYS) -> dict[str, str]:
    """SELECTs of what belongs to the orders ``first`` to ``until``, by source."""
    customers = max(until // 20, 1)
    made = {**_sold(customers, since, days), **_beside(customers, since, days)}
    return {
        name: f"SELECT {columns} FROM range({round(first * many):d}, {round(until * many):d})"
        f" WHERE {kept}"
        for name, (columns, many, kept) in made.items()
    }


def _sold(customers: int, since: str, days: int) -> dict[str, tuple[str, float, str]]:
    """Columns, rows an order, and the condition of orders and what follows from them."""
    orders = (
        f"id, {_draw(1, customers)} AS customer_id, {_draw(2, STORES)} AS store_id,"
        f" {_draw(3, EMPLOYEES)} AS employee_id, {_draw(4, 600)} AS promotion_id,"
        f" {_at(5, since, days)} AS ordered_at,"
        " element_at(array('placed', 'Shipped', 'done', 'test'),"
        f" 1 + least(int({_draw(6, 100)} div 33), 3)) AS status"
    )
    items = (
        f"id div 3 AS order_id, id % 3 AS line, {_draw(7, PRODUCTS)} AS product_id,"
        f" {_draw(8, 5)} AS qty, {_money(9)} AS price"
    )
    payments = (
        f"id, id AS order_id, {_at(10, since, days)} AS paid_at, {_money(11)} AS amount,"
        f" element_at(array('card', 'cash', 'bank'), 1 + {_draw(12, 3)}) AS method"
    )
    refunds = (
        f"id, id AS order_id, {_draw(7, PRODUCTS)} AS product_id,"
        f" {_at(13, since, days)} AS refunded_at, {_money(14)} AS amount"
    )
    shipments = (
        f"id AS order_id, {_at(15, since, days)} AS shipped_at,"
        f" {_at(16, since, days + 3)} AS delivered_at,"
        f" element_at(array('a', 'b', 'c'), 1 + {_draw(17, 3)}) AS carrier"
    )
    return {
        "orders": (orders, 1, "true"),
        "order_items": (items, 3, "true"),
        "payments": (payments, 1, f"{_draw(33, 10)} > 0"),
        "refunds": (refunds, 1, f"{_draw(34, 20)} = 0"),
        "shipments": (shipments, 1, f"{_draw(35, 10)} > 1"),
    }


def _beside(customers: int, since: str, days: int) -> dict[str, tuple[str, float, str]]:
    """The same of what happens beside orders."""
    visits = (
        f"id, IF({_draw(18, 10)} = 0, NULL, {_draw(19, customers)}) AS customer_id,"
        f" {_at(20, since, days)} AS seen_at,"
        f" element_at(array('home', 'cart', 'item', 'pay'), 1 + {_draw(21, 4)}) AS page"
    )
    moves = (
        f"{_draw(22, PRODUCTS)} AS product_id, {_draw(23, STORES)} AS store_id,"
        f" {_at(24, since, days)} AS moved_at, {_draw(25, 40)} - 15 AS qty"
    )
    changes = (
        f"{_draw(26, customers)} AS customer_id, {_at(27, since, days)} AS changed_at,"
        f" element_at(array('north', 'south', 'east'), 1 + {_draw(28, 3)}) AS region,"
        f" {_draw(29, 4)} AS segment"
    )
    prices = (
        f"{_draw(30, PRODUCTS)} AS product_id, {_at(31, since, days)} AS changed_at,"
        f" {_money(32)} AS price"
    )
    names = (
        "id, concat('name ', id) AS name, concat('C', id, '@Example.com') AS email,"
        f" {_at(36, since, days)} AS since"
    )
    return {
        "visits": (visits, 2, "true"),
        "stock_moves": (moves, 0.5, "true"),
        "customer_changes": (changes, 0.1, "true"),
        "price_changes": (prices, 0.02, "true"),
        "customers": (names, 0.05, "true"),
    }


def load(spark: SparkSession, schema: str, orders: int) -> None:
    """Make the sources anew, with change feed and deletion vectors."""
    spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    spark.sql(f"CREATE SCHEMA {schema}")
    small = {
        "products": f"id, concat('product ', id) AS name, {_draw(1, 50)} AS category_id,"
        f" {_draw(2, 500)} AS supplier_id FROM range({PRODUCTS})",
        "categories": "id, concat('category ', id) AS name FROM range(50)",
        "suppliers": f"id, concat('supplier ', id) AS name, {_draw(3, 30)} AS country"
        " FROM range(500)",
        "stores": "id, concat('store ', id) AS name, element_at(array('n', 's', 'w'),"
        f" 1 + {_draw(4, 3)}) AS region FROM range({STORES})",
        "employees": f"id, concat('employee ', id) AS name, {_draw(5, STORES)} AS store_id"
        f" FROM range({EMPLOYEES})",
        "promotions": f"id, concat('promotion ', id) AS name, {_draw(6, 40)} AS percent"
        " FROM range(300)",
    }
    tables = {name: f"SELECT {text}" for name, text in small.items()}
    for name, select in {**tables, **selects(0, orders)}.items():
        spark.sql(
            f"CREATE TABLE {schema}.{name} USING delta TBLPROPERTIES"
            " ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"
            f" AS {select}"
        )


def day(spark: SparkSession, schema: str, orders: int, number: int) -> None:
    """Change the sources by the day ``number``, from 1 on.

    New orders with what belongs to them come in; orders of the last days move on; a customer's
    rows are erased; some products are called otherwise.
    """
    new = round(orders * DAY)
    first = orders + (number - 1) * new
    since = f"{BEGAN} + INTERVAL {DAYS + number - 1} DAYS"
    for name, select in selects(first, first + new, since, 1).items():
        spark.sql(f"INSERT INTO {schema}.{name} {select}")
    spark.sql(
        f"UPDATE {schema}.orders SET status = 'done' WHERE id >= {first - 2 * new}"
        f" AND id < {first} AND status <> 'test'"
    )
    for name in ("customers", "orders", "visits"):
        column = "id" if name == "customers" else "customer_id"
        spark.sql(f"DELETE FROM {schema}.{name} WHERE {column} = {number}")
    spark.sql(f"UPDATE {schema}.products SET name = concat(name, '!') WHERE id % 1000 = {number}")
