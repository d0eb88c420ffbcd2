"""The words of the bundled incident: what people and programs wrote around a payment outage that never happened.

Every name, number and line here is invented. All times are UTC; the team works in Asia/Shanghai.
"""

from typing import Any

ALERT: dict[str, Any] = {
    "service": "order-service",
    "metric": "payment_failure_rate",
    "threshold": 0.05,
    "observed": 0.47,
    "fired_at": "2026-09-08T07:02:00Z",
    "severity": "critical",
    "monitor": "order-payment-failure-rate",
    "summary": "订单服务支付失败率连续 3 分钟超过 5%，当前 47%，用户下单后无法完成支付",
}

CLIENT_COMMIT = "统一支付渠道客户端的超时配置，默认值收敛到公共配置"

COMMITS: tuple[tuple[str, str, str, tuple[str, ...], str | None], ...] = (
    # when, author, message, files, diff
    (
        "05:36:12",
        "li.na",
        "docs: 补充对账流程说明",
        ("docs/reconciliation.md",),
        None,
    ),
    (
        "05:48:40",
        "m.okafor",
        "test: cover rounding of refunds",
        ("ledger/src/test/java/com/acme/ledger/RefundRoundingTest.java",),
        "@@ class RefundRoundingTest {\n+    @Test\n+    void halfCentGoesToTheCustomer() {\n"
        '+        assertEquals(new BigDecimal("0.01"), Rounding.refund(new BigDecimal("0.005")));\n+    }',
    ),
    (
        "05:57:03",
        "zhao.lei",
        "风控规则缓存命中率打点",
        ("risk/src/main/java/com/acme/risk/RuleCache.java",),
        '@@ Rule load(String ruleId) {\n+        metrics.counter("risk.rule_cache.load").increment();\n'
        "         return cache.get(ruleId, store::find);",
    ),
    (
        "06:09:27",
        "s.marino",
        "chore: bump build image to temurin-21.0.8",
        ("Dockerfile",),
        "@@ FROM\n-FROM eclipse-temurin:21.0.7_6-jre\n+FROM eclipse-temurin:21.0.8_9-jre",
    ),
    (
        "06:18:55",
        "chen.yu",
        "ledger: 记账批次大小改为可配置",
        ("ledger/src/main/java/com/acme/ledger/BatchWriter.java", "ledger/src/main/resources/application.yml"),
        "@@ class BatchWriter {\n-    private static final int BATCH_SIZE = 200;\n"
        '+    @Value("${ledger.batch-size:200}")\n+    private int batchSize;',
    ),
    (
        "06:27:31",
        "m.okafor",
        "refactor: extract AmountFormatter from the receipt view",
        ("order/src/main/java/com/acme/order/view/AmountFormatter.java",),
        None,
    ),
    (
        "06:38:16",
        "wang.hao",
        CLIENT_COMMIT,
        (
            "payment/src/main/resources/channel-client.yml",
            "payment/src/main/java/com/acme/payment/channel/BankAdapterClient.java",
        ),
        "@@ payment/src/main/resources/channel-client.yml\n"
        " bank-adapter:\n   connect-timeout: 1000ms\n-  read-timeout: 3000ms\n"
        "+  read-timeout: 300ms\n   max-attempts: 3\n"
        "@@ payment/src/main/java/com/acme/payment/channel/BankAdapterClient.java\n"
        "-        this.readTimeout = Duration.ofMillis(3000);\n+        this.readTimeout = props.getReadTimeout();",
    ),
    (
        "06:44:02",
        "li.na",
        "订单列表页增加优惠券面板（开关 order_coupon_panel 控制）",
        ("order/src/main/java/com/acme/order/view/CouponPanel.java",),
        '@@ View render(Order order) {\n+        if (flags.isOn("order_coupon_panel")) {\n'
        "+            view.add(couponPanel.of(order.userId()));\n+        }",
    ),
    (
        "06:50:48",
        "zhao.lei",
        "order: 访问日志增加渠道字段",
        ("order/src/main/resources/logback.xml",),
        "@@ <pattern>\n-%d{ISO8601} %-5level %logger{24} - %msg%n\n"
        "+%d{ISO8601} %-5level [%X{channel}] %logger{24} - %msg%n",
    ),
    (
        "07:00:21",
        "s.marino",
        "docs: flag lifecycle",
        ("docs/flags.md",),
        None,
    ),
)

