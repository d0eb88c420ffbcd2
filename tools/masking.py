"""Secrets and personal numbers leave a text before a model, a store or a checkpoint sees it.

Source: decided contract, "Answers of tools"; masked are keys, tokens, passwords, credentials in URLs, private keys,
phone, identity card and bank card numbers, and e-mail. What on-call work reads stays: commit ids, trace and span ids,
UUIDs, digests, times, metrics.

Each rule is a row of `_RULES`. Rules read a shadow of the text, in which full-width and other look-alike forms are
ASCII and invisible characters are left out, so that neither hides a secret.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

_PLACEHOLDER = re.compile(r"\[MASKED:[A-Z_]+\]")
_INVISIBLE = "\u200b"

_Hit: TypeAlias = tuple[int, int, str]
_Check: TypeAlias = Callable[[re.Match[str]], Iterator[_Hit]]


class _Shadow(dict[int, str]):
    """Maps a character to its ASCII look-alike where it has exactly one, for `str.translate`; fills itself."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = unicodedata.normalize("NFKC", character)
        digit = unicodedata.decimal(character, None)
        if is_invisible(character):
            folded = _INVISIBLE
        elif len(folded) != 1 or not folded.isascii():
            folded = character if digit is None else str(digit)
        self[code] = folded
        return folded


_DEFAULT_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


def is_invisible(character: str) -> bool:
    """Whether a character shows nothing and breaks no line: control, format (bidirectional, zero-width), surrogate."""
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs"} or _DEFAULT_IGNORABLE.match(character) is not None
    return hidden and character not in "\t\n\r\x0b\x0c\x1c\x1d\x1e\x85"


_SHADOW = _Shadow()


def mask_secrets(text: str, *, rounded: bool = False) -> str:
    """Return `text` with every secret replaced by a typed placeholder such as `[MASKED:TOKEN]`; idempotent.

    `rounded`: numbers that end in five zeros are measurements cut to six significant digits, not personal numbers.
    """
    # A placeholder gives what stood beside it a new boundary, so look again until nothing is found. It ends: each round
    # leaves fewer characters outside of placeholders, or fewer placeholders.
    while True:
        masked = _mask_once(text, rounded=rounded)
        if masked == text:
            return text
        text = masked


def mask_field(key: str, value: str) -> str:
    """Return a value as it may be shown under its key: whole behind a placeholder where the key names a secret."""
    if _SECRET_KEY.search(key.translate(_SHADOW)) and not _NOT_A_SECRET.fullmatch(value.translate(_SHADOW)):
        return f"[MASKED:{_label_of(key)}]"
    return mask_secrets(value)


def _mask_once(text: str, *, rounded: bool) -> str:
    shadow, position = _shadow(text)
    taken = [match.span() for match in _PLACEHOLDER.finditer(shadow)]
    lowered = shadow.lower()
    rules = [rule for rule in _RULES if not rule.needs or any(word in lowered for word in rule.needs)]
    hits = [hit for rule in rules for match in rule.pattern.finditer(shadow) for hit in rule.check(match)]
    pieces: list[str] = []
    done = 0
    for begin, end, label in _apart(hits, taken):
        if rounded and label in _NUMBERS and shadow[begin:end].endswith("00000"):
            continue
        pieces += [text[done : position(begin)], f"[MASKED:{label}]"]
        done = position(end - 1) + 1
    return "".join([*pieces, text[done:]])


def _shadow(text: str) -> tuple[str, Callable[[int], int]]:
    """Return the shadow and the function that tells where in the text one of its characters stands."""
    if text.isascii() and text.isprintable():
        return text, int
    translated = text.translate(_SHADOW)
    if _INVISIBLE not in translated:
        return translated, int
    kept = [index for index, character in enumerate(translated) if character != _INVISIBLE]
    return "".join(translated[index] for index in kept), kept.__getitem__


def _apart(hits: list[_Hit], taken: list[tuple[int, int]]) -> Iterator[_Hit]:
    """Yield hits in order; where two overlap, what the later one adds. A hit within a placeholder is none."""
    done = 0
    for begin, end, label in sorted(hits, key=lambda hit: (hit[0], -hit[1])):
        start = max(begin, done)
        if start >= end or any(first <= start and end <= last for first, last in taken):
            continue
        yield start, end, label
        done = end


# --- named secrets: `password=…`, `"token": "…"`, 密码：…

