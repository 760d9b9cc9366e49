"""The passes in order, each with the reason why it changes no answer.

Each is a function in a file of its name that copies and never mutates; none calls another.
"""

from __future__ import annotations

from tapestry.sql.passes.ir.add_begin import add_begin
from tapestry.sql.passes.ir.drop_impossible import drop_impossible
from tapestry.sql.passes.ir.find_changes import find_changes
from tapestry.sql.passes.ir.infer_transitive import infer_transitive
from tapestry.sql.passes.ir.keep_look_ups import keep_look_ups
from tapestry.sql.passes.ir.keep_sums import keep_sums
from tapestry.sql.passes.ir.read_assumptions import read_assumptions
from tapestry.sql.passes.ir.refuse_static import refuse_static
from tapestry.sql.passes.ir.refuse_too_long import refuse_too_long
from tapestry.sql.passes.ir.refuse_unnamed import refuse_unnamed
from tapestry.sql.passes.ir.refuse_untyped import refuse_untyped
from tapestry.sql.passes.ir.solve_time_atoms import solve_time_atoms
from tapestry.sql.passes.ir.stage_joins import stage_joins
from tapestry.sql.passes.ir.to_standard_form import to_standard_form
from tapestry.sql.passes.tree.refuse_inexact import refuse_inexact
from tapestry.sql.passes.tree.refuse_misplaced import refuse_misplaced
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.passes.tree.refuse_subqueries import refuse_subqueries
from tapestry.sql.query_state import Pass
from tapestry.sql.read.read_query import TreePass

REFUSE: tuple[TreePass, ...] = (
    TreePass(
        refuse_nondeterministic,
        "A value that differs between two evaluations can be neither stored nor checked.",
    ),
    TreePass(
        refuse_misplaced,
        "For a group only its grouping columns and aggregates have one value.",
    ),
    TreePass(
        refuse_subqueries,
        "A subquery in place of a value must return one value for all possible rows.",
    ),
    TreePass(
        refuse_inexact,
        "A result that depends on the order of addition differs between two evaluations.",
    ),
)
"""The passes that refuse a tree whose names are resolved."""

PASSES: tuple[Pass, ...] = (
    Pass(
        solve_time_atoms,
        "Each comparison with now() changes its truth value once as time passes; it is replaced"
        " by a comparison with the instant s at which it does, to the microsecond. This is Q(s).",
    ),
    Pass(
        find_changes,
        "A query with groups, ranks or LIMIT is evaluated at every instant at which its answer"
        " may change: arrivals, ends, and the bounds of its comparisons with now().",
    ),
    Pass(
        stage_joins,
        "A LEFT JOIN to a table that grows gives rows with a match and, while there is none,"
        " rows with NULLs. Many such joins stay joins that are evaluated one after the other,"
        " because each rewritten join doubles the ways to form a row.",
    ),
    Pass(
        keep_look_ups,
        "A static table never changes, so a LEFT JOIN to it holds as long as its left side. If"
        " this saves nothing, the join is rewritten as rows with a match and rows with NULLs.",
    ),
    Pass(
        to_standard_form,
        "WHERE becomes an OR of ANDs (De Morgan), and EXISTS in EXISTS a join; a row counts from"
        " its arrival to its end.",
    ),
    Pass(
        add_begin,
        "The instants start at the model's `begin`, or at the earliest arrival in any source.",
    ),
    Pass(
        drop_impossible,
        "An empty OR is false for every row, at every instant.",
    ),
    Pass(
        keep_sums,
        "If each row of a group holds for one interval, the group is described by running"
        " states: the numbers of rows and values and their sums change when a row begins or ends.",
    ),
    Pass(
        refuse_unnamed,
        "A column has the name that Spark gives it; if this name is not certain, the query is"
        " refused.",
    ),
    Pass(
        refuse_untyped,
        "A column that is NULL in every arm has no type for the table.",
    ),
    Pass(
        refuse_static,
        "If no source grows, no answer can become new.",
    ),
    Pass(
        read_assumptions,
        "An order of arrivals that the author guarantees excludes branches that find nothing;"
        " each run counts the pairs that violate it.",
    ),
    Pass(
        refuse_too_long,
        "Alternatives multiply; a query that no engine could plan is refused before it is written.",
    ),
    Pass(
        infer_transitive,
        "The conditions of a row imply conditions on single tables. With them fewer rows are"
        " read, and the same answers are found.",
    ),
)
"""From the arms of a query to the blocks that Q_M and Q^I are rendered from."""


def passes_with(infer: bool) -> tuple[Pass, ...]:
    """Return all passes, without the one that infers conditions unless ``infer``."""
    return tuple(one for one in PASSES if infer or one.function is not infer_transitive)
