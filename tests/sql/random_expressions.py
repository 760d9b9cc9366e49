"""Random expressions as an author may write them, without parentheses wherever that is allowed.

Each is put into places that bind tighter: multiplied, negated, in BETWEEN, CASE, IN, calls.
"""

from __future__ import annotations

from random import Random

ROWS = (
    "SELECT * FROM VALUES"
    " (1, 2, 3, 5L, 1.50BD, 2.5D, 'a', 'b%', DATE'2024-02-29', TIMESTAMP'2024-02-29 13:04:05.678',"
    " TIMESTAMP'0987-01-31 03:00:00', true, false, array(3, 1, 2), '2024-03-01'),"
    " (-7, 3, 6, -2L, -0.25BD, -1.5D, 'it''s', 'A', DATE'0999-12-31',"
    " TIMESTAMP'2023-12-31 23:59:59',"
    " TIMESTAMP'2024-01-01 00:00:00', false, true, array(1), '0007-11-09'),"
    " (12, 5, 1, 9L, 10.01BD, 4D, 'ab', '_', DATE'2023-01-01', TIMESTAMP'2023-01-01 00:00:00',"
    " TIMESTAMP'2020-05-17 12:30:00', NULL, true, array(NULL, 4), '1999-01-02'),"
    " (NULL, 1, NULL, NULL, NULL, NULL, NULL, 'a', NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    " AS v(i, j, k, l, x, y, s, t, d, ts, due, p, q, a, w)"
)
COLUMNS = {
    **dict.fromkeys("ijk", "int"),
    **{"l": "bigint", "x": "decimal(4,2)", "y": "double", "s": "string", "t": "string"},
    **{"d": "date", "ts": "timestamp", "due": "timestamp", "p": "boolean", "q": "boolean"},
    **{"a": "array<int>", "w": "string"},
}
"""One row where each of two readings gives a value of its own, mostly; NULLs."""

_LEAVES = {
    "int": [
        "i",
        "j",
        "k",
        "l",
        "1",
        "2",
        "-3",
        "7L",
        "2S",
        "3Y",
        "j",
        "j",
        "k",
        "-1::bigint",
        "-2L::int",
    ],
    "frac": ["x", "y", "1.5", "2.50BD", "1e1", "-0.5", ".5", "2D", "1.5F", "3E-1"],
    "text": ["s", "t", "'a'", "'it''s'", '"q"', "'%'", r"'\\'", "'a' 'b'", r"r'\d'"],
    "bool": ["p", "q", "true", "null"],
    "days": [
        *("interval 1 day", "interval '2' day '12' hours", "interval '1 2' day to hour"),
        *(
            "interval -'1' day",
            "interval '-1' day",
            "interval -2 hours",
            "interval '1 day 2 hours'",
        ),
        *("interval 1 day 2 hours 3 minutes", "interval '3 04:05:06.7' day to second"),
        *("interval - '1' day '2' hours", "interval 1 week", "interval '90' minutes"),
        *("interval -'1 2' day to hour", "interval 1.5 seconds", "interval '1.5' second"),
        *(
            "interval +1 day",
            "interval 3 days -2 hours",
            "interval 1 day - '2' hours",
            "interval '1' day '-2' hours",
        ),
        *("make_dt_interval(j, 2)", "(due - ts)"),
    ],
    "months": [
        *("interval 1 month", "interval '1-2' year to month", "interval '1' year '2' months"),
        *("interval -'1' year", "interval 1 year -3 months", "interval - '1-2' year to month"),
        *("interval '1 year 2 months'", "make_ym_interval(1, j)", "interval 1 quarter"),
    ],
    "ts": [
        "ts",
        "due",
        "timestamp'2024-01-31 10:00:00'",
        "timestamp '2024-01-31'",
        "date'2024-01-31'::timestamp",
    ],
    "date": [
        "d",
        "date'2024-01-31'",
        "date '2020-02-29'",
        "cast(ts as date)",
        "timestamp'2024-01-31 10:00:00'::date",
    ],
}
_INTS = ("+", "-", "*", "%", "div", "&", "|", "^", "<<", ">>", "+", "-")
_FRACS = ("+", "-", "*", "/", "%")
_COMPARE = ("=", "<", ">", "<=", ">=", "<>", "!=", "==", "<=>")
_FORMATS = (
    *("y", "yy", "yyyy", "yyy", "u", "uuuu", "M", "MM", "MMM", "MMMM", "L", "d", "dd", "D", "DDD"),
    *("H", "HH", "h", "hh", "k", "kk", "K", "KK", "m", "mm", "s", "ss", "S", "SS", "SSS", "SSSSSS"),
    *("a", "E", "EEE", "EEEE", "F", "Q", "q", "QQ", "x", "XXX", "z", "V", "VV", "O", "G"),
    *("yyyy-MM-dd", "dd.MM.", "HH:mm", "''yy''", "yyyy''MM", "h:mm a", "M/d/y", "yyyyMMdd"),
    *("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH", "d MMM y", "%Y", "yyyy %", "[yyyy]", "hh'h'"),
)