_KEY_WORDS = (
    r"(?:password|passwd|passphrase|passcode|pwd|(?<=[_.-])pass|(?<![A-Za-z])pass(?==)|(?-i:(?<=[a-z])Pass)"
    r"|(?:secret|app|api|access|private|signing|encryption|account|master|auth|client|shared)[_-]?key(?:[_-]?(?:id|secret))?"
    r"|secret[_-]?access[_-]?key|secret[_-]?id|secret|token|(?<![A-Za-z])(?:credentials?|authorization)"
    r"|密码|口令|密钥|秘钥|令牌)"
)
_KEYED = re.compile(
    rf"""(?P<key>{_KEY_WORDS})\\*["']?(?P<delimiter>[^\S\n]*(?::=|=>|[=:])[^\S\n]*|[^\S\n]?[为是][^\S\n]?)
        (?: \\+"(?P<escaped>(?:[^\\\n]|\\++(?!"))*)
          | "(?P<double>(?:\\.|[^"\\\n])*)
          | '(?P<single>(?:\\.|[^'\\\n])*)
          | (?P<bare>[^\s"']+?)(?=[)\]}}>]*(?:[\s"'。！？、]|[,;&](?:[^!-~]|$|[\w.-]+\s*[=:])|$)) )""",
    re.VERBOSE | re.IGNORECASE,
)
_SECRET_KEY = re.compile(rf"{_KEY_WORDS}$", re.IGNORECASE)
_NOT_A_SECRET = re.compile(
    r"""[^A-Za-z0-9]* | \[MASKED:[A-Z_]+\] | \$\{[^}]*\}? | \$\(?[A-Za-z_]\w*\)? | %[A-Za-z_]\w*% | \{\{.*\}\}?
        | <[^>]*>?
        | (?:null|nil|none|undefined|true|false|empty|str|string|int|bytes|bool|optional|required|redacted|masked)
        | (?:process\.env|os\.environ|os\.getenv|system\.getenv|env|vault|secretkeyref|valuefrom)\b.*
        | (?:get|load|read|fetch|decrypt|require|resolve)\w*\(.*""",
    re.VERBOSE | re.IGNORECASE,
)
_CODE_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)\w+)*(?:\.\w+|\().*")
_WORDS = re.compile(r"[A-Za-z]?[a-z]*(?:['_-][a-z]+)*")


def _keyed(match: re.Match[str]) -> Iterator[_Hit]:
    form = next(name for name in ("escaped", "double", "single", "bare") if match[name] is not None)
    value = match[form]
    if _NOT_A_SECRET.fullmatch(value) or (form == "bare" and not _bare_is_secret(match, value)):
        return
    yield (*match.span(form), _label_of(match["key"]))


def _bare_is_secret(match: re.Match[str], value: str) -> bool:
    """A value without quotes may be prose (`token: expired`), code (`secret = conf.secret`) or a path (`PWD=/app`)."""
    key, delimiter = match["key"], match["delimiter"]
    spaced = delimiter != delimiter.strip()
    if not value[0].isascii() or value.casefold() == key.casefold() or (key.casefold() == "pwd" and value[0] == "/"):
        return False
    if spaced and "=" in delimiter and _CODE_REFERENCE.fullmatch(value):
        return False
    if _label_of(key) == "PASSWORD":
        return True
    if value.replace(".", "").isdigit() and len(value) < 8:
        return False
    if "=" not in delimiter:
        return _looks_random(value)
    return not spaced or (_looks_random(value) and re.search(r"\d", value) is not None)


def _looks_random(value: str) -> bool:
    """A token is no word: it's eight characters or more and has digits, changes case within, or is very long."""
    return len(value) >= 8 and (len(value) >= 32 or _WORDS.fullmatch(value) is None)


def _label_of(key: str) -> str:
    lowered = key.lower()
    if re.search(r"pass|pwd|密码|口令", lowered):
        return "PASSWORD"
    return "TOKEN" if re.search(r"token|auth|令牌", lowered) else "KEY"


# --- secrets known by their shape


def _whole(label: str, group: int | str = 0) -> _Check:
    def check(match: re.Match[str]) -> Iterator[_Hit]:
        yield (*match.span(group), label)

    return check


def _flag(match: re.Match[str]) -> Iterator[_Hit]:
    if not _NOT_A_SECRET.fullmatch(match["value"]):
        yield (*match.span("value"), "PASSWORD")


def _bearer(match: re.Match[str]) -> Iterator[_Hit]:
    if _looks_random(match["value"]):
        yield (*match.span("value"), "TOKEN")


def _basic(match: re.Match[str]) -> Iterator[_Hit]:
    value = match["value"].rstrip("=")
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return
    if b":" in decoded:
        yield (*match.span("value"), "CREDENTIALS")


def _sk_key(match: re.Match[str]) -> Iterator[_Hit]:
    if re.search(r"[0-9A-Z]", match["rest"]):
        yield (*match.span(), "KEY")


# --- personal numbers

_NUMBERS = frozenset({"PHONE", "BANK_CARD", "ID_CARD"})
_MEASURE_BEFORE = re.compile(
    r"""(?:byte|memory|mem|size|limit|nano|ns|duration|elapsed|latency|timeout|offset|count|total|usage|rss|heap|value
        |capacity|quota|used|free|avail\w*|baseline|extreme|last|threshold|observed|(?:trace|span|parent)_?id|lsn|seq\w*
        |revision|resourceversion|\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?z?)s?["']?\s*[=:]\s*["']?$""",
    re.VERBOSE | re.IGNORECASE,
)
_MEASURE_AFTER = re.compile(r"\s?(?:bytes?|b|ns|us|µs|μs|ms|nanoseconds?|字节|毫秒|纳秒)(?![A-Za-z])", re.IGNORECASE)


def _is_measure(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 32) : match.start()]
    return bool(_MEASURE_BEFORE.search(before) or _MEASURE_AFTER.match(match.string, match.end()))


