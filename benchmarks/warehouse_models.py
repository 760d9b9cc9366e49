"""A warehouse of 49 models: staging, dimensions with history, facts, marts.

They stand in the order of their layers; ``ref`` and ``source`` are written as in any dbt project.
No model names how it is materialized.
"""

from __future__ import annotations

from typing import Final

STAGING: Final = {
    "stg_customers": "select id as customer_id, trim(name) as name, lower(email) as email,"
    " cast(since as date) as since from {customers}",
    "stg_customer_changes": "select customer_id, changed_at, upper(region) as region, segment"
    " from {customer_changes}",
    "stg_products": "select id as product_id, trim(name) as name, category_id, supplier_id"
    " from {products}",
    "stg_price_changes": "select product_id, changed_at, price from {price_changes}"
    " where price > 0",
    "stg_categories": "select id as category_id, name as category from {categories}",
    "stg_suppliers": "select id as supplier_id, name as supplier, country from {suppliers}",
    "stg_stores": "select id as store_id, name as store, upper(region) as region from {stores}",
    "stg_employees": "select id as employee_id, name as employee, store_id from {employees}",
    "stg_promotions": "select id as promotion_id, name as promotion, percent from {promotions}",
    "stg_orders": "select id as order_id, customer_id, store_id, employee_id, promotion_id,"
    " ordered_at, lower(status) as status from {orders} where status <> 'test'",
    "stg_order_items": "select order_id, line, product_id, qty, price, qty * price as amount"
    " from {order_items} where qty > 0",
    "stg_payments": "select id as payment_id, order_id, paid_at, amount, method from {payments}",
    "stg_refunds": "select id as refund_id, order_id, product_id, refunded_at, amount"
    " from {refunds}",
    "stg_shipments": "select order_id, shipped_at, delivered_at, carrier from {shipments}",
    "stg_visits": "select id as visit_id, customer_id, seen_at, page from {visits}"
    " where customer_id is not null",
    "stg_stock_moves": "select product_id, store_id, moved_at, qty from {stock_moves}",
}
DIMENSIONS: Final = {
    "dim_customer_history": "select customer_id, region, segment, changed_at as valid_from,"
    " lead(changed_at) over (partition by customer_id order by changed_at) as valid_to"
    " from [stg_customer_changes]",
    "dim_customer": "select c.customer_id, c.name, c.email, c.since, h.region, h.segment"
    " from [stg_customers] c left join [dim_customer_history] h"
    " on h.customer_id = c.customer_id and h.valid_to is null",
    "dim_price_history": "select product_id, price, changed_at as valid_from,"
    " lead(changed_at) over (partition by product_id order by changed_at) as valid_to"
    " from [stg_price_changes]",
    "dim_product": "select p.product_id, p.name, c.category, s.supplier, s.country,"
    " h.price as list_price from [stg_products] p"
    " join [stg_categories] c on c.category_id = p.category_id"
    " left join [stg_suppliers] s on s.supplier_id = p.supplier_id"
    " left join [dim_price_history] h on h.product_id = p.product_id and h.valid_to is null",
    "dim_store": "select s.store_id, s.store, s.region, count(e.employee_id) as employees"
    " from [stg_stores] s left join [stg_employees] e on e.store_id = s.store_id"
    " group by s.store_id, s.store, s.region",
    "dim_employee": "select e.employee_id, e.employee, s.store, s.region from [stg_employees] e"
    " join [stg_stores] s on s.store_id = e.store_id",
    "dim_promotion": "select promotion_id, promotion, percent / 100 as part from [stg_promotions]",
}
FACTS: Final = {
    "fct_order_items": "select i.order_id, i.line, i.product_id, o.customer_id, o.store_id,"
    " o.ordered_at, i.qty, i.amount, h.price as list_price"
    " from [stg_order_items] i join [stg_orders] o on o.order_id = i.order_id"
    " left join [dim_price_history] h on h.product_id = i.product_id"
    " and h.valid_from <= o.ordered_at"
    " and (h.valid_to is null or o.ordered_at < h.valid_to)",
    "fct_orders": "select o.order_id, o.customer_id, o.store_id, o.employee_id, o.promotion_id,"
    " o.ordered_at, o.status, count(*) as lines, sum(i.amount) as amount"
    " from [stg_orders] o join [stg_order_items] i on i.order_id = o.order_id"
    " group by o.order_id, o.customer_id, o.store_id, o.employee_id, o.promotion_id, o.ordered_at,"
    " o.status",
    "fct_payments": "select p.payment_id, p.order_id, o.customer_id, p.paid_at, p.amount, p.method"
    " from [stg_payments] p join [stg_orders] o on o.order_id = p.order_id",
    "fct_refunds": "select r.refund_id, r.order_id, r.product_id, o.customer_id, r.refunded_at,"
    " r.amount from [stg_refunds] r join [stg_orders] o on o.order_id = r.order_id",
    "fct_shipments": "select s.order_id, o.store_id, s.carrier, o.ordered_at, s.shipped_at,"
    " s.delivered_at, datediff(s.delivered_at, o.ordered_at) as days"
    " from [stg_shipments] s join [stg_orders] o on o.order_id = s.order_id",
    "fct_order_paid": "select o.order_id, o.customer_id, o.amount, p.paid,"
    " case when p.paid >= o.amount then 'paid' when p.paid > 0 then 'partly' else 'open' end"
    " as paid_status from [fct_orders] o left join (select order_id, sum(amount) as paid"
    " from [fct_payments] group by order_id) p on p.order_id = o.order_id",
    "fct_sales_daily": "select cast(ordered_at as date) as day, store_id, product_id,"
    " sum(qty) as qty, sum(amount) as amount from [fct_order_items]"
    " group by cast(ordered_at as date), store_id, product_id",
    "fct_stock": "select product_id, store_id, sum(qty) as qty, max(moved_at) as last_moved"
    " from [stg_stock_moves] group by product_id, store_id",
    "fct_visit_gaps": "select visit_id, customer_id, seen_at, page, lag(seen_at) over"
    " (partition by customer_id order by seen_at, visit_id) as seen_before from [stg_visits]",
    "fct_unpaid_orders": "select o.order_id, o.customer_id, o.ordered_at, o.amount"
    " from [fct_orders] o where not exists"
    " (select 1 from [fct_payments] p where p.order_id = o.order_id)",
}
MARTS: Final = {
    "revenue_by_day": "select day, sum(qty) as qty, sum(amount) as amount from [fct_sales_daily]"
    " group by day",
    "revenue_by_region": "select h.region, cast(o.ordered_at as date) as day, sum(o.amount)"
    " as amount, count(*) as orders from [fct_orders] o join [dim_customer_history] h"
    " on h.customer_id = o.customer_id and h.valid_from <= o.ordered_at"
    " and (h.valid_to is null or o.ordered_at < h.valid_to)"
    " group by h.region, cast(o.ordered_at as date)",
    "revenue_by_category": "select p.category, s.day, sum(s.amount) as amount"
    " from [fct_sales_daily] s join [dim_product] p on p.product_id = s.product_id"
    " group by p.category, s.day",
    "revenue_by_store": "select d.store, d.region, sum(o.amount) as amount, count(*) as orders"
    " from [fct_orders] o join [dim_store] d on d.store_id = o.store_id"
    " group by d.store, d.region",
    "revenue_by_employee": "select e.employee, e.store, sum(o.amount) as amount"
    " from [fct_orders] o join [dim_employee] e on e.employee_id = o.employee_id"
    " group by e.employee, e.store",
    "top_products": "select category, name, amount from (select p.category, p.name, t.amount,"
    " row_number() over (partition by p.category order by t.amount desc, p.name) as place"
    " from (select product_id, sum(amount) as amount from [fct_sales_daily]"
    " group by product_id) t join [dim_product] p on p.product_id = t.product_id)"
    " where place <= 10",
    "customer_value": "select c.customer_id, c.segment, count(o.order_id) as orders,"
    " sum(o.amount) as amount, max(o.ordered_at) as last_order"
    " from [dim_customer] c left join [fct_orders] o on o.customer_id = c.customer_id"
    " group by c.customer_id, c.segment",
    "repeat_customers": "select customer_id, count(*) as orders from [fct_orders]"
    " group by customer_id having count(*) > 1",
    "late_shipments": "select order_id, store_id, carrier, days from [fct_shipments]"
    " where days > 5",
    "refund_rate": "select p.product_id, p.name, r.refunded, s.sold from [dim_product] p"
    " join (select product_id, sum(amount) as sold from [fct_sales_daily] group by product_id) s"
    " on s.product_id = p.product_id left join (select product_id, sum(amount) as refunded"
    " from [fct_refunds] group by product_id) r on r.product_id = p.product_id",
    "payment_mix": "select method, cast(paid_at as date) as day, count(*) as payments,"
    " sum(amount) as amount from [fct_payments] group by method, cast(paid_at as date)",
    "promotion_effect": "select p.promotion, p.part, count(*) as orders, sum(o.amount) as amount"
    " from [fct_orders] o join [dim_promotion] p on p.promotion_id = o.promotion_id"
    " group by p.promotion, p.part",
    "quiet_customers": "select c.customer_id, c.email from [dim_customer] c where not exists"
    " (select 1 from [fct_orders] o where o.customer_id = c.customer_id)",
    "stock_alerts": "select s.product_id, s.store_id, s.qty from [fct_stock] s where s.qty < 0",
    "visits_by_page": "select page, cast(seen_at as date) as day, count(*) as visits,"
    " count_if(seen_before is null or seen_at > seen_before + interval 30 minutes) as sessions"
    " from [fct_visit_gaps] group by page, cast(seen_at as date)",
    "basket_by_store": "select store_id, lines, count(*) as orders from [fct_orders]"
    " group by store_id, lines",
}
LAYERS: Final = {"staging": STAGING, "dimensions": DIMENSIONS, "facts": FACTS, "marts": MARTS}
MODELS: Final = {name: text for layer in LAYERS.values() for name, text in layer.items()}
SOURCES: Final = (
    "customers", "customer_changes", "products", "price_changes", "categories", "suppliers",
    "stores", "employees", "promotions", "orders", "order_items", "payments", "refunds",
    "shipments", "visits", "stock_moves",
)  # fmt: skip


def text_of(name: str, schema: str) -> str:
    """The text of a model over sources in a schema, as dbt reads it."""
    text = MODELS[name]
    for source in SOURCES:
        text = text.replace(f"{{{source}}}", f"{schema}.{source}")
    for model in MODELS:
        text = text.replace(f"[{model}]", f"{{{{ ref('{model}') }}}}")
    return text
