"""The words of a text, as the full-text search and the relevance floor count them."""

import re

import rjieba

_ASCII_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[a-z]+|\d+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """the and for with from that this are was how what why when not can you your our all any into out then than has
        have is it to of in on at by be or if
        一个 我们 你们 可以 如何 怎么 怎样 什么 为什么 是否 以及 或者 并且 如果 因为
        所以 进行 已经 没有 这个 那个 出现 问题""",
    )
)


def words_of(text: str) -> list[str]:
    """Return the words of a text, Chinese ones first: segmented, `connectTimeoutMs` and `read_timeout` taken apart,
    lower case, plurals cut; single characters and words that say nothing are left out."""
    spoken = [word for run in _HAN.findall(text) for word in rjieba.cut_for_search(run)]
    written = [match.group().lower() for match in _ASCII_WORD.finditer(text)]
    singular = [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in written
    ]
    return [word for word in (*spoken, *singular) if len(word) > 1 and word not in _STOP_WORDS]


def asked_words(query: str) -> tuple[str, ...]:
    """Return the distinct words of a query, in their order."""
    return tuple(dict.fromkeys(words_of(query)))
