"""One batch for each stock; of several changes only the newest price counts."""


def model(dbt, session):
    dbt.config(
        materialized="action",
        unique_on=["stock_symbol"],
        writes="option_prices",
        merge_on=["option_symbol"],
    )
    from tapestry.actions import black_scholes, last_per

    dbt.ref("option_prices")  # named, so that dbt builds it before
    newest = last_per(dbt.ref("do_options"), "option_symbol")
    stdev = dbt.ref("stock_stdev").withColumnRenamed("symbol", "stock_symbol")
    return newest.join(stdev, "stock_symbol").select(
        "option_symbol",
        black_scholes("new_price", "strike", "exp", "stdev").alias("price"),
    )
