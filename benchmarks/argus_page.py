"""What docs/reference/benchmarks.md says of the ARGUS paper's figures, from the kept results."""

from __future__ import annotations

from typing import Any

from benchmarks.common import RESULTS, load
from benchmarks.figures.argus_fig4 import AIMS
from benchmarks.markdown import count, seconds, table

DATA = ("data1", "data2")


def argus_fig4() -> str:
    """Each example on both sets of data, at each size that was measured."""
    found = _results("fig4")
    if not found:
        return _missing("fig4")
    parts = []
    for _, pair in found:
        names = list(dict.fromkeys(name for result in pair.values() for name in result["queries"]))
        rows = []
        for name in sorted(names):
            aim = AIMS.get(name)
            for which, result in pair.items():
                one = result["queries"].get(name, {})
                row = [f"{name}, {which}", "–" if aim is None else f"{aim:.1f}"]
                row += [seconds(one.get("Q", {}).get("seconds"))]
                row += [_ratio(one, each) for each in ("Q^I", "Q^I, split", "Q^I + memory")]
                rows.append([*row, count(one.get("Q^I", {}).get("answers"))])
        head = ["", "target", "Q, s", "Q^I : Q", "in branches", "with memory", "answers"]
        parts += [table(head, rows), _said(next(iter(pair.values())))]
    return "\n\n".join(parts)


def argus_fig5() -> str:
    """Examples 2 and 4 with and without hidden conditions."""
    return _variants("fig5", ("Q", "Q, hidden", "Q^I", "Q^I, inferred"))


def argus_fig6() -> str:
    """Example 4 over memories, and what the selective one costs."""
    parts = [_variants("fig6", ("Q", "Q^I", "Q10", "Q11", "joined"))]
    costs = [
        (f"{size:,}, {which}", result["upkeep"])
        for size, pair in _results("fig6")
        for which, result in pair.items()
        if "upkeep" in result
    ]
    rows = [
        [of, seconds(cost["build_seconds"]), seconds(cost["flush_seconds"]), count(cost["bytes"])]
        for of, cost in costs
    ]
    if rows:
        parts.append(table(["transfers", "built in, s", "new rows added in, s", "bytes"], rows))
    return "\n\n".join(parts)


def one_memory() -> str:
    """Twenty models with a memory that serves all, and without any."""
    found = load("one_memory")
    if found is None:
        return "*Not measured yet: `python -m benchmarks.one_memory`.*"
    took, built = found["seconds"], found["building"]
    row = [f"{found['models']}", f"{found['rows']:,}", f"{found['new']:,}", f"{found['memories']}"]
    row += [*(seconds(took[each]) for each in ("off", "auto")), f"{found['ratio']:.2f}"]
    row.append(f"{seconds(built['off'])}, {seconds(built['auto'])}")
    head = ["models", "rows", "new", "memories", "without, s", "with, s", "with : without"]
    return _told([*head, "the previous run, which builds it: without, with, s"], [row], found)


def sharing() -> str:
    """A hundred simple alerts over one stream."""
    found = load("sharing")
    if found is None:
        return "*Not measured yet: `python -m benchmarks.sharing`.*"
    return _told(found["head"], found["rows"], found)


def _told(head: list[str], rows: list[list[str]], result: dict[str, Any]) -> str:
    at = result["measured"]
    said = f"{at['at'][:10]}, Spark {at['spark']}, {at['cores']} cores, commit {at['commit']}."
    return "\n\n".join([table(head, rows), said])


MADE = (argus_fig4, argus_fig5, argus_fig6, one_memory, sharing)


def _variants(figure: str, names: tuple[str, ...]) -> str:
    found = _results(figure)
    if not found:
        return _missing(figure)
    parts = []
    for _, pair in found:
        rows = []
        for which, result in pair.items():
            for name, measured in result["queries"].items():
                row = [f"{name}, {which}", seconds(measured["Q"]["seconds"])]
                rows.append([*row, *(_ratio(measured, one) for one in names[1:])])
        head = ["", "Q, s", *(f"{one} : Q" for one in names[1:])]
        parts += [table(head, rows), _said(next(iter(pair.values())))]
    return "\n\n".join(parts)


def _results(figure: str) -> list[tuple[int, dict[str, Any]]]:
    """By number of rows: Data1 and Data2, those that were measured."""
    sizes: dict[int, dict[str, Any]] = {}
    for which in DATA:
        for path in RESULTS.glob(f"argus_{figure}_{which}_*.json"):
            result = load(path.stem)
            assert result is not None
            sizes.setdefault(int(path.stem.rsplit("_", 1)[1]), {})[which.title()] = result
    return sorted(sizes.items())


def _ratio(measured: dict[str, Any], name: str) -> str:
    return f"{measured[name]['ratio']:.2f}" if name in measured else "–"


def _said(result: dict[str, Any]) -> str:
    at, data = result["measured"], result["data"]
    return (
        f"{data['rows']:,} transfers ({data['mib']:,.1f} MiB), {data['new']:,} of them new;"
        f" {at['at'][:10]}, Spark {at['spark']}, {at['cores']} cores, load average"
        f" {at['load_average']} (other programs were running), commit {at['commit']}."
    )


def _missing(figure: str) -> str:
    return f"*Not measured yet: `python -m benchmarks.figures.argus_{figure}`.*"
