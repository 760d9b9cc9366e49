"""The kind `rule`: what the commits of a table trigger, with the rows that go to its actions.

config      the keys of a rule
triggers    the table that it looks at, and what of its text is which query
events      the commits that trigger it
plan_run    the next run: the commits since the last one, evaluated all at once
firings     the table of firings, whose heads the actions read
"""
