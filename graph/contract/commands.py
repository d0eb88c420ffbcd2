"""Command lines in an action: only what a cited runbook says verbatim (contract, "EvidenceGuard")."""

import re
from collections.abc import Iterator

from graph.contract.folding import fold, word_character

_FENCE = re.compile(r"```[A-Za-z0-9_-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_PROGRAMS = (
    "kubectl|helm|git|psql|mysql|redis-cli|curl|wget|systemctl|docker|podman|crictl|etcdctl|argocd|terraform|ansible|"
    "ansible-playbook|aws|gcloud|az|ssh|scp|sudo|mongosh|journalctl|iptables|pkill|killall|chmod|chown|rm|kill|nginx"
)
_VERBS = {
    "kubectl": "get|describe|rollout|scale|delete|apply|logs?|exec|patch|edit|set|top|cordon|drain|annotate|label|-",
    "helm": "rollback|upgrade|install|uninstall|history|list",
    "git": "revert|reset|checkout|push|pull|cherry-pick|bisect|merge|rebase|switch|restore|log|show|diff",
    "(?:docker|podman|crictl|systemctl|nginx)": "restart|stop|start|kill|rm|run|exec|logs|ps|reload|status|-",
    "(?:psql|mysql|redis-cli|mongosh|journalctl|iptables|ssh|nginx)": r"-[A-Za-z]|[a-z]+://|\S+@|FLUSH|CONFIG|DEL\b",
    "(?:curl|wget)": "-|https?:",
    "aws": r"[a-z0-9]+\s+[a-z]+-[a-z-]+",
    "(?:gcloud|az)": r"[a-z]+\s+[a-z]+\s",
    "(?:terraform|argocd)": r"apply|destroy|plan|app\b",
    "(?:sudo|pkill|killall|chmod|chown|ansible-playbook|scp)": r"[\w./-]",
    "rm": "-[a-z]|/",
    "kill": r"-\d+|-[A-Z]+|\d+",
}
_SQL = (
    r"(?:select|delete)\s[^.;]{0,200}\bfrom\s\w|update\s+\S+\s+set\s+\w+\s*="
    r"|(?:drop|alter|truncate)\s+(?:table|index|database)\s"
)
_COMMAND = re.compile(
    r"(?<![\w./-])(?:" + "|".join(rf"{program}\s+(?:{what})" for program, what in _VERBS.items()) + rf"|(?i:{_SQL}))",
    re.ASCII,
)
_COMMAND_LINE = re.compile(rf"\s*(?:[-*]\s+)?(?:\$\s+)?(?={_COMMAND.pattern}|(?:{_PROGRAMS})\s+[\w./$\"'<-])", re.ASCII)
_SHELL = re.compile(r"\s--?[A-Za-z]|\s(?:\||&&|;|>)\s|\$\(")
_PROMPT = re.compile(r"^(?:\$|#|>)\s+")
_LINE_END = re.compile(
    r"[。；！？，、：“”\"）]|[,;](?=\s|$)|\.(?=\s|$)|\s(?:and|then|to|so|in order)\s|(?=[\u4e00-\u9fff])"
)


def command_lines(text: str) -> Iterator[str]:
    """Return the command lines that a text holds, folded: in fences, in code spans of several words, in prose."""
    for fence in _FENCE.finditer(text):
        yield from (folded for line in fence[1].splitlines() if (folded := _command(line)))
    prose = _FENCE.sub("\n", text)
    for span in _SPAN.finditer(prose):
        if " " in (folded := _command(span[1])):
            yield folded
    for line in _SPAN.sub(" ", prose).splitlines():
        yield from _in_prose(line)


def _command(line: str) -> str:
    return _PROMPT.sub("", fold(line))


def _in_prose(line: str) -> Iterator[str]:
    opening = _COMMAND_LINE.match(line)
    starts = {found.start() for found in _COMMAND.finditer(line)} | ({opening.end()} if opening else set())
    for start in sorted(starts):
        rest = line[start:]
        end = _LINE_END.search(rest)
        yield fold(rest[: end.start()] if end else rest)


def executes(command: str) -> bool:
    """Return whether a folded line is a command that someone may run, rather than a phrase set in code."""
    return _COMMAND_LINE.match(command) is not None or _SHELL.search(command) is not None


def stands_in(command: str, text: str) -> bool:
    """Return whether a folded command stands in a folded text, between whole words."""
    at = text.find(command)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(command) : at + len(command) + 1]
        if not any(edge and (word_character(edge) or edge in "-/.") for edge in (before, after)):
            return True
        at = text.find(command, at + 1)
    return False
