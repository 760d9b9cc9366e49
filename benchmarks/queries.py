"""Figure 4's queries, over ``{messages}``; the columns that a user would want, not only msgid."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, rewrite

SOURCE = "messages"


@dataclass(frozen=True)
class Lists:
    """Which lists Q1, Q3 and Q2 ask for in one set of messages."""

    one: str
    family: str


GENERATED = Lists("alt.gourmand", "rec.%")
"""3 % and 11 % of the generated messages."""

REAL = Lists("linux-api", "linux-n%")
"""8 % and 13 % of the real messages."""


@dataclass(frozen=True)
class Query:
    """One query of Figure 4 and what its author knows about the order of arrival."""

    name: str
    title: str
    sql: str
    assume: tuple[str, ...] = ()

    def text(self, relation: str, lists: Lists, now: datetime | None = None) -> str:
        """The query over a relation; with ``now`` it is Q(t), as plain SQL answers it."""
        text = self.sql.format(messages=relation, one=lists.one, family=lists.family)
        return text if now is None else text.replace("now()", instant(now))

    def rewriting(self, columns: tuple[Column, ...], lists: Lists) -> Rewriting:
        """The query, ready to be rendered as Q^I."""
        catalog = Catalog({SOURCE: Source(SOURCE, columns, "ts")})
        return rewrite(self.text(SOURCE, lists), catalog, self.assume)


Q1 = """SELECT msgid, author, subject FROM {messages} WHERE newsgroup = '{one}'"""
Q2 = """SELECT msgid, newsgroup, author, subject FROM {messages} WHERE newsgroup LIKE '{family}'"""
Q3 = """SELECT m.msgid, m.newsgroup, m.author, m1.msgid AS reply
FROM {messages} m, {messages} m1
WHERE m1.inreplyto = m.msgid AND m1.newsgroup = '{one}'"""
Q4 = """SELECT m.msgid, m.newsgroup, m.author, m.subject
FROM {messages} m
WHERE m.ts < now() - INTERVAL 28 DAYS
  AND NOT EXISTS (SELECT 1 FROM {messages} m1 WHERE m1.inreplyto = m.msgid)"""
Q5 = """SELECT m.msgid, m.author, m1.msgid AS reply, m2.msgid AS reply_to_reply
FROM {messages} m, {messages} m1, {messages} m2
WHERE m.inreplyto IS NULL AND m1.inreplyto = m.msgid AND m2.inreplyto = m1.msgid"""

REPLY_IS_LATER = "m1.ts >= m.ts"
QUERIES = (
    Query("Q1", "messages of one list", Q1),
    Query("Q2", "messages of a family of lists", Q2),
    Query("Q3", "messages that have a reply in one list", Q3),
    Query("Q3'", "Q3, a reply is not older", Q3, (REPLY_IS_LATER,)),
    Query("Q4", "older than 4 weeks, not replied to", Q4),
    Query("Q4'", "Q4, a reply is not older", Q4, (REPLY_IS_LATER,)),
    Query("Q5", "first messages of conversations", Q5),
    Query("Q5'", "Q5, replies are not older", Q5, (REPLY_IS_LATER, "m2.ts >= m1.ts")),
)
QUIET = """SELECT m.msgid, m.newsgroup, m.author, m.subject
FROM {messages} m
WHERE NOT EXISTS (SELECT 1 FROM {messages} m1
  WHERE m1.inreplyto = m.msgid AND now() < m1.ts + INTERVAL 14 DAYS)"""
REPLIED = """SELECT m.msgid, m.newsgroup, m.author, m.subject
FROM {messages} m
WHERE EXISTS (SELECT 1 FROM {messages} m1
  WHERE m1.inreplyto = m.msgid AND m1.newsgroup = '{one}')"""
OTHERS = (
    Query("quiet", "no reply in the last two weeks", QUIET),
    Query("replied", "a reply exists in one list", REPLIED),
)
"""Strategies 3 and 4, which none of Figure 4 needs."""
BY_NAME = {query.name: query for query in (*QUERIES, *OTHERS)}


def scan(relation: str, arrival: str = "ts", late: bool = False) -> dict[str, Scan]:
    """How a run reads the messages: pinned relation, arrival, an id for each row."""
    row_id = "struct(_metadata.file_path, _metadata.row_index)"
    return {SOURCE: Scan(relation, arrival, row_id, late)}


def instant(at: datetime) -> str:
    """A timestamp literal."""
    return f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S.%f}+00:00'"
