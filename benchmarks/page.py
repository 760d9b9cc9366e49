"""Writes benchmarks.md and trading.md of docs/reference, and pictures, from the kept results.

The words stand in ``benchmarks/page.md`` and ``benchmarks/trading/page.md``; each
``{{name}}`` there is replaced by what the function of that name gives: a table, a picture, or a
sentence that says why there is none.

``python -m benchmarks.page``
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import argus_page, plots
from benchmarks.aggregates import listed as listed_aggregates
from benchmarks.cold import listed as listed_cold
from benchmarks.common import DOCS, RESULTS, ROOT, load
from benchmarks.markdown import count, picture, seconds, table
from benchmarks.servers import listed
from benchmarks.small_runs import listed as listed_small
from benchmarks.trading import page as trading_page

TARGET_ROWS = 10_000_000
Listed = tuple[list[str], list[list[str]], str]
TARGETS = (("Q1", 0.15), ("Q2", 0.15), ("Q3'", 0.25), ("Q4", 0.20), ("Q5'", 0.30))
PAPER_5 = {
    "Q1": (2.8, 123.8, 4.2, 0.066),
    "Q2": (138.0, 139.3, 5.7, 0.18),
    "Q3": (10.6, 10.2, 8.0, 8.5),
    "Q4": (9405.2, 13105.4, 2118.7, 1373.5),
    "Q5": (819.0, 1276.6, 1210.6, 1230.8),
    "Q3'": (10.6, 619.0, 9.1, 0.60),
    "Q5'": (819.0, 1288.7, 158.3, 9.6),
}
PAPER_9 = {"Q1": (2.4, 2.7, 0.022, 0.002), "Q3'": (5.2, 5.3, 0.187, 0.011)}


def _size(path: Path) -> int:
    return int(_rows(path))


def largest(prefix: str) -> tuple[str, dict[str, Any]] | None:
    """The result with the most generated rows."""
    found = sorted(RESULTS.glob(f"{prefix}_generated_*.json"), key=_size)
    if not found:
        return None
    result = load(found[-1].stem)
    assert result is not None
    return _rows(found[-1]), result


def at_target(prefix: str) -> tuple[str, dict[str, Any]] | None:
    """The result of the size that the targets are about; else the largest."""
    result = load(f"{prefix}_generated_{TARGET_ROWS}")
    return largest(prefix) if result is None else (str(TARGET_ROWS), result)


def _rows(path: Path) -> str:
    return path.stem.rsplit("_", 1)[1]


def measured_on(result: dict[str, Any]) -> str:
    """When and on what; rows and files of the data."""
    at, data = result["measured"], result["data"]
    return (
        f"{data['rows']:,} messages in {data['files']} files ({data['mib']:,.0f} MiB), "
        f"{data['from']} to {data['to']}; {at['at'][:10]}, Spark {at['spark']}, "
        f"{at['cores']} cores, load average {at['load_average']} (other programs were running), "
        f"commit {at['commit']}."
    )


# -- figures 5 and 6 ------------------------------------------------------------------------------
def targets() -> str:
    """Which of the targets is met."""
    queries, rows = _fig56()
    if not queries:
        return _missing("tapestry_fig5")
    lines = []
    for name, target in TARGETS:
        one = queries.get(name, {}).get("1 %")
        if one is None:
            lines.append([name, f"≤ {target:.2f}", "not measured", "–", "–"])
            continue
        met = "**met**" if one["ratio"] <= target else "**missed**"
        cpu = f"{one['cpu_ratio']:.2f}"
        lines.append([name, f"≤ {target:.2f}", f"{one['ratio']:.2f}", cpu, met])
    head = ["", "target", f"time, {int(rows):,} rows", "processor time", ""]
    return table(head, lines)


def _fig56() -> tuple[dict[str, Any], str]:
    five, six = at_target("fig5"), at_target("fig6")
    queries: dict[str, Any] = {}
    for found in (five, six):
        queries |= found[1]["queries"] if found else {}
    return queries, five[0] if five else "0"


def compared(prefix: str, name: str, result: dict[str, Any] | None) -> str:
    """One of figures 5 and 6 on one set of messages: picture, table, where it was measured."""
    if result is None:
        return _missing(f"tapestry_{prefix}")
    queries = result["queries"]
    title = f"Q and Q^I, {result['data']['rows']:,} messages"
    shown = picture(plots.compared(f"{prefix}_{name}", queries, title), title)
    shares = [one for one in plots.variants(queries) if one != "Q"]
    head = ["seconds", "Q", *(f"Q^I {one}" for one in shares), "1 % : Q", "cpu"]
    rows, reads = [], []
    for query, found in queries.items():
        plain, one = found["Q"], found["1 %"]
        row = [query, *(seconds(found.get(v, {}).get("seconds")) for v in ("Q", *shares))]
        rows.append([*row, f"**{one['ratio']:.2f}**", f"{one['cpu_ratio']:.2f}"])
        read = [query]
        for word in ("files", "rows", "shuffled"):
            read += [count(which["reading"].get(word)) for which in (plain, one)]
        reads.append([*read, f"{one['answers']:,}"])
    of_reads = ["", "files, Q", "1 %", "rows read, Q", "1 %", "rows shuffled, Q", "1 %"]
    tables = [table(head, rows), table([*of_reads, "answers, 1 %"], reads)]
    return "\n\n".join([shown, *tables, measured_on(result)])


def fig5_generated() -> str:
    found = at_target("fig5")
    return compared("fig5", "generated", found[1] if found else None)


def fig5_real() -> str:
    return compared("fig5", "real", load("fig5_real"))


def fig6_generated() -> str:
    found = at_target("fig6")
    return compared("fig6", "generated", found[1] if found else None)


def fig6_real() -> str:
    return compared("fig6", "real", load("fig6_real"))


def more_rows() -> str:
    """The ratios of the targets where there are more messages, beside those."""
    fewer, rows = _fig56()
    sizes = {int(rows): fewer}
    notes = []
    for figure in ("fig5", "fig6"):
        for path in sorted(RESULTS.glob(f"{figure}_generated_*.json"), key=_size):
            result = load(path.stem)
            if result is None or _size(path) <= int(rows):
                continue
            sizes.setdefault(_size(path), {}).update(result["queries"])
            notes.append(f"{', '.join(sorted(result['queries']))}: {measured_on(result)}")
    if not notes:
        return _missing("tapestry_fig5 --rows 30000000 --shares 0.01")
    lines = []
    for name, _ in TARGETS:
        for size, queries in sorted(sizes.items()):
            one = queries.get(name, {}).get("1 %")
            if one is None:
                lines.append([name, f"{size:,}", "not measured", "–", "–", "–", "–"])
                continue
            plain = seconds(queries[name]["Q"]["seconds"])
            line = [name, f"{size:,}", plain, seconds(one["seconds"]), f"**{one['ratio']:.2f}**"]
            lines.append([*line, f"{one['cpu_ratio']:.2f}", count(one["reading"]["files"])])
    head = ["", "messages", "Q, seconds", "Q^I 1 %", "1 % : Q", "cpu", "files, 1 %"]
    return "\n\n".join([table(head, lines), *notes])


def paper5() -> str:
    rows = [
        [name, *(f"{value:g}" for value in values), f"{values[3] / values[0]:.3f}"]
        for name, values in PAPER_5.items()
    ]
    return table(["seconds", "Q", "Q^I 100 %", "Q^I 10 %", "Q^I 1 %", "1 % : Q"], rows)


# -- figures 7, 8, 9 ------------------------------------------------------------------------------
def fig7() -> str:
    found = largest("fig7")
    if found is None:
        return _missing("tapestry_fig7")
    result = found[1]
    measured = result["queries"]["Q1"]
    title = f"Q1 by the size of the window, {result['data']['rows']:,} messages"
    shown = picture(plots.by_window("fig7_generated", measured, title), title)
    rows = [
        [
            "Q" if name == "Q" else f"Q^I {name}",
            seconds(one["seconds"]),
            f"{one['ratio']:.2f}",
            f"{one['cpu_ratio']:.2f}",
            f"{one['reading']['files']:,}",
            f"{one['reading']['file_bytes'] / 2**20:,.1f}",
            f"{one['reading']['rows']:,}",
        ]
        for name, one in measured.items()
    ]
    head = ["Q1", "seconds", ": Q", "cpu", "files read", "MiB of files", "rows scanned"]
    return "\n\n".join([shown, table(head, rows), measured_on(result)])


def fig8() -> str:
    found = largest("fig8")
    if found is None:
        return _missing("tapestry_fig8")
    result = found[1]
    title = f"{result['new_rows']:,} new messages in databases of growing size"
    shown = picture(plots.by_size("fig8_generated", result, title), title)
    rows = []
    for size, messages in result["rows"].items():
        row = [f"{messages:,}"]
        for prefix in ("Q1 Q", "Q1 QI", "Q3' Q", "Q3' QI"):
            one = result["variants"][f"{prefix} {size}"]
            row += [seconds(one["seconds"]), f"{one['reading']['files']:,}"]
        rows.append(row)
    head = ["messages", "Q1", "files", "Q1, Q^I", "files"]
    head += ["Q3", "files", "Q3', Q^I", "files"]
    return "\n\n".join([shown, table(head, rows), measured_on(result)])


def fig9() -> str:
    found = largest("fig9")
    if found is None:
        return _missing("tapestry_fig9")
    layouts = found[1]["layouts"]
    shown = picture(plots.by_layout("fig9_generated", layouts, "by layout"), "by layout")
    rows = []
    for layout, result in layouts.items():
        for query, measured in result["queries"].items():
            row = [f"{query}, {layout}"]
            for one in measured.values():
                row += [seconds(one["seconds"]), f"{one['reading']['files']:,}"]
            rows.append(row)
    first = next(iter(layouts.values()))
    variants = list(next(iter(first["queries"].values())))
    head = ["seconds"]
    for one in variants:
        head += ["Q" if one == "Q" else f"Q^I {one}", "files"]
    said = measured_on({"measured": found[1]["measured"], "data": first["data"]})
    return "\n\n".join([shown, table(head, rows), said])


def paper9() -> str:
    rows = [[name, *(f"{value:g}" for value in values)] for name, values in PAPER_9.items()]
    return table(["seconds", "Q", "Q^I 100 %", "Q^I 10 %", "Q^I 1 %"], rows)


# -- beside the paper -----------------------------------------------------------------------------
def rebuild() -> str:
    found = largest("rebuild")
    if found is None:
        return _missing("rebuild", "benchmarks")
    result = found[1]
    title = "Bringing a table up to date, 1 % new"
    shown = picture(plots.kept("rebuild", result["queries"], title), title)
    rows = []
    for query, measured in result["queries"].items():
        row = [query]
        for one in measured.values():
            row += [seconds(one["seconds"]), f"{one['ratio']:.2f}"]
        rows.append(row)
    head = ["seconds", "rebuild", "", "merge, 3 days back", ": rebuild", "append Q^I", ": rebuild"]
    return "\n\n".join([shown, table(head, rows), measured_on(result)])


def lookback() -> str:
    result = load("lookback_real")
    if result is None:
        return _missing("lookback", "benchmarks")
    names = {
        "append": "`ts > max(ts)`, appended",
        "merge": "3 days of look-back, merged",
        "rebuild": "rebuilt each time",
        "tapestry": "tapestry",
    }
    rows = []
    for query, found in result["models"].items():
        for kind, said in names.items():
            one = found[kind]
            row = [f"{query}: {said}", f"{found['truth']:,}", f"{one['rows']:,}"]
            row += [f"{one['missing']:,}", f"{one['never_delivered']:,}", f"{one['surplus']:,}"]
            rows.append([*row, f"**{one['missing'] + one['surplus']:,}**"])
    head = ["", "answers", "rows kept", "missing", "without any copy", "no answer", "wrong"]
    facts = result["facts"]
    said = (
        f"{facts['rows']:,} messages in {facts['runs']} monthly batches; Q1 and Q3 ask for "
        f"`{facts['list']}`; "
        f"{facts['late_rows']:,} rows arrived late."
    )
    return "\n\n".join([table(head, rows), said])


def checks() -> str:
    found = [load(p.stem) for p in sorted(RESULTS.glob("checks_generated_*.json"), key=_size)]
    if not found:
        return _missing("checks", "benchmarks")
    return "\n\n".join(_checked(result) for result in reversed(found) if result is not None)


def _checked(result: dict[str, Any]) -> str:
    rows, others = [], []
    for query, measured in result["queries"].items():
        off, sample, requests = (measured[one] for one in ("off", "sample", "expectations"))
        row = [query, seconds(off["seconds"])]
        for one in (sample, requests):
            row += [seconds(one["seconds"]), f"**{one['ratio']:.2f}**", f"{one['cpu_ratio']:.2f}"]
        rows.append(row)
        files = [count(one["reading"]["files"]) for one in (off, sample)]
        first = [seconds(measured[f"first, {one}"]["seconds"]) for one in ("off", "sample")]
        others.append([query, *files, *first])
    head = ["a run, 1 % new", "`verify: off`, s", "`sample`, s", ": off", "cpu"]
    head += ["20 expectations, s", ": off", "cpu"]
    of_others = ["", "files, `off`", "files, `sample`", "first run, `off`, s"]
    tables = [table(head, rows), table([*of_others, "first run, `sample`, s"], others)]
    return "\n\n".join([*tables, measured_on(result)])


def warm() -> str:
    result = load("warm")
    if result is None:
        return _missing("warm", "benchmarks")
    rows = [[one["name"], *(str(value) for value in one["values"])] for one in result["rows"]]
    return "\n\n".join([table(result["head"], rows), result["said"]])


def watch() -> str:
    found = [load(path.stem) for path in sorted(RESULTS.glob("watch_*.json"))]
    if not found:
        return _missing("watch", "benchmarks")
    rows, memory, alive = [], [], []
    for result in found:
        assert result is not None
        late = result["latency_seconds"]
        row = [f"every {result['every']}, {result['slow_models']} slow models beside it"]
        row += [count(result["delivered"]), count(result["rows"])]
        row += [seconds(late[one]) for one in ("median", "p95", "longest")]
        row += [count(result[one]) for one in ("runs", "skipped_ticks", "failed")]
        rows.append([*row, seconds(result["seconds_a_run"])])
        settled = next((one for one in result["memory"] if one[0] >= 200), result["memory"][0])
        for cycles, parts in (settled, result["memory"][-1]):
            listed = ", ".join(f"{name} {mib:,.0f}" for name, mib in sorted(parts.items()))
            memory.append(f"{cycles:,} cycles: {listed} MiB")
        alive += [f"{mib:,.0f} MiB after {n:,} cycles" for n, mib in result["alive"] if mib]
    head = ["", "rows delivered", "of", "latency, s: median", "95 %", "longest"]
    head += ["cycles", "skipped", "failed", "s a cycle"]
    said = f"Resident memory after {'; after '.join(memory)}."
    said += f" In use in Java's heap after a full collection: {', '.join(alive) or 'not known'}."
    return "\n\n".join([table(head, rows), said])


def _listed(name: str, of: Callable[[dict[str, Any]], Listed]) -> str:
    result = load(name)
    if result is None:
        return _missing(name, "benchmarks")
    head, rows, said = of(result)
    return "\n\n".join([table(head, rows), said])


LISTS: dict[str, Callable[[dict[str, Any]], Listed]] = {
    "aggregates": listed_aggregates,
    "servers": listed,
    "small_runs": listed_small,
    "cold": listed_cold,
}
_ALL = (targets, fig5_generated, fig5_real, fig6_generated, fig6_real, more_rows, paper5)
PIECES: dict[str, Callable[[], str]] = (
    {made.__name__: made for made in (*_ALL, fig7, fig8, fig9, paper9)}
    | {made.__name__: made for made in (rebuild, lookback, checks, warm, watch)}
    | {name: partial(_listed, name, of) for name, of in LISTS.items()}
    | {made.__name__: made for made in (*argus_page.MADE, *trading_page.MADE)}
)


def _missing(module: str, package: str = "benchmarks.figures") -> str:
    return f"*Not measured yet: `python -m {package}.{module}`.*"


def build() -> list[Path]:
    """Write the pages."""
    pages = {"page.md": DOCS / "benchmarks.md", "trading/page.md": DOCS / "trading.md"}
    for words, path in pages.items():
        text = (ROOT / "benchmarks" / words).read_text("utf-8")
        path.write_text(re.sub(r"\{\{(\w+)\}\}", lambda found: PIECES[found[1]](), text), "utf-8")
    return list(pages.values())


if __name__ == "__main__":
    print(*build())
