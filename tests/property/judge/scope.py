"""What a condition may refer to: the relations of its own FROM clause and of the one around it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from judge.tree import Text


@dataclass(frozen=True)
class Visible:
    """A relation in a FROM clause: its key, its alias, its columns and their types."""

    key: str
    alias: str
    columns: dict[str, str]
    arrival: str | None = None


@dataclass
class Scope:
    """The relations of one FROM clause, and those of the query around it."""

    rng: random.Random
    relations: list[Visible] = field(default_factory=list)
    outer: list[Visible] = field(default_factory=list)
    hidden: list[Visible] = field(
        default_factory=list
    )  # around this one, their alias taken in here
    merged: dict[str, Text] = field(default_factory=dict)  # columns of a USING, by name
    merged_types: dict[str, str] = field(default_factory=dict)

    def inner(self) -> Scope:
        """The scope of a subquery in here."""
        return Scope(self.rng, outer=list(self.relations))

    def hide(self) -> None:
        """Relations around this one whose alias is taken in here cannot be seen."""
        mine = {relation.alias for relation in self.relations}
        self.hidden += [relation for relation in self.outer if relation.alias in mine]
        self.outer = [relation for relation in self.outer if relation.alias not in mine]

    def column(self, type_: str, *, outer: float = 0.2, arrivals: float = 0.0) -> Text | None:
        """A column of a type, sometimes of the query around this one; None where there is none."""
        own = self._of_type(self.relations, type_)
        around = self._of_type(self.outer, type_)
        if around and (not own or self.rng.random() < outer):
            relation, name = self.rng.choice(around)
            return self._reference(relation, name, own=False)
        if not own:
            return None
        if arrivals and self.rng.random() < arrivals:
            own = [(rel, name) for rel, name in own if name == rel.arrival] or own
        relation, name = self.rng.choice(own)
        if name in self.merged and self.merged_types[name] == type_ and self.rng.random() < 0.6:
            return self.merged[name]
        return self._reference(relation, name, own=True)

    def reference(self, relation: Visible, name: str) -> Text:
        """A column of a relation in here."""
        return self._reference(relation, name, own=True)

    @staticmethod
    def _of_type(relations: list[Visible], type_: str) -> list[tuple[Visible, str]]:
        return [
            (rel, name) for rel in relations for name, its in rel.columns.items() if its == type_
        ]

    def _reference(self, relation: Visible, name: str, *, own: bool) -> Text:
        text = f"{relation.alias}.{name}"
        if self.rng.random() < 0.2 and self._unambiguous(name, own=own):
            text = name
        return Text(text, f"{relation.key}.{name}", frozenset({relation.key}))

    def _unambiguous(self, name: str, *, own: bool) -> bool:
        here = sum(name in relation.columns for relation in self.relations)
        there = sum(name in relation.columns for relation in (*self.outer, *self.hidden))
        return here == 1 and name not in self.merged if own else here == 0 and there == 1
