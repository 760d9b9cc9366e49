"""Spark's settings that change what a query answers: one value for every connection method.

A session is opened with the values below unless the profile says otherwise, and is asked what it
took.  Speed, sizes and places of files are nobody's answer and not in the list.  Neither is what
has no default that could be set again (`spark.sql.legacy.nullInEmptyListBehavior`), nor an order of
NULLs: Spark has no setting for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"

_FALSE = """
ansi.doubleQuotedIdentifiers ansi.relationPrecedence caseSensitive charAsVarchar
files.ignoreCorruptFiles files.ignoreMissingFiles
function.concatBinaryAsString function.eltOutputAsString
legacy.allowHashOnMapType legacy.allowNegativeScaleOfDecimal
legacy.allowNullComparisonResultInArraySort legacy.allowParameterlessCount
legacy.allowStarWithSingleTableIdentifierInCount legacy.allowZeroIndexInFormatString
legacy.bangEqualsNot legacy.castComplexTypesToString.enabled legacy.charVarcharAsString
legacy.codingErrorAction legacy.consecutiveStringLiterals.enabled
legacy.createEmptyCollectionUsingStringType legacy.decimal.retainFractionDigitsOnTruncate
legacy.disableMapKeyNormalization legacy.exponentLiteralAsDecimal.enabled
legacy.fromDayTimeString.enabled legacy.groupingIdWithAppendedUserGroupBy
legacy.inSubqueryNullability legacy.integerGroupingId legacy.interval.enabled legacy.javaCharsets
legacy.json.allowEmptyString.enabled legacy.lpadRpadAlwaysReturnString
legacy.negativeIndexInArrayInsert legacy.noCharPaddingInPredicate
legacy.parser.havingWithoutGroupByAsWhere legacy.percentileDiscCalculation
legacy.scalarSubqueryCountBugBehavior legacy.setopsPrecedence.enabled legacy.statisticalAggregate
legacy.truncateForEmptyRegexSplit legacy.typeCoercion.datetimeToString.enabled
legacy.useCurrentConfigsForView
optimizer.decorrelateExistsSubqueryLegacyIncorrectCountHandling.enabled
optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled
parser.escapedStringLiterals parser.quotedRegexColumnNames variant.allowDuplicateKeys
"""
_TRUE = """
ansi.enabled assumeAnsiFalseIfNotPersisted.enabled chunkBase64String.enabled
decimalOperations.allowPrecisionLoss groupByAliases groupByOrdinal icu.caseMappings.enabled
json.enableExactStringParsing json.enablePartialResults jsonGenerator.ignoreNullFields
lateralColumnAlias.enableImplicitResolution legacy.followThreeValuedLogicInArrayExists
legacy.literal.pickMinimumPrecision legacy.sizeOfNull orderByOrdinal
prioritizeOrdinalResolutionInSort.enabled readSideCharPadding variable.substitute
"""
LOSING = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
"""With these a file that is gone, or broken, is read as one without rows."""
SPARKS = {
    **{f"spark.sql.{name}": "false" for name in _FALSE.split()},
    **{f"spark.sql.{name}": "true" for name in _TRUE.split()},
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""Each setting with what Spark 4.1 does where nobody has set it."""

STANDARD = {**SPARKS, ANSI: "false"}
"""What every session is opened with.

ANSI mode off is dbt-spark's own choice, so that one project means the same on Spark 3 and 4.
"""


def effective(found: Mapping[str, str]) -> dict[str, str]:
    """What holds in a session in which ``found`` is what somebody has set, the time zone too.

    >>> effective({"spark.sql.caseSensitive": "TRUE"})["spark.sql.caseSensitive"]
    'true'
    """
    values = {key: _plain(found.get(key, default)) for key, default in SPARKS.items()}
    return {**values, ZONE: found.get(ZONE, "")}


def unusual(found: Mapping[str, str]) -> tuple[str, ...]:
    """Where a session answers otherwise than the standard does: ``key = value``, sorted.

    The time zone is not among them: it is kept by itself.

    >>> unusual({"spark.sql.ansi.enabled": "true", "spark.sql.shuffle.partitions": "7"})
    ('spark.sql.ansi.enabled = true',)
    """
    values = effective(found)
    return tuple(
        f"{key} = {values[key]}"
        for key, standard in sorted(STANDARD.items())
        if values[key] != _plain(standard)
    )


def to_open_with(given: Mapping[str, str], left_alone: Collection[str] = ()) -> dict[str, str]:
    """What a session is opened with: what always has to be said, and what the profile gives."""
    always = {ZONE: "UTC", ANSI: STANDARD[ANSI]}
    return {**{k: v for k, v in always.items() if k not in left_alone}, **given}


def to_correct(
    found: Mapping[str, str], given: Mapping[str, str], left_alone: Collection[str] = ()
) -> dict[str, str]:
    """What is still to be set in a session that was opened: what its server sets differently."""
    values = effective(found)
    return {
        key: standard
        for key, standard in STANDARD.items()
        if key not in given and key not in left_alone and values[key] != _plain(standard)
    }


def not_taken(found: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[str]:
    """The settings among ``wanted`` that a session has otherwise."""
    for key, value in wanted.items():
        if key in SPARKS:
            if effective(found)[key] != _plain(value):
                yield key
        elif found.get(key, "").strip() != value.strip():
            yield key


def _plain(value: str) -> str:
    """Spark tells neither true from TRUE nor corrected from CORRECTED; one line, whatever it is."""
    return " ".join(value.split()).lower()
