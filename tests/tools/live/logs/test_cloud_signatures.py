"""Signed requests: the examples that the services' own documentation works through."""

from tools.live.logs import cls_signature, sls_signature


def test_tc3_signs_the_documented_example() -> None:
    """https://cloud.tencent.com/document/api/614/56474: DescribeInstances of 2019-02-25."""
    body = b'{"Limit": 1, "Filters": [{"Values": ["\\u672a\\u547d\\u540d"], "Name": "instance-name"}]}'
    signed = cls_signature.authorization(
        "AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE",
        "Gu5t9xGARNpq86cd98joQYCN3EXAMPLE",
        service="cvm",
        timestamp=1551113065,
        headers={"content-type": "application/json; charset=utf-8", "host": "cvm.tencentcloudapi.com"},
        body=body,
    )
    assert signed == (
        "TC3-HMAC-SHA256 Credential=AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE/2019-02-25/cvm/tc3_request, "
        "SignedHeaders=content-type;host, "
        "Signature=72e494ea809ad7a8c8f7a4507b9bddcbaa8e581f516e8da2f66e2c5a96525168"
    )


def test_sls_signs_the_documented_example() -> None:
    """https://help.aliyun.com/zh/sls/developer-reference/request-signatures: the Logstores of a project."""
    signed = sls_signature.authorization(
        "bq2sjzesjmo86kq35behupbq",
        "4fdO2fTDDnZPU/L7CHNdemB2Nsk=",
        path="/logstores",
        params={"size": "1000", "logstoreName": "", "offset": "0"},
        headers={
            "date": "Mon, 09 Nov 2015 06:11:16 GMT",
            "x-log-signaturemethod": "hmac-sha1",
            "x-log-apiversion": "0.6.0",
        },
    )
    assert signed == "LOG bq2sjzesjmo86kq35behupbq:jEYOTCJs2e88o+y5F4/S5IsnBJQ="
