"""Which remedy an action's text asks for, by rule: the categories an on-call engineer would sort actions into.

The first action that names a remedy counts, and in it the first one named: a plan that lists every remedy there is
must not score by it. Where two readings begin at one place, the more specific one, which stands first here, counts.
"""

import re
from collections.abc import Iterable

_UNDO = r"(?:revert|undo|restore|reset|back out|撤回|撤销|还原|恢复|改回|回退)"
_RENEW = r"(?:rotate|renew|re-?issue|replace|refresh|轮换|重新签发|更换|更新|续期|续签)"

RULES: tuple[tuple[str, str], ...] = (
    ("rotate-cert", rf"{_RENEW}[^.;。；]{{0,40}}?(?:cert|tls|x\.?509|证书)"),
    ("rotate-credentials", rf"{_RENEW}[^.;。；]{{0,40}}?(?:credential|secret|token|password|key|凭据|凭证|密钥|密码|令牌)"),
    ("config-revert", rf"{_UNDO}[^.;。；]{{0,80}}?(?:config|setting|parameter|配置|参数)|config[- ]revert"),
    ("disable-flag", r"(?:disable|turn off|switch off|flip|revert|关闭|关掉|停用)[^.;。；]{0,60}?(?:flag|toggle|开关)"),
    ("purge-bad-data", r"(?:purge|quarantine|skip|discard|dead-?letter|隔离|清除|清理|跳过|丢弃|剔除)[^.;。；]{0,60}?"
                       r"(?:record|message|event|data|payload|row|offset|数据|记录|消息|事件)"),
    ("replace-node", r"(?:cordon|drain|replace|evict|隔离|驱逐|替换|更换|排空)[^.;。；]{0,40}?(?:node|host|节点|主机|宿主机)"),
    ("failover", r"fail[- ]?over|(?:switch|shift|move|redirect|route|切换|切到|迁移|转移)[^.;。；]{0,60}?"
                 r"(?:region|zone|provider|replica|secondary|standby|区域|可用区|服务商|备用|备库|副本)"),
    ("roll-forward", r"roll(?:ing)?[- ]?forward|(?:ship|deploy|apply|add|run)[^.;。；]{0,40}?(?:missing|hotfix|fix|migration)"
                     r"|向前发布|前滚|补上|补发|发布修复|热修复"),
    ("rollback", r"roll(?:ed|ing)?[- ]?back|回滚|回退|" + _UNDO + r"[^.;。；]{0,60}?"
                 r"(?:deploy|release|commit|change|version|发布|部署|提交|变更|版本)"),
    ("rate-limit", r"rate[- ]?limit|throttl|load[- ]?shed|shed load|block[^.;。；]{0,30}?(?:traffic|client|ip)|限流|节流|降载|封禁"),
    ("scale", r"scal(?:e|ing)[- ]?(?:up|out)?|add (?:capacity|replicas|nodes)|(?:raise|increase)[^.;。；]{0,40}?"
              r"(?:limit|quota|capacity|replicas|memory|cpu|disk|pool)|扩容|增加(?:副本|容量|配额|资源)|调大|提高(?:上限|配额|限制)"),
    ("restart", r"restart|reboot|recycle|重启"),
    ("escalate-upstream", r"escalate|contact[^.;。；]{0,40}?(?:provider|vendor|upstream)|联系(?:服务商|供应商|上游|云厂商)"),
)  # fmt: skip

_COMPILED = tuple((category, re.compile(pattern, re.IGNORECASE)) for category, pattern in RULES)


def remediation_of(actions: Iterable[str]) -> str | None:
    """Return the category of the first remedy that `actions` name, in their order; None where they name none."""
    return next((category for action in actions if (category := _category(action))), None)


def _category(action: str) -> str | None:
    found = [
        (match.start(), rank, category)
        for rank, (category, pattern) in enumerate(_COMPILED)
        if (match := pattern.search(action))
    ]
    return min(found)[2] if found else None