DEPLOYS: tuple[tuple[str, str, str, str], ...] = (
    # when, service, the deployed commit's message, version
    ("06:02:10", "risk-service", "风控规则缓存命中率打点", "2026.09.08-1402"),
    ("06:24:30", "ledger-service", "ledger: 记账批次大小改为可配置", "2026.09.08-1424"),
    ("06:49:40", "payment-service", CLIENT_COMMIT, "2026.09.08-1449"),
    ("06:56:20", "order-service", "order: 访问日志增加渠道字段", "2026.09.08-1456"),
)

FLAGS: tuple[tuple[str, str, str, str, str], ...] = (
    # when, flag, service, change, actor
    ("05:40:00", "risk_rule_cache_v2", "risk-service", "off->on", "zhao.lei"),
    ("06:47:30", "order_coupon_panel", "order-service", "off->on", "li.na"),
)

STACK_TRACE = """支付渠道调用失败，订单号={order}，渠道=bank-adapter，第 {attempt} 次尝试后放弃
com.acme.payment.channel.ChannelException: charge failed after {attempt} attempts
\tat com.acme.payment.channel.BankAdapterClient.charge(BankAdapterClient.java:118)
\tat com.acme.payment.service.PaymentService.pay(PaymentService.java:74)
\tat com.acme.payment.api.PaymentController.pay(PaymentController.java:41)
Caused by: java.net.SocketTimeoutException: Read timed out
\tat java.base/sun.nio.ch.NioSocketImpl.timedRead(NioSocketImpl.java:278)
\tat com.acme.payment.channel.BankAdapterClient.send(BankAdapterClient.java:139)
\t... 2 more"""

RUNBOOK_ZH = """# 支付失败排查手册

适用于订单支付失败率、支付渠道调用失败率升高。

## 先看什么

1. 先确认失败最早出现在哪个服务：沿调用方向看 payment-service、bank-adapter、ledger-service。
2. 调用方报 Read timed out 而被调用方自身耗时平稳，说明问题在调用方的超时或重试配置，不在渠道。
3. 对照渠道客户端的 read-timeout 与渠道 p99 耗时：超时必须大于 p99，建议至少两倍。

## 处置：回滚支付服务

确认是发布引起后，由值班同学回滚，不要重启渠道适配器。

```bash
kubectl -n pay rollout undo deployment/payment-service
kubectl -n pay rollout status deployment/payment-service --timeout=180s
```

## 处置：渠道自身变慢

渠道 p99 升高且多个调用方同时超时，联系渠道方并切换备用渠道。

```bash
curl -X POST http://payment-service.pay.svc/internal/channels/bank-adapter/switch?to=backup
```

## 恢复后

- 对账：核对超时但渠道已扣款的订单，走冲正流程。
- 记录时间线与影响订单数。
"""

RUNBOOK_EN = """# Client timeouts and retries

How we set timeouts between services, and what to check when callers time out.

## Rules

- A read timeout is longer than the callee's p99 latency; twice the p99 is a good start.
- The sum of all attempts stays below the caller's own deadline.
- Retries multiply load: with three attempts the callee sees up to three times the requests.

## When callers time out

Compare the caller's client latency with the callee's server latency over the same minutes. A client latency that is
pinned just above a round number while the callee is steady points to the caller's configuration.

```bash
kubectl -n pay get configmap channel-client -o yaml
```

## When the callee disconnects

Look for `client closed connection before response` on the callee: the work was done, the answer was not awaited.
"""
