"""Shows the results of `tapestry advise` to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tapestry.advise.records import (
    CONTINUOUS,
    MAINTAINED,
    REBUILT,
    REBUILT_TEXT,
    UNREAD,
    Advice,
    Survey,
)
from tapestry.words import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = {CONTINUOUS: "green", MAINTAINED: "green", UNREAD: "yellow"}
_OR_MAINTAINED = f"or materialized='{MAINTAINED}': its rows as they are now, whatever of this holds"
_SHOWN = 3
"""So many things to change stand in the table of models."""


def show_survey(to: Console, found: Survey, verbose: bool) -> None:
    """The counts first, then a line a model; with ``verbose`` all that is known of each."""
    for line in summary(found):
        to.print(line, markup=False)
    if verbose:
        for one in in_order(found):
            to.print()
            _show_model(to, one)
    else:
        _show_table(to, found)
    for line in footer(found, verbose):
        to.print(line, markup=False)


def summary(found: Survey) -> Iterator[str]:
    """Yield how many models fit, and how many do not, by reason."""
    counts = found.counts
    name = printable(found.project or found.folder)
    yield f"{name}: {counted(counts['models'], 'model')}, read as {found.dialect}"
    fits = f"  {counts['continuous']:>5} can be continuous"
    if counts["continuous_if"]:
        fits += f", {counts['continuous_if']} of them under a condition that only you can know"
    yield fits
    if counts["also_maintained"]:
        yield f"        {counts['also_maintained']:>5} of these can be maintained instead"
    if counts["maintained"]:
        yield f"  {counts['maintained']:>5} can be maintained: the answer as it is now"
    yield f"  {counts['refused']:>5} cannot: {REBUILT_TEXT}"
    for code, count in found.reasons.items():
        first = next(one for one in found.models if one.code == code and one.kind == REBUILT)
        yield f"        {count:>5} {code}: {printable(first.reason)}"
    if counts["stays"]:
        why = "of a kind of ours, or without rows of their own"
        yield f"  {counts['stays']:>5} stay what they are: {why}"
    if counts["unread"]:
        yield f"  {counts['unread']:>5} could not be judged"
        for why, count in _unread(found).most_common():
            yield f"        {count:>5} {printable(why)}"
    yield from (f"  note: {printable(note)}" for note in found.notes)


def _unread(found: Survey) -> Counter[str]:
    """Count the reasons why models could not be judged, without details of each model."""
    return Counter(one.reason.partition(": ")[0] for one in found.models if one.kind == UNREAD)


def in_order(found: Survey) -> list[Advice]:
    """Return the models: fitting ones, then refused ones by reason, then unjudged ones."""
    codes = list(found.reasons)

    def place(one: Advice) -> tuple[int, int, str]:
        if one.kind == CONTINUOUS:
            return (0, len(one.conditions), one.name)
        if one.kind == MAINTAINED:
            return (1, len(one.conditions), one.name)
        if one.kind == UNREAD:
            return (3, 0, one.name)
        return (2, codes.index(one.code), one.name) if one.code else (4, 0, one.name)

    return sorted(found.models, key=place)


def kind_text(one: Advice) -> str:
    """The kind that fits, in a few words."""
    if one.kind == CONTINUOUS:
        return f"{CONTINUOUS}, if" if one.conditions else CONTINUOUS
    if one.kind == MAINTAINED:
        return f"{MAINTAINED}, if" if one.conditions else MAINTAINED
    if one.kind == UNREAD:
        return "not judged"
    return REBUILT_TEXT if one.code else f"stays {one.kind}"


def why_text(one: Advice) -> str:
    """Why, or what to change, in a few lines."""
    if one.kind == UNREAD or (one.code and one.kind != MAINTAINED):
        return one.reason + (f" [{one.code}]" if one.code else "")
    lines = [*one.conditions, *one.changes]
    if one.also:
        lines.append(_OR_MAINTAINED)
    if one.code:
        lines.append(f"not {CONTINUOUS}: {one.reason} [{one.code}]")
    told = [f"arrival {one.told}" for one in one.arrivals]
    lines += told[:_SHOWN]
    if len(told) > _SHOWN:
        lines.append(f"and {len(told) - _SHOWN} more arrivals")
    return "\n".join(lines)


def _show_table(to: Console, found: Survey) -> None:
    from rich.text import Text

    from tapestry.cli.show import folded_table

    table = folded_table("", "model", "today", "fits", "why, or what to change")
    for one in in_order(found):
        if one.kind == UNREAD or one.judged:
            colour = COLOURS.get(one.kind, "")
            told = "\n".join(printable(line) for line in why_text(one).splitlines())
            kind = Text(kind_text(one), style=colour)
            table.add_row(Text(printable(one.name)), Text(printable(one.today)), kind, Text(told))
    if table.row_count:
        to.print(table)


def _show_model(to: Console, one: Advice) -> None:
    to.print(printable(one.name), style="bold", markup=False, end="  ")
    to.print(printable(one.file), markup=False)
    today = f"{one.today} -> " if one.today else ""
    to.print(f"  {printable(today)}{kind_text(one)}", style=COLOURS.get(one.kind), markup=False)
    for line in details(one):
        to.print(f"  {printable(line)}", markup=False)


def details(one: Advice) -> Iterator[str]:
    """All that is known of one model, a line each."""
    if one.code or one.kind == UNREAD:
        yield why_text(one)
        if one.where:
            yield f"  in: {' '.join(one.where.split())[:300]}"
        if one.hint:
            yield f"  do: {one.hint}"
    yield from (f"if: {told}" for told in one.conditions)
    yield from (f"change: {told}" for told in one.changes)
    if one.also:
        yield _OR_MAINTAINED
    yield from (f"arrival: {arrival.told}" for arrival in one.arrivals)
    yield from (f"note: {told}" for told in one.notes)
    if one.strategy:
        yield f"strategy: {one.strategy}"


def footer(found: Survey, verbose: bool) -> Iterator[str]:
    """Yield caveats, and what to do next."""
    if found.counts["continuous"]:
        yield (
            "A continuous model keeps every row that was ever an answer: it fits where the rows of"
            " its sources are added and not changed."
        )
    yield (
        "Columns and types that no YAML names are guesses from the queries: `tapestry explain` in a"
        " project of the adapter has the last word."
    )
    if not verbose:
        yield "--verbose says more of each: the piece of SQL, the way out, all arrival columns."