class Author:
    """Writes expressions of a kind, with parentheses now and then."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def one(self, *of: str) -> str:
        """One of some texts."""
        return self.random.choice(of)

    def write(self, kind: str, depth: int) -> str:
        """An expression of a kind."""
        if depth <= 0 or self.random.random() < 0.15:
            return self.one(*_LEAVES[kind])
        if self.random.random() < 0.15:
            return f"({self.write(kind, depth - 1)})"
        if self.random.random() < 0.1:
            return self.either(kind, depth - 1)
        return str(getattr(self, kind)(depth - 1))

    def either(self, kind: str, depth: int) -> str:
        """What stands for any kind: CASE, IF, COALESCE, …"""
        one, two = self.write(kind, depth), self.write(kind, depth)
        p = self.write("bool", depth)
        return self.one(
            f"case when {p} then {one} else {two} end",
            f"case {self.write('int', depth)} when {self.write('int', 1)} then {one} end",
            f"if({p}, {one}, {two})",
            f"coalesce({one}, {two})",
            f"nvl({one}, {two})",
            f"nullif({one}, {two})",
            f"nvl2({one}, {two}, {one})",
            f"iff({p}, {one}, {two})",
            f"greatest({one}, {two})",
            f"transform(array({one}), e -> e)[0]",
            f"map('m', {one})['m']",
            f"struct({one} as f).f",
            f"array({one}, {two})[1]",
            f"element_at(array({one}), 1)",
            f"decode({self.write('int', 1)}, 1, {one}, {two})",
        )

    def int(self, depth: int) -> str:
        """Whole numbers."""
        one, two = self.write("int", depth), self.write("int", depth)
        if self.random.random() < 0.6:
            return f"{one} {self.one(*_INTS)} {two}"
        text, date, ts = (self.write(kind, depth) for kind in ("text", "date", "ts"))
        return self.one(
            *(f"-{one}", f"- {one}", f"~{one}", f"+{one}", f"- -{one}", f"~ -{one}"),
            *(f"cast({one} as bigint)", f"{one}::int", f"abs({one})", f"length({text})"),
            *(f"pmod({one}, {two})", f"mod({one}, {two})", f"try_divide({one}, {two})"),
            *(f"datediff({date}, {date})", f"month({date})", f"extract(day from {ts})"),
            *(f"date_part('hour', {ts})", f"try_add({one}, {two})", f"dayofweek({date})"),
            *(f"timestampdiff(hour, {ts}, {self.write('ts', 1)})", f"unix_timestamp({ts})"),
            *(f"instr({text}, 'a')", f"position('a' in {text})", f"locate('a', {text}, 1)"),
            *(f"bit_count({one})", f"shiftleft({one}, 1)", f"weekday({date})", "size(a)"),
            *(f"date_diff(day, {ts}, {ts})", f"months_between({ts}, {date}) div 1"),
            *(f"cast({self.write('frac', depth)} as int)", f"bigint({one})", f"sign({one})"),
            *(f"extract(week from {date})", f"{date} - {date} = {self.write('days', 1)}"),
            *(f"aggregate(a, 0, (acc, e) -> acc + e * {one})", f"floor({one} / {two})"),
            *(f"regexp_count({text}, 'a')", f"nanvl({one}, {two})", f"div({one}, {two})"),
            *(f"{one} -{two}", f"{one}-{two}*{one}", f"year({date} + {self.write('months', 0)})"),
            *(f"rint({one})", f"bround({one}, -1)", f"round({one}, -1)", f"ceil({one}, -1)"),
            *(f"unix_timestamp({self.one('w', 'w')}, 'yyyy-MM-dd')", f"getbit({one}, 0)"),
            *(
                f"unix_date({date})",
                f"-1::string || {one}",
                f"unix_micros({ts})",
                f"conv({one}, 10, 2)",
                f"hash({text})",
            ),
        )

    def frac(self, depth: int) -> str:
        """Numbers with a fraction."""
        one, two = self.write("frac", depth), self.write(self.one("int", "frac"), depth)
        if self.random.random() < 0.6:
            return f"{one} {self.one(*_FRACS)} {two}"
        return self.one(
            *(f"-{one}", f"{two} / {one}", f"round({one}, 1)", f"cast({one} as decimal(10,3))"),
            *(f"try_subtract({one}, {two})", f"ceil({one})", f"floor({one})", f"{one}::double"),
            *(f"try_multiply({one}, {two})", f"power({one}, 2)", f"log(2, abs({one}) + 1)"),
            *(f"extract(second from {self.write('ts', depth)})", f"double({one})", "ln(3)"),
            *(f"cast({two} as string)::decimal(9,1)", "exp(0)", "try_to_number('1.5', '9.9')"),
            *("to_number('12', '99')", f"months_between({self.write('ts', 1)}, ts)", "log10(10)"),
            *(f"try_mod({one}, {two})", f"bround({one}, 1)", f"{one} % {two} * {one}"),
        )

    def text(self, depth: int) -> str:
        """Texts."""
        one, two = self.write("text", depth), self.write("text", depth)
        number, ts = self.write("int", depth), self.write("ts", depth)
        pattern = self.one(*_FORMATS).replace("'", "\\'")
        if self.random.random() < 0.3:
            return f"{one} || {self.one(two, number)}"
        return self.one(
            *(f"upper({one})", f"concat({one}, {two})", f"substring({one}, 1, {number})"),
            *(f"substring({one} from 2 for 1)", f"trim(both 'a' from {one})", f"trim({one})"),
            *(f"date_format({ts}, '{pattern}')", f"date_format({ts}, '{pattern}')"),
            *(f"date_format({self.write('date', depth)}, '{pattern}')", f"lpad({one}, 5, '*')"),
            *(f"from_unixtime({number}, '{pattern}')", f"replace({one}, 'a', {two})"),
            *(f"cast({number} as string)", f"string({number})", f"reverse({one})"),
            *(f"concat_ws('-', {one}, {two})", f"split({one}, 'a')[0]", f"ltrim('a', {one})"),
            *(f"regexp_replace({one}, '[a-z]', {two})", f"regexp_extract({one}, '(a)(b)?', 1)"),
            *(f"overlay({one} placing 'z' from 1)", f"left({one}, 1)", f"right({one}, 1)"),
            *(f"cast({self.write('days', depth)} as string)", f"initcap({one})", f"hex({number})"),
            *(f"cast({self.write('months', depth)} as string)", f"repeat({one}, 2)", f"md5({one})"),
            *(f"format_number({number}, 2)", f"typeof({number})", f"translate({one}, 'a', 'x')"),
            *(f"cast({self.write('frac', depth)} as string)", f"sha2({one}, 256)", "char(65)"),
            *(
                f"date_format({ts}, {self.one('t', 's')})" if depth < 0 else f"ascii({one})",
                "space(2)",
            ),
            *(f"to_char({number}, 'S999')", f"ifnull({one}, {two})", f"soundex({one})"),
            *(f"{one} || {number} + {number}", f"{number} + {number} || {one}", "chr(65)"),
            *("get_json_object('{\"a\": 1}', '$.a')", "array_join(a, ',')", f"btrim({one})"),
            *(f"split_part({one}, 'a', 1)", f"substr({one}, 2)", f"lower({one})", f"dayname({ts})"),
            *(f"cast({self.write('bool', depth)} as string)", f"monthname({ts})", f"mask({one})"),
        )

    def bool(self, depth: int) -> str:
        """Conditions."""
        kind = self.one("int", "frac", "text", "ts", "date", "days", "months", "bool")
        one, two, three = (self.write(kind, depth) for _ in range(3))
        p, q = self.write("bool", depth), self.write("bool", depth)
        if self.random.random() < 0.3:
            return f"{one} {self.one(*_COMPARE)} {two}"
        return self.one(
            *(f"{p} and {q}", f"{p} or {q}", f"not {p}", f"! {p}", f"{p} and {q} or {p}"),
            *(f"{p} or {q} and {p}", f"not {p} = {q}", f"not {one} < {two}", f"not not {p}"),
            *(f"{one} between {two} and {three}", f"{one} not between {two} and {three}"),
            *(f"{one} between {two} and {three} and {p}", f"{one} in ({two}, {three})"),
            *(f"{one} not in ({two}, {three})", f"{one} is null", f"{one} is not null"),
            *(f"not {one} is null", f"{p} is true", f"{p} is not false", f"{p} is unknown"),
            *(f"{one} is distinct from {two}", f"{one} is not distinct from {two}"),
            *(f"{self.write('text', depth)} like {self.write('text', 0)}", f"isnull({one})"),
            *(f"not {self.write('text', depth)} like 'a%'", f"{one} <=> {two}", f"isnotnull({p})"),
            *(f"{self.write('text', depth)} not rlike '^a'", f"{self.write('text', 1)} ilike 'A%'"),
            *(f"{one} = {two} = {p}", f"{one} < {two} and {p} or {q}", f"equal_null({one}, {two})"),
            *(f"exists(a, e -> e > {self.write('int', depth)})", f"array_contains(a, 1) = {p}"),
            *("any_match(a, e -> e = 1)", f"startswith({self.write('text', 1)}, 'a')"),
            *(
                f"contains({self.write('text', 1)}, 'a')",
                f"{self.write('text', 1)} like 'a!%' escape '!'",
            ),
            *(f"({one}, {two}) = ({two}, {three})", f"({one}, 1) in (({two}, 1), ({three}, 2))"),
            *(
                f"{self.write('text', 1)} like any ('a%', '%b')",
                f"boolean({p})",
                "forall(a, e -> e > 0)",
            ),
        )

    def days(self, depth: int) -> str:
        """Intervals of days and time."""
        one, two = self.write("days", depth), self.write("days", depth)
        number = self.write(self.one("int", "frac"), min(depth, 1))
        return self.one(
            *(f"{one} * {number}", f"{number} * {one}", f"{one} / {number}", f"-{one}"),
            *(f"{one} + {two}", f"{one} - {two}", f"- {one}", f"{one} * 2 - {two}"),
            *(f"{self.write('ts', depth)} - {self.write('ts', depth)}", f"abs({one})"),
            *(f"{one} * -1", f"{one} - {two} * 2", f"- {one} * 2", f"{one} * 2 * 3"),
            *(f"make_dt_interval({self.write('int', 0)}, 1)", f"try_multiply({one}, 2)"),
            *(f"{self.write('date', depth)} - {self.write('date', depth)}", f"+{one}"),
            f"cast({one} as interval day to second)",
        )

    def months(self, depth: int) -> str:
        """Intervals of months and years."""
        one, two = self.write("months", depth), self.write("months", depth)
        number = self.write("int", min(depth, 1))
        return self.one(
            *(f"{one} * {number}", f"{number} * {one}", f"{one} / {number}", f"-{one}"),
            *(f"{one} + {two}", f"{one} - {two}", f"- {one} * 2", f"{one} * 2 - {two}"),
        )

    def ts(self, depth: int) -> str:
        """Instants."""
        one, length = self.write("ts", depth), self.write(self.one("days", "months", "days"), depth)
        number, date = self.write("int", min(depth, 1)), self.write("date", depth)
        return self.one(
            *(f"{one} + {length}", f"{one} - {length}", f"{length} + {one}", f"{one} + {length}"),
            *(f"{one} - {length}", f"{one} - {length} + {self.write('days', 1)}"),
            f"date_trunc('{self.one('day', 'MONTH', 'week', 'mon', 'quarter')}', {one})",
            *(f"timestampadd(hour, {number}, {one})", f"dateadd(day, {number}, {one})"),
            *(
                f"date_add(month, {number}, {one})",
                f"cast({date} as timestamp)",
                f"{date}::timestamp",
            ),
            *("to_timestamp(w)", "to_timestamp(w, 'yyyy-MM-dd')", "to_timestamp(w, 'y-M-d')"),
            *(
                "try_to_timestamp(w, 'yyyy-MM-dd')",
                f"timestamp({date})",
                f"timestamp_seconds({number})",
            ),
            *(f"from_utc_timestamp({one}, 'Asia/Tokyo')", f"{one} + {length} * 2 - {length}"),
            *(f"timestampadd(week, 1, {one})", f"timestampadd(month, {number}, {one})"),
            *(
                f"timestamp_micros({number})",
                f"make_timestamp(2024, 1, {self.one('j', 'j')}, 0, 0, 0)",
            ),
            *(
                f"window_time(window({one}, '1 hour'))"
                if depth < 0
                else f"greatest({one}, {date})",
            ),
            *(f"try_add({one}, {length})", f"cast({one} as timestamp_ntz)::timestamp"),
        )

    def date(self, depth: int) -> str:
        """Days."""
        one, number = self.write("date", depth), self.write("int", min(depth, 1))
        return self.one(
            *(f"{one} + {number}", f"{one} - {number}", f"{one} + interval 1 day + 2"),
            *(f"date_add({one}, {number})", f"date_sub({one}, {number})", f"last_day({one})"),
            *(
                f"add_months({one}, {number})",
                f"trunc({one}, '{self.one('MM', 'year', 'week', 'Q')}')",
            ),
            *("to_date(w)", "to_date(w, 'yyyy-MM-dd')", "to_date(w, 'y-MM-dd')", f"date({one})"),
            *(f"next_day({one}, 'Mon')", f"cast({self.write('ts', depth)} as date)", f"{one} + 1"),
            *(
                f"{self.write('ts', depth)}::date",
                "make_date(2024, j, 1)",
                "date_from_unix_date(1)",
            ),
            *(f"{one} - {self.write('months', 0)}", f"dateadd({one}, {number})", "try_to_date(w)"),
        )


KINDS = ("int", "frac", "text", "bool", "days", "months", "ts", "date", "days", "bool", "int")


def random_expression(random: Random, depth: int = 3) -> str:
    """One expression."""
    author = Author(random)
    return author.write(random.choice(KINDS), depth)
