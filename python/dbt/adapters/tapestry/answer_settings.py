"""Spark's settings that change what a query answers: one value for every connection method.

A session is opened with the values below unless the profile says otherwise; afterwards its server
is asked which ones it took. Settings of speed, sizes and places of files change no answer and are
not in the list. Nor is a setting without a default that could be set again
(`spark.sql.legacy.nullInEmptyListBehavior`), nor an order of NULLs: Spark has no setting for that.
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
"""The settings with which every session is opened.

ANSI mode off is dbt-spark's own choice, so that one project means the same on Spark 3 and 4.
"""


def effective(found: Mapping[str, str]) -> dict[str, str]:
    """Return the values in force in a session in which ``found`` was set, with the time zone.

    >>> effective({"spark.sql.caseSensitive": "TRUE"})["spark.sql.caseSensitive"]
    'true'
    """
    values = {key: _plain(found.get(key, default)) for key, default in SPARKS.items()}
    return {**values, ZONE: found.get(ZONE, "")}


def unusual(found: Mapping[str, str]) -> tuple[str, ...]:
    """Return the settings that differ from their standard values: ``key = value``, sorted.

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
    """Return the settings to open a session with: time zone and ANSI mode, and the profile's."""
    always = {ZONE: "UTC", ANSI: STANDARD[ANSI]}
    return {**{k: v for k, v in always.items() if k not in left_alone}, **given}


def to_correct(
    found: Mapping[str, str], given: Mapping[str, str], left_alone: Collection[str] = ()
) -> dict[str, str]:
    """Return the settings that an opened session still needs, as its server has other values."""
    values = effective(found)
    return {
        key: standard
        for key, standard in STANDARD.items()
        if key not in given and key not in left_alone and values[key] != _plain(standard)
    }


def not_taken(found: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[str]:
    """Yield the settings among ``wanted`` that have another value in the session."""
    for key, value in wanted.items():
        if key in SPARKS:
            if effective(found)[key] != _plain(value):
                yield key
        elif found.get(key, "").strip() != value.strip():
            yield key


def _plain(value: str) -> str:
    """Normalize a value: Spark reads keywords in any case; white space becomes single spaces."""
    return " ".join(value.split()).lower()
