"""One run of one model: states, each made from the one before by one function.

    Kind.plan         claiming         check           commit            confirm
        |                 |              |                |                 |
        v                 v              v                v                 v
     Planned ---------> Claimed ----> Checked ------> Committed ------> Confirmed ---> settle, tidy
        |                  |             |
        | traceless        | claim lost  +--> Failed (a check failed) ---> give_up: n is closed
        v                  v
     Nothing           plan again, or ConcurrentRun

Each durable change is one statement: a kill leaves the state before it, or the one after it.
The next run of the model finds out which (``standing``):

- after Planned: nothing. The run is planned anew.
- after Claimed or Checked: the state has the row of n, the table has no commit of n. Kept tables,
  staged and rejected rows bear n. n is executed once more as it was claimed (``prepare``), and
  writes them anew; where it cannot be (``CloseRun``) it is closed, and n + 1 covers its window.
- after Committed: the rows are there for good, and the table's log says by which run. The next run
  goes on from n.
- after Confirmed: staged rows and small files at most are left, which a later run removes.
- within ``give_up``: the state marks n as failed, the table may have no commit of it. The next run
  finishes closing it (``CloseRun``).

Two ways are shorter. A run that keeps its new rows in memory is claimed while they are computed and
checked: nobody sees these before the commit, and ``Claimed.sure`` waits before anything is written.
A run that may leave no trace looks first whether it has rows, and is not claimed where it has none.
"""
