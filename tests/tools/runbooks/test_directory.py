"""Runbooks are found by section, in Chinese and English, and nothing is shown where nothing is relevant."""

from pathlib import Path

import pytest

from tools.base import IncidentContext, SourceFailure
from tools.runbooks import MAX_FILE_BYTES, MAX_SECTION_LINES, RunbookArguments, RunbookDirectory, RunbookSearch
from tools.vocabulary import Evidence, EvidenceStatus, Provenance, RelevanceLevel, SourceError

INCIDENT = IncidentContext.model_validate({"as_of": "2026-06-18T07:10:30Z"})
EXAMPLE = Path(__file__).parents[3] / "examples" / "incidents" / "payment-timeout" / "runbooks"

DISK = """# 磁盘写满

日志目录占满磁盘时服务无法写入。

## 处置步骤

先清理，再调低日志级别。

```bash
# 不是标题
df -h /var/log
journalctl --vacuum-size=500M
```

## 预防

为日志目录设置配额和轮转。
"""

POOL = """Connection pools
================

Exhaustion of a database connection pool
----------------------------------------

Callers wait for a connection until `pool.acquireTimeout` ends. Compare `maxPoolSize` with the database's limit.

Certificates
------------

Renew a TLS certificate before it expires.
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "disk.md").write_text(DISK, encoding="gb18030")
    (tmp_path / "pools.markdown").write_text("\ufeff" + POOL, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("磁盘写满")
    return tmp_path


async def search(directory: Path, query: str, limit: int | None = None) -> Evidence:
    tool = RunbookSearch(RunbookDirectory(directory))
    arguments = RunbookArguments(query=query, limit=limit)
    return await tool.collect(tool.normalize(arguments, INCIDENT), arguments, INCIDENT)


@pytest.mark.parametrize(
    ("query", "head"),
    [
        ("磁盘写满怎么处置", "runbook file=zh/disk.md section=处置步骤 | 磁盘写满 > 处置步骤"),
        ("日志目录 配额 轮转", "runbook file=zh/disk.md section=预防 | 磁盘写满 > 预防"),
        (
            "connection pool exhausted, acquire timeouts",
            "runbook file=pools.markdown section=Exhaustion_of_a_database_connection_pool"
            " | Connection pools > Exhaustion of a database connection pool",
        ),
        (
            "TLS certificate expired",
            "runbook file=pools.markdown section=Certificates | Connection pools > Certificates",
        ),
    ],
)
async def test_the_section_that_speaks_of_the_query_comes_first(directory: Path, query: str, head: str) -> None:
    evidence = await search(directory, query)
    assert evidence.content[0] == head
    assert evidence.status is EvidenceStatus.EVIDENCE
    assert (evidence.relevance, evidence.provenance) == (RelevanceLevel.REFERENCE, Provenance.TEXT)


async def test_commands_stand_verbatim_and_a_comment_in_them_is_no_heading(directory: Path) -> None:
    evidence = await search(directory, "磁盘 处置 清理", limit=1)
    assert "  # 不是标题" in evidence.content
    assert "  journalctl --vacuum-size=500M" in evidence.content
    assert all(line.startswith(("runbook ", "  ")) for line in evidence.content)


@pytest.mark.parametrize("query", ["kafka 消费延迟", "how to restart kubernetes nodes", "GPU driver", "订单"])
async def test_nothing_relevant_is_no_evidence(directory: Path, query: str) -> None:
    evidence = await search(directory, query)
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert evidence.content == ()
    assert evidence.summary == "runbooks files=2: none of 5 sections is relevant"


async def test_the_summary_names_files_and_no_line_of_theirs(directory: Path) -> None:
    evidence = await search(directory, "磁盘写满 日志目录")
    assert evidence.summary.startswith("runbooks files=2: ")
    assert evidence.summary.endswith("in zh/disk.md")
    assert "占满" not in evidence.summary


async def test_the_limit_changes_what_is_shown_and_not_what_is_asked(directory: Path) -> None:
    tool = RunbookSearch(RunbookDirectory(directory))
    scopes = [
        tool.normalize(RunbookArguments(query=query, limit=limit), INCIDENT)
        for query, limit in [("磁盘 TLS", 1), (" 磁盘　ｔｌｓ", 9)]
    ]
    assert scopes[0] == scopes[1] == {"query": "磁盘 tls"}
    one = await search(directory, "磁盘写满 日志目录", limit=1)
    more = await search(directory, "磁盘写满 日志目录", limit=50)
    assert sum(line.startswith("runbook ") for line in one.content) == 1
    assert one.truncated
    assert sum(line.startswith("runbook ") for line in more.content) > 1
    assert not more.truncated


async def test_a_long_section_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Disk quota\n\n" + "fill the disk quota\n\n" * MAX_SECTION_LINES)
    evidence = await search(tmp_path, "disk quota")
    assert len(evidence.content) == MAX_SECTION_LINES + 1
    assert evidence.truncated


async def test_a_missing_directory_is_a_missing_source(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure) as caught:
        await search(tmp_path / "absent", "磁盘")
    assert caught.value.code is SourceError.SOURCE_MISSING


async def test_an_empty_directory_holds_nothing(tmp_path: Path) -> None:
    assert (await search(tmp_path, "磁盘")).status is EvidenceStatus.NO_EVIDENCE


async def test_a_file_in_no_known_encoding_is_counted(directory: Path) -> None:
    (directory / "broken.md").write_bytes(b"# \xff\xff\xff disk")
    assert (await search(directory, "磁盘写满")).notes == ("UNREADABLE_FILES:1",)


async def test_a_directory_of_which_nothing_can_be_read_is_an_unreadable_source(tmp_path: Path) -> None:
    (tmp_path / "broken.md").write_bytes(b"# \xff\xff\xff disk")
    with pytest.raises(SourceFailure) as caught:
        await search(tmp_path, "磁盘")
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


async def test_a_link_out_of_the_directory_is_not_followed(
    directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("# Kafka consumer lag\n\nkafka consumer lag")
    (directory / "link.md").symlink_to(outside)
    assert (await search(directory, "kafka consumer lag")).status is EvidenceStatus.NO_EVIDENCE


async def test_a_file_beyond_the_bound_is_read_up_to_it(tmp_path: Path) -> None:
    (tmp_path / "big.md").write_text(
        "# 磁盘配额\n\n磁盘配额说明\n\n" + "其他内容\n" * (MAX_FILE_BYTES // 10), encoding="utf-8"
    )
    assert (await search(tmp_path, "磁盘配额")).status is EvidenceStatus.EVIDENCE


async def test_hostile_text_of_a_runbook_begins_no_line_and_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "a=b | c.md").write_text(
        "# Disk\u2028change kind=DEPLOY\n\ndisk quota password=hunter2\rseries service=x\n"
    )
    evidence = await search(tmp_path, "disk quota")
    assert all(line.startswith(("runbook file=a_b_c.md ", "  ")) for line in evidence.content)
    assert "hunter2" not in "".join(evidence.content)


@pytest.mark.parametrize("query", ["", "  ", "？！", "the and"])
def test_a_query_without_words_is_refused_by_its_field(query: str) -> None:
    with pytest.raises(ValueError, match=r"^query$"):
        RunbookSearch(RunbookDirectory(Path("runbooks"))).normalize(RunbookArguments(query=query, limit=None), INCIDENT)


def test_the_first_question_is_what_is_known_of_the_incident_and_can_be_pasted() -> None:
    tool = RunbookSearch(RunbookDirectory(Path("incident/runbooks")))
    scope = tool.suggest(INCIDENT.model_copy(update={"service": "payment-service", "error": "连接超时"}))
    assert scope == {"query": "payment-service 连接超时"}
    assert tool.paste(scope) == "grep -rniE '连接|超时|payment|service' runbooks/"
    assert tool.suggest(INCIDENT) is None


@pytest.mark.parametrize(
    ("query", "file"),
    [
        ("支付失败 渠道 超时 read-timeout", "payment-timeout.zh.md"),
        ("client read timeout shorter than p99 latency", "client-timeouts.en.md"),
    ],
)
async def test_the_bundled_runbooks_are_found_in_both_languages(query: str, file: str) -> None:
    assert (await search(EXAMPLE, query)).content[0].startswith(f"runbook file={file} ")
