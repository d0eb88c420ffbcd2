"""The offline router: a diagnosis or other talk, and the context that a query names."""

import json

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from graph.models.offline import OfflineRouter
from graph.models.offline.router import route


@pytest.mark.parametrize(
    "query",
    [
        "checkout 为什么变慢?",
        "order-svc 报 500",
        "why is paymentservice failing",
        "生产环境凌晨三点告警,帮忙看下",
        "p99 of search is up",
        "payments are timing out",
        "we see many errors",
        "which alerts fire",
        "排查一下 x509: certificate has expired",
    ],
)
def test_trouble_is_a_diagnosis(query: str) -> None:
    assert route(query)["route"] == "diagnosis"


@pytest.mark.parametrize("query", ["你好", "谢谢!", "写一首诗", "hello there", "tell me a joke", ""])
def test_other_talk_is_not(query: str) -> None:
    assert route(query)["route"] == "other"


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [
        ("`cart.v2` 从 14:05 开始超时", "service", "cart.v2"),
        ("paymentservice is down", "service", "paymentservice"),
        ("order-svc 报错", "service", "order-svc"),
        ("服务 checkout 变慢", "service", "checkout"),
        ("线上 checkout 服务变慢", "environment", "production"),
        ("staging is slow", "environment", "staging"),
        ("checkout 从14:05开始超时", "window", "从14:05开始"),
        ("slow since 14:05", "window", "since 14:05"),
        ("昨晚报错", "window", "昨晚报错"),
        ('报错 "connection refused by peer"', "error", "connection refused by peer"),
        ("NullPointerException in cart", "error", "NullPointerException"),
        ("租户 acme 报错", "enterprise", "acme"),
    ],
)
def test_what_the_query_names_is_its_context(query: str, key: str, value: str) -> None:
    assert route(query)["context"][key] == value


def test_what_nobody_said_is_null() -> None:
    assert set(route("为什么变慢")["context"].values()) == {None}


def test_the_reply_is_json_for_the_query_in_the_message() -> None:
    reply = OfflineRouter().invoke([SystemMessage("…"), HumanMessage(json.dumps({"query": "order-svc 报错"}))])
    assert json.loads(str(reply.content))["context"]["service"] == "order-svc"
