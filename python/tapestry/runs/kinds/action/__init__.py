"""The kind `action`: statements executed for the firings of rules, in batches, each exactly once.

    config       the keys of an action
    rules_read   its rules as they stand: which of their rows count
    waiting      the batches that wait, and those that are due (one query)
    statement    the author's SQL with the rows of a batch in it
    python_text, python_call, returned_rows, within, current_batch
                 a function in Python: its text, a call, what it returns, its deadline, its batch
    perform, claimed_batches
                 claim, execute, done: a round

A batch is a cut: of each rule, the commits after one version up to another. No row of a queue is
ever moved or updated (rules, section 7; STRIP, section 2, unique transactions).
"""
