"""The kind `rule`: rows bound by a table's commits that trigger it, for its actions.

config      the keys of a rule
triggers    the table that it looks at, and the queries in its text
events      the commits that trigger it
plan_run    the next run: the commits since the last one, evaluated all at once
firings     the table of firings, whose heads the actions read
"""