def _phone(match: re.Match[str]) -> Iterator[_Hit]:
    whole_mebibytes = int(re.sub(r"\D", "", match["number"])) % 2**20 == 0
    if not whole_mebibytes and not _is_measure(match):
        yield (*match.span(), "PHONE")


def _bank_card(match: re.Match[str]) -> Iterator[_Hit]:
    digits = re.sub(r"\D", "", match[0])
    doubled = (sum(divmod(int(digit) * 2, 10)) for digit in digits[-2::-2])
    if (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0 and not _is_measure(match):
        yield (*match.span(), "BANK_CARD")


def _id_card(match: re.Match[str]) -> Iterator[_Hit]:
    weighted = sum(int(digit) * pow(2, 17 - place, 11) for place, digit in enumerate(match[0][:17]))
    if "10X98765432"[weighted % 11] == match[0][17].upper():
        yield (*match.span(), "ID_CARD")


_UNIT_FILES = frozenset({"service", "socket", "timer", "target", "mount", "slice", "scope", "device"})


def _email(match: re.Match[str]) -> Iterator[_Hit]:
    if match["tld"].lower() not in _UNIT_FILES and match["local"] != "git":
        yield (*match.span(), "EMAIL")


# --- the rules

_EDGE = r"(?<![A-Za-z0-9_])"
_NUMBER_EDGE = r"(?<![A-Za-z0-9])(?<!\d\.)"
_NUMBER_END = r"(?![A-Za-z0-9]|\.\d)"
_DAY_OF_BIRTH = r"(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_PEM_GAP = r"(?:\\[nr]|[\s>|\"',-])*"
# Only what looks like a key's body is taken: whoever writes a first line alone must not hide the lines behind it.
_PEM = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_PEM_GAP}(?:(?:Proc-Type|DEK-Info):[^\n]*|[A-Za-z0-9+/=]{{16,}}))*"
    rf"(?:(?:{_PEM_GAP}[A-Za-z0-9+/=]{{1,16}})?{_PEM_GAP}-----END [A-Z0-9 ]*-----)?"
)
_MAIL = r"(?P<local>[A-Za-z0-9._%+-]{1,64})@(?:[A-Za-z0-9-]{1,63}\.){1,8}(?P<tld>[A-Za-z]{2,24})(?![A-Za-z0-9-])"


class _Rule(NamedTuple):
    """A shape, what of its match is hidden, and words (lower-case) of which any text with a match holds at least one.

    Looking for a word costs a hundredth of looking for a shape. No word has an `i` where case is ignored: `İ` and `ı`
    match it there.
    """

    pattern: re.Pattern[str]
    check: _Check
    needs: tuple[str, ...] = ()


def _rule(pattern: str, check: _Check, *needs: str) -> _Rule:
    return _Rule(re.compile(pattern), check, needs)


