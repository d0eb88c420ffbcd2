"""Secrets and personal numbers are masked in any disguise; what on-call work reads is left alone."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.masking import mask_field, mask_secrets

BENCHMARK = Path(__file__).parents[3] / "shared" / "benchmarks" / "rootcausebench"
FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
PEM_BODY = "MIIEowIBAAKCAQEAx8Jm3kq1Zt0wq7\nQ2hZb1l6cGFzc3dvcmQxMjM0NTY3\nzz09"

ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def drawn(alphabet: str, least: int, most: int) -> st.SearchStrategy[str]:
    return st.text(alphabet=alphabet, min_size=least, max_size=most)


def luhn_valid(prefix: str, length: int, digits: str) -> str:
    body = (prefix + digits)[: length - 1].ljust(length - 1, "7")
    doubled = sum(sum(divmod(int(digit) * (2 - place % 2), 10)) for place, digit in enumerate(reversed(body)))
    return body + str(-doubled % 10)


def id_card(body: str) -> str:
    weighted = sum(
        int(digit) * weight
        for digit, weight in zip(body, (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2), strict=True)
    )
    return body + "10X98765432"[weighted % 11]


phones = st.from_regex(r"1[3-9][0-9]{9}", fullmatch=True).filter(lambda digits: int(digits) % 2**20)
cards = st.builds(
    luhn_valid,
    st.sampled_from(["4", "51", "62", "34", "2221"]),
    st.sampled_from([15, 16, 19]),
    drawn("0123456789", 18, 18),
)
id_cards = st.builds(
    lambda area, year, month, day, order: id_card(f"{area}{year}{month:02d}{day:02d}{order:03d}"),
    st.integers(110000, 659999),
    st.integers(1930, 2020),
    st.integers(1, 12),
    st.integers(1, 28),
    st.integers(0, 999),
)
shaped = st.one_of(
    drawn(ALNUM[:26] + "0123456789", 16, 16).map("AKIA".__add__),
    drawn(ALNUM, 16, 20).map("LTAI".__add__),
    drawn(ALNUM, 20, 32).map("AKID".__add__),
    drawn(ALNUM, 36, 36).map("ghp_".__add__),
    drawn(ALNUM, 24, 24).map("xoxb-123456-".__add__),
    drawn(ALNUM, 24, 48).map("sk-proj-9".__add__),
    drawn(ALNUM, 16, 40).map("eyJhbGciOiJIUzI1NiJ9.eyJz".__add__),
    st.from_regex(r"[a-z][a-z0-9.]{1,10}[a-z0-9]@[a-z]{2,8}\.(com|cn|org)", fullmatch=True),
    phones,
    cards,
    id_cards,
)


@given(
    shaped, st.sampled_from(["", "user ", "联系人：", "(", "x="]), st.sampled_from(["", " end", "，请处理", ")", "\n"])
)
def test_a_secret_that_is_known_by_its_shape_is_masked_wherever_it_stands(secret: str, before: str, after: str) -> None:
    masked = mask_secrets(before + secret + after)
    assert secret not in masked
    assert "[MASKED:" in masked
    assert masked.startswith(before)


@given(shaped, st.data())
def test_neither_width_nor_invisible_characters_hide_a_secret(secret: str, data: st.DataObject) -> None:
    disguised = "".join(
        data.draw(
            st.sampled_from([character, character.translate(FULL_WIDTH), f"{character}\u200b", f"\u2066{character}"])
        )
        for character in secret
    )
    masked = mask_secrets(f"login {disguised} ok")
    assert masked.startswith("login ")
    assert "[MASKED:" in masked
    assert not [part for part in (disguised[:-4], disguised[4:]) if part in masked]


passwords = (
    drawn(ALNUM + "!#$%^*()_+-./", 1, 20)
    .filter(lambda word: word[0].isalnum() and word[-1].isalnum())
    .filter(
        lambda word: (
            word.lower()
            not in ("none", "null", "nil", "true", "false", "empty", "str", "int", "bytes", "bool", "string")
        )
    )
)


@given(passwords)
def test_a_quoted_password_is_masked_whatever_it_is(password: str) -> None:
    masked = json.loads(mask_secrets(json.dumps({"user": "li", "password": "p1" + password})))
    assert masked == {"user": "li", "password": "[MASKED:PASSWORD]"}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=hunter2 user=a", "password=[MASKED:PASSWORD] user=a"),
        ("DB_PASSWORD=x", "DB_PASSWORD=[MASKED:PASSWORD]"),
        ("userPassword: 'x y'", "userPassword: '[MASKED:PASSWORD]'"),
        ('\\"password\\":\\"hunter2\\"', '\\"password\\":\\"[MASKED:PASSWORD]\\"'),
        ("password=a,b,c next", "password=[MASKED:PASSWORD] next"),
        ("?pwd=a1&x=2", "?pwd=[MASKED:PASSWORD]&x=2"),
        ("mysql --password hunter2 -h db", "mysql --password [MASKED:PASSWORD] -h db"),
        ("密码：hunter2，请查收", "密码：[MASKED:PASSWORD]，请查收"),
        ("密码是hunter2", "密码是[MASKED:PASSWORD]"),
        ("口令: ab12cd", "口令: [MASKED:PASSWORD]"),
        ("ｐａｓｓｗｏｒｄ＝hunter2", "ｐａｓｓｗｏｒｄ＝[MASKED:PASSWORD]"),
        ("api_key: 9f8a7b6c5d", "api_key: [MASKED:KEY]"),
        ("token=abc,trace_id=4", "token=[MASKED:TOKEN],trace_id=4"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [MASKED:KEY]"),
        ("Authorization: Bearer abc.def-1234567890", "Authorization: Bearer [MASKED:TOKEN]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [MASKED:CREDENTIALS]"),
        ("curl -u admin:pw1 http://h/", "curl -u [MASKED:CREDENTIALS] http://h/"),
        ("Set-Cookie: sid=abc123; Path=/", "Set-Cookie: [MASKED:TOKEN]"),
        ("postgres://app:s3cr3t@db:5432/x", "postgres://[MASKED:CREDENTIALS]@db:5432/x"),
        ("mysql://root:p@ss@db:3306/x", "mysql://[MASKED:CREDENTIALS]@db:3306/x"),
        ("redis://:pw@h:6379/0", "redis://[MASKED:CREDENTIALS]@h:6379/0"),
        ("root:pw@tcp(db:3306)/x", "[MASKED:CREDENTIALS]@tcp(db:3306)/x"),
        ("jdbc:oracle:thin:scott/tiger@db", "jdbc:oracle:thin:[MASKED:CREDENTIALS]@db"),
        ("手机13800138000", "手机[MASKED:PHONE]"),
        ("+86 138-0013-8000", "[MASKED:PHONE]"),
        ("身份证11010519491231002X号", "身份证[MASKED:ID_CARD]号"),
        ("卡号 6222 0212 3456 7890 128", "卡号 [MASKED:BANK_CARD]"),
        ("zhang.san@example.com.cn", "[MASKED:EMAIL]"),
    ],
)
def test_each_form_of_a_secret_has_its_placeholder(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


@pytest.mark.parametrize("line_break", ["\n", "\\n", "\n  "])
@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"])
def test_a_private_key_is_masked_over_its_lines(kind: str, line_break: str) -> None:
    key = f"-----BEGIN {kind}-----\n{PEM_BODY}\n-----END {kind}-----".replace("\n", line_break)
    assert mask_secrets(f"loaded {key} from file") == "loaded [MASKED:PRIVATE_KEY] from file"


def test_the_head_of_a_private_key_hides_no_line_behind_it() -> None:
    text = "-----BEGIN PRIVATE KEY-----\nlog at=2026-06-18T15:04:00Z service=pay | timeout"
    assert mask_secrets(text) == "[MASKED:PRIVATE_KEY]\nlog at=2026-06-18T15:04:00Z service=pay | timeout"


@pytest.mark.parametrize(
    "text",
    [
        "commit 38df4ac1c5c9d298e3d3ca9fb99ff85a1c3abf2f",
        "trace_id=4111111111111111 span=550e8400-e29b-41d4-a716-446655440000",
        '{"span_id": "4111111111111111"}',
        "image nginx@sha256:3b1b2f8a5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c0d1e2f",
        "mem_bytes=17179869184 limit 16106127360 bytes, waited 15000000000ns",
        "2026-06-18T14:00:00Z,svc,mem_bytes,17179869184",
        "at 1781772000123 and 1781772000 and 1781772000123456789, took 13.800138000 s",
        "git@github.com:org/repo.git, getty@tty1.service, app@10.0.0.1",
        "token: expired; invalid token: signature mismatch",
        "Bearer authentication required; Basic authentication failed",
        'secret "db" not found, max_tokens=4096, bypass=1, PWD=/home/app',
        'apiKey := os.Getenv("API_KEY"); password = config.password; verify(token=token)',
        "jwt.secret=${JWT_SECRET} password: {{ vault }} token=$TOKEN password=",
        "http://host:8080/path?x=1 jdbc:mysql://db:3306/pay",
    ],
)
def test_what_on_call_work_reads_is_left_alone(text: str) -> None:
    assert mask_secrets(text) == text


def test_rounded_measurements_are_no_personal_numbers_where_the_text_is_measured() -> None:
    line = "heap of payment-service rose from 13000000000 to 17179900000"
    assert mask_secrets(line, rounded=True) == line
    assert "[MASKED:PHONE]" in mask_secrets(line)


@given(
    st.text(max_size=200)
    | st.lists(shaped | st.sampled_from(["password=", '"token": "', " ", ":", "@", "[MASKED:KEY]"])).map("".join)
)
def test_masking_is_idempotent(text: str) -> None:
    masked = mask_secrets(text)
    assert mask_secrets(masked) == masked


@pytest.mark.parametrize(
    "unit", ["-", "--token", ":", "://a:", "\\", ":thin:a/", "password=", "a@b.co-", "-----BEGIN PRIVATE KEY-----"]
)
@pytest.mark.parametrize("head", ["", "://", 'token=\\"', "-----BEGIN PRIVATE KEY-----"])
def test_no_line_that_somebody_wrote_keeps_masking_busy(head: str, unit: str) -> None:
    line = head + unit * (20_000 // len(unit))
    began = time.process_time()
    mask_secrets(line)
    assert time.process_time() - began < 2


def test_a_value_is_masked_by_the_name_of_its_field() -> None:
    assert mask_field("db_password", "tiger") == "[MASKED:PASSWORD]"
    assert mask_field("access_token", "abc") == "[MASKED:TOKEN]"
    assert mask_field("service", "payment") == "payment"
    assert mask_field("password", "${DB_PASSWORD}") == "${DB_PASSWORD}"


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


@pytest.mark.skipif(not BENCHMARK.is_dir(), reason="the shared benchmark incidents are not beside this checkout")
def test_no_commit_trace_time_or_metric_of_recorded_incidents_is_altered() -> None:
    lines: list[str] = []
    for incident in sorted(path for path in BENCHMARK.iterdir() if path.is_dir()):
        lines += (incident / "metrics.csv").read_text().splitlines()
        lines += (
            text
            for line in (incident / "logs.ndjson").read_text().splitlines()
            if line
            for text in strings(json.loads(line))
        )
        for name in ("alert.json", "traces.json", "context/commits.json", "context/deploys.json", "context/flags.json"):
            if (incident / name).is_file():
                lines += strings(json.loads((incident / name).read_text()))
    assert len(lines) > 5_000
    assert [line for line in lines if mask_secrets(line) != line] == []
