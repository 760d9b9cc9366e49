"""Forms the batches that close by the clock of all waiting firings, by one aggregate a key.

    open      the oldest firing that waits; the batch is released when it has waited long enough
    close     firings of the same commit, and all that were committed before the release, go in
    next      what was committed at the release or later opens the next batch

So the batches are those of a processor that is always ready, whenever runs happen (rules,
section 6). A fold over the commits of a key, in their order, carries the batches so far and the
open one. Spark copies all that a fold carries at each step, so the commits are folded in parts of
√n of them: one fold over a part carries the part's batches only, and one over the parts carries
all. Both together copy n·√n batches, one fold alone would copy n².
"""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.quoting import string

_SHOWN = ("place", "release", "firings", "rows", "depth")
_TYPES = (
    "struct<made: timestamp, relation: string, firing: bigint, rule: string>",
    "timestamp", "bigint", "bigint", "bigint",
)  # fmt: skip


def closed_by_clock(pending: str, rules: Sequence[str]) -> str:
    """Return a SELECT of the batches of all keys; ``pending`` selects waiting firings, by key.

    The order of a rule's firings by number and by time is the same: a late firing, with an earlier
    time, counts as of the latest time before it.
    """
    bounds = [name for place in range(len(rules)) for name in (f"after_{place}", f"until_{place}")]
    kinds = [f"{name}: {kind}" for name, kind in zip(_SHOWN, _TYPES, strict=True)]
    batch = f"struct<{', '.join([*kinds, *(f'{name}: bigint' for name in bounds)])}>"
    limits = ", ".join(
        f"min(IF(rule = {string(rule)}, firing, NULL)) - 1 AS after_{place},"
        f" max(IF(rule = {string(rule)}, firing, NULL)) AS until_{place}"
        for place, rule in enumerate(rules)
    )
    order = "PARTITION BY key, rule ORDER BY firing"
    commits = (
        f"SELECT key, min(key_order) AS key_order, min(place) AS place, min(release) AS release,"
        f" count(*) AS firings, coalesce(sum(rows), 0) AS rows, max(depth) AS depth, {limits},"
        f" max(seen) AS seen, place.relation, place.firing"
        f" FROM (SELECT *, max(place.made) OVER ({order}) AS seen FROM ({pending}))"
        f" GROUP BY key, place.relation, place.firing"
    )
    listed = ", ".join([*_SHOWN, *bounds])
    folded = _fold(
        f"sort_array(collect_list(struct(seen, relation, firing, {listed})))", batch, bounds
    )
    cut = ", ".join(
        f"struct({string(rule)} AS rule, array(after_{place}, until_{place}) AS cut)"
        for place, rule in enumerate(rules)
    )
    entries = f"filter(array({cut}), one -> one.cut[1] IS NOT NULL)"
    return (
        f"SELECT key, key_order, {', '.join(_SHOWN)}, map_from_entries({entries}) AS cut FROM"
        f" (SELECT key, key_order, inline(batches) FROM (SELECT key,"
        f" min(key_order) AS key_order, {folded} AS batches FROM ({commits}) GROUP BY key))"
    )


def _fold(commits: str, batch: str, bounds: Sequence[str]) -> str:
    """Return SQL for the batches of a key as an array, from an array of its commits in order."""
    opened = [*(f"x.{name}" for name in _SHOWN), *(f"x.{name}" for name in bounds)]
    grown = ["b.now.place", "b.now.release", "b.now.firings + x.firings", "b.now.rows + x.rows",
             "greatest(b.now.depth, x.depth)"]  # fmt: skip
    for name in bounds:
        least = "least" if name.startswith("after") else "greatest"
        grown.append(f"{least}(b.now.{name}, x.{name})")  # NULL is left out
    names = [*_SHOWN, *bounds]
    nothing, step = f"CAST(array() AS array<{batch}>)", "CAST(ceil(sqrt(size(c))) AS INT)"
    opens = "b.now IS NULL OR x.seen >= b.now.release"
    part = (
        f"aggregate(part, named_struct('batches', {nothing}, 'now', a.now), (b, x) -> IF({opens},"
        f" named_struct('batches', IF(b.now IS NULL, b.batches, concat(b.batches, array(b.now))),"
        f" 'now', {_struct(names, opened)}),"
        f" named_struct('batches', b.batches, 'now', {_struct(names, grown)})))"
    )
    joined = "named_struct('parts', concat(a.parts, array(one.batches)), 'now', one.now)"
    fold = (
        f"aggregate(transform(sequence(1, size(c), {step}), i -> slice(c, i, {step})),"
        f" named_struct('parts', CAST(array() AS array<array<{batch}>>),"
        f" 'now', CAST(NULL AS {batch})),"
        f" (a, part) -> transform(array({part}), one -> {joined})[0],"
        f" a -> flatten(concat(a.parts, array(array(a.now)))))"
    )
    return f"transform(array({commits}), c -> {fold})[0]"


def _struct(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = (f"{string(name)}, {value}" for name, value in zip(names, values, strict=True))
    return f"named_struct({', '.join(pairs)})"
