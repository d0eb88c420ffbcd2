# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""SQL shared by the sources: macros, and how a file's records become one JSON document each.

Every statement takes its values as parameters; what is composed here is fixed text of this package alone.
"""

MACROS = (
    "CREATE MACRO pointer(key) AS '/' || replace(replace(key, '~', '~0'), '/', '~1')",
    r"""
    CREATE MACRO zoned(said) AS regexp_full_match(said, '\d{9,19}(\.\d+)?')
        OR regexp_matches(said, '(?i)\d:\d.*(z|utc|gmt|[+-]\d{2}(:?\d{2})?)\s*$')
    """,
    r"""
    CREATE MACRO instant(said, zone) AS CASE
        WHEN regexp_full_match(said, '\d{9,10}(\.\d+)?') THEN make_timestamp(CAST(CAST(said AS DOUBLE) * 1e6 AS BIGINT))
        WHEN regexp_full_match(said, '\d{13}(\.\d+)?') THEN make_timestamp(CAST(CAST(said AS DOUBLE) * 1e3 AS BIGINT))
        WHEN regexp_full_match(said, '\d{16}') THEN make_timestamp(CAST(said AS BIGINT))
        WHEN regexp_full_match(said, '\d{19}') THEN make_timestamp(CAST(said AS BIGINT) // 1000)
        WHEN zoned(said) THEN timezone('UTC', TRY_CAST(replace(said, ',', '.') AS TIMESTAMPTZ))
        ELSE timezone('UTC', timezone(zone, TRY_CAST(replace(said, ',', '.') AS TIMESTAMP)))
    END
    """,
    r"""
    CREATE MACRO level_of(said) AS CASE
        WHEN said IS NULL THEN NULL
        WHEN regexp_full_match(said, '(?i)\s*(fatal|critical|crit|panic|emerg|emergency|alert|f)\d?\s*') THEN 'FATAL'
        WHEN regexp_full_match(said, '(?i)\s*(error|err|severe|e)\d?\s*') THEN 'ERROR'
        WHEN regexp_full_match(said, '(?i)\s*(warn|warning|w)\d?\s*') THEN 'WARN'
        WHEN regexp_full_match(said, '(?i)\s*(info|information|informational|notice|i)\d?\s*') THEN 'INFO'
        WHEN regexp_full_match(said, '(?i)\s*(debug|fine|d)\d?\s*') THEN 'DEBUG'
        WHEN regexp_full_match(said, '(?i)\s*(trace|verbose|finer|finest|t)\d?\s*') THEN 'TRACE'
        WHEN TRY_CAST(said AS INTEGER) BETWEEN 1 AND 24
            THEN ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'][(CAST(said AS INTEGER) - 1) // 4 + 1]
        ELSE upper(trim(said))
    END
    """,
)

PLAIN_FIELDS = r"""
    CREATE MACRO plain_fields(holder, known, width) AS coalesce(list_transform(
        list_filter(json_keys(holder), lambda key: NOT list_contains(known, key)
            AND json_type(json_extract(holder, pointer(key))) NOT IN ('OBJECT', 'ARRAY', 'NULL')),
        lambda key: regexp_replace(key || '=' || left(json_extract_string(holder, pointer(key)), width),
            '\s+', ' ', 'g')), [])
    """
"""A JSON object's plain fields as `key=value` texts, those named in `known` left out."""

LINES = """
    SELECT row_number() OVER () AS seq, line
    FROM read_csv($path, auto_detect = false, columns = {'line': 'VARCHAR'}, delim = chr(1), quote = '', escape = '',
        header = false, ignore_errors = true, store_rejects = true, strict_mode = false, null_padding = true)
    """
"""A text file's raw lines, up to 2 MB each, in the file's order."""

_CSV = """
    SELECT row_number() OVER () AS seq, to_json(one) AS doc
    FROM read_csv($path, header = true, all_varchar = true, delim = ',', quote = '"', escape = '"',
        ignore_errors = true, store_rejects = true) AS one
    """
_PARQUET = "SELECT row_number() OVER () AS seq, to_json(one) AS doc FROM read_parquet($path) AS one"
_ARRAY = """
    SELECT row_number() OVER () AS seq, json AS doc
    FROM read_json_objects($path, format = 'array', maximum_object_size = 64000000)
    """
_NDJSON = f"""
    SELECT seq, TRY_CAST(line AS JSON) AS doc FROM ({LINES}) WHERE trim(line) <> ''
    """

DOCUMENTS = {"csv": _CSV, "parquet": _PARQUET, "json": _ARRAY, "ndjson": _NDJSON, "jsonl": _NDJSON}
"""By suffix: a statement that gives `seq` and one JSON document `doc` a record (NULL where a line is broken)."""

SALVAGED = f"""
    SELECT min(seq) AS seq,
        TRY_CAST(regexp_replace(string_agg(line, chr(10) ORDER BY seq), '[\\s,\\]]*$', '') AS JSON) AS doc
    FROM (
        SELECT seq, line, count(*) FILTER (starts_with(line, '{{')) OVER (ORDER BY seq) AS object
        FROM (SELECT seq, ltrim(line, ' [\t') AS line FROM ({LINES}) WHERE trim(line) NOT IN ('', '[', ']')))
    WHERE object > 0 GROUP BY object
    """
"""The objects of a broken JSON array, as far as each begins on a line of its own."""


class Document:
    """The fields of a JSON document that a table needs, taken out of it in one pass."""

    def __init__(self, *fields: str, doc: str = "doc") -> None:
        self._fields = fields
        paths = ", ".join(literal(f'$."{field}"') for field in fields)
        self.taken = f"json_extract_string({doc}, [{paths}])"
        """SQL that takes the fields out, to be selected as `taken`."""

    def said(self, *fields: str) -> str:
        """Return SQL for the first of `fields` that isn't null, as text, where `taken` is in scope."""
        return "coalesce(" + ", ".join(f"taken[{self._fields.index(field) + 1}]" for field in fields) + ")"


def names(*known: str) -> str:
    """Return SQL for a list of names."""
    return "[" + ", ".join(literal(name) for name in known) + "]"


def literal(text: str | None) -> str:
    """Return `text` as a SQL string literal, for queries that people paste and for fixed names."""
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"