_NAMED = ("pass", "pwd", "key", "secret", "token", "credent", "author", "密码", "口令", "密钥", "秘钥", "令牌")
_RULES = (
    _rule(_PEM, _whole("PRIVATE_KEY"), "-----begin"),
    _Rule(_KEYED, _keyed, _NAMED),
    _rule(rf"(?i:(?<!-)--[\w-]{{0,64}}{_KEY_WORDS}[^\S\n]+(?P<value>[^\s-]\S*))", _flag, *_NAMED),
    _rule(r"\bcurl\b[^\n]{0,200}?[^\S\n](?:-u|--user)[^\S\n]+([^\s:]+:\S+)", _whole("CREDENTIALS", 1), "curl"),
    _rule(r"(?i:\bbearer)[^\S\n]+(?P<value>[A-Za-z0-9._~+/-]{6,}={0,2})", _bearer, "bearer"),
    _rule(r"(?i:\bbasic)[^\S\n]+(?P<value>[A-Za-z0-9+/]{4,}={0,2})", _basic, "bas"),
    _rule(r"(?i:(?:set-)?cookie:)[^\S\n]*((?:[\w.-]+=[^\s;,\"']+;?[^\S\n]?)+)", _whole("TOKEN", 1), "cook"),
    _rule(_EDGE + r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?", _whole("TOKEN"), "eyj"),
    _rule(
        _EDGE + r"(?:AKIA|ASIA|ABIA|ACCA|AIDA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        _whole("KEY"),
        *("akia", "asia", "abia", "acca", "aida", "aroa"),
    ),
    _rule(_EDGE + r"(?:LTAI[A-Za-z0-9]{12,30}|AKID[A-Za-z0-9]{13,40})(?![A-Za-z0-9])", _whole("KEY"), "ltai", "akid"),
    _rule(_EDGE + r"gh[pousr]_[A-Za-z0-9]{20,255}", _whole("TOKEN"), "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _rule(_EDGE + r"(?:github_pat_\w{20,255}|glpat-[\w-]{20,})", _whole("TOKEN"), "github_pat_", "glpat-"),
    _rule(_EDGE + r"(?:xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})", _whole("TOKEN"), "xox", "xapp-"),
    _rule(r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{10,}", _whole("TOKEN"), "hooks.slack.com"),
    _rule(r"(?<![A-Za-z0-9])sk-(?P<rest>[A-Za-z0-9_-]{16,})", _sk_key, "sk-"),
    _rule(
        _EDGE + r"(?:AIza[\w-]{35}|ya29\.[\w-]{20,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,})",
        _whole("KEY"),
        *("aiza", "ya29.", "k_live_", "k_test_"),
    ),
    _rule(
        _EDGE + r"(?:hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}|whsec_\w{20,})",
        _whole("TOKEN"),
        *("hf_", "npm_", "pypi-", "whsec_"),
    ),
    _rule(r"://((?=[^\s/?#\"'<>@:]*:)[^\s/?#\"'<>]*)(?=@)", _whole("CREDENTIALS", 1), "://"),
    _rule(r"://([^\s/?#\"'<>@:]*:(?!\d{1,5}[/?#])[^\s\"'<>@]{0,1024}+)(?=@)", _whole("CREDENTIALS", 1), "://"),
    _rule(r"://([^\s/?#\"'<>@:]{16,})(?=@)", _whole("CREDENTIALS", 1), "://"),
    _rule(
        r"(?<![\w.-])([\w.-]{1,64}:[^\s@\"'/]+)(?=@(?:tcp|udp|unix)\()",
        _whole("CREDENTIALS", 1),
        *("@tcp(", "@udp(", "@unix("),
    ),
    _rule(r"(?<=:thin:)([^\s/@]{1,256}/[^\s@]{1,256}+)(?=@)", _whole("CREDENTIALS", 1), ":thin:"),
    _rule(_NUMBER_EDGE + r"[1-9]\d{5}" + _DAY_OF_BIRTH + r"\d{3}[\dXx](?![A-Za-z0-9])", _id_card),
    _rule(_NUMBER_EDGE + r"(?:4|5\d|6\d|3[4-9]|2[2-7])\d{13,18}" + _NUMBER_END, _bank_card),
    _rule(r"(?<![\w.-])[2-6]\d{3}([ -])\d{4}\1\d{4}\1\d{3,4}(?:\1\d{1,3})?(?!-?\d)" + _NUMBER_END, _bank_card),
    _rule(_NUMBER_EDGE + r"(?:(?:\+|00)?86[- ]?)?(?P<number>1[3-9]\d([- ]?)\d{4}\2\d{4})" + _NUMBER_END, _phone),
    _rule(r"(?<![A-Za-z0-9._%+-])" + _MAIL, _email, "@"),
)
