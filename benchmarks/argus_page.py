"""What docs/benchmarks.md says of the ARGUS paper's figures, from the kept results."""

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
            row = [name, "–" if aim is None else f"{aim:.1f}"]
            for result in pair.values():
                one = result["queries"].get(name, {})
                row += [seconds(one.get("Q", {}).get("seconds"))]
                row += [_ratio(one, each) for each in ("Q^I", "Q^I, split", "Q^I + memory")]
                row += [count(one.get("Q^I", {}).get("answers"))]
            rows.append(row)
        head = ["", "aim"]
        for which in pair:
            head += [f"{which}: Q, s", "Q^I : Q", "in branches", "with memory", "answers"]
        parts += [table(head, rows), _said(next(iter(pair.values())))]
    return "\n\n".join(parts)


def argus_fig5() -> str:
    """Examples 2 and 4 with and without hidden conditions."""
    return _variants("fig5", ("Q", "Q, hidden", "Q^I", "Q^I, inferred"))


def argus_fig6() -> str:
    """Example 4 over copies."""
    return _variants("fig6", ("Q", "Q^I", "Q10", "Q11"))


MADE = (argus_fig4, argus_fig5, argus_fig6)


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
        f" {at['load_average']} (others were at work), commit {at['commit']}."
    )


def _missing(figure: str) -> str:
    return f"*Not measured yet: `python -m benchmarks.figures.argus_{figure}`.*"
