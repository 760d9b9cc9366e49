"""Finds the edges of inner intervals at which a conjunction can become true, besides its start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapestry.sql.ir import Conjunction, Exists


@dataclass(frozen=True)
class Edge:
    """A chain of nested subqueries whose intervals may make the outer condition true."""

    chain: tuple[Conjunction, ...]
    rises_at_end: bool

    @property
    def last(self) -> Conjunction:
        """The innermost subquery of the chain."""
        return self.chain[-1]


def edges(conjunction: Conjunction) -> Iterator[Edge]:
    """Yield all chains at which the conjunction can become true, besides its own start."""

    def below(exists: tuple[Exists, ...], chain: tuple[Conjunction, ...], negative: bool):  # type: ignore[no-untyped-def]
        for one in exists:
            polarity = negative != one.negated
            here = (*chain, one.inner)
            if not polarity:
                yield Edge(here, False)
            elif one.inner.uppers:
                yield Edge(here, True)
            yield from below(one.inner.exists, here, polarity)

    yield from below(conjunction.exists, (), False)
