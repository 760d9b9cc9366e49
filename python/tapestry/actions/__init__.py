"""The tools of an action that is written in Python: its batch, and functions over its rows.

batch            what the batch that is executed says of itself
last_per         the newest row for each value of some columns
black_scholes    the price of an option, over columns of a dataframe
call_price       the same over numbers or arrays, without Spark
"""

from tapestry.actions.last_per import last_per
from tapestry.actions.option_prices import black_scholes, call_price
from tapestry.runs.kinds.action.current_batch import CurrentBatch, batch

__all__ = ["CurrentBatch", "batch", "black_scholes", "call_price", "last_per"]
