"""Remedies named in actions, as people and models write them in both languages."""

import pytest

from evals.suites.remediation import remediation_of


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Roll back payment to v41", "rollback"),
        ("Revert commit 1a2b3c4 and redeploy", "rollback"),
        ("把网关回滚到前一个版本", "rollback"),
        ("Revert the pool size setting to 50", "config-revert"),
        ("把连接池的配置改回 50", "config-revert"),
        ("Ship the missing migration", "roll-forward"),
        ("补上缺失的字段并向前发布", "roll-forward"),
        ("Renew the expired TLS certificate", "rotate-cert"),
        ("重新签发证书并部署", "rotate-cert"),
        ("Rotate the leaked API token", "rotate-credentials"),
        ("Quarantine the malformed message and restart the consumer", "purge-bad-data"),
        ("跳过这条坏消息", "purge-bad-data"),
        ("Fail over to the standby region", "failover"),
        ("把流量切换到备用区域", "failover"),
        ("Cordon the node and move its pods", "replace-node"),
        ("Turn off the feature flag new_cart", "disable-flag"),
        ("Rate-limit the crawler", "rate-limit"),
        ("对入口限流", "rate-limit"),
        ("Scale out the workers", "scale"),
        ("给工作节点扩容", "scale"),
        ("Restart the pods", "restart"),
        ("Escalate to the vendor", "escalate-upstream"),
        ("Confirm that the error rate is back to its baseline", None),
        ("", None),
    ],
)
def test_an_action_names_its_remedy(text: str, category: str | None) -> None:
    assert remediation_of([text]) == category


def test_the_first_remedy_of_the_first_action_that_names_one_counts() -> None:
    assert remediation_of(["Look at the dashboards", "Roll back, or restart", "Fail over"]) == "rollback"
    assert remediation_of(["Restart; if that doesn't help, roll back"]) == "restart"
    assert remediation_of([]) is None
