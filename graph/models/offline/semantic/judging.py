"""Whether a draft's claims follow from the evidence. Every doubt is a no: only what can be judged is let through."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from graph.models.offline.semantic.amounts import moved_values
from graph.models.offline.semantic.echoes import is_tied
from graph.models.offline.semantic.headroom import leaves_room
from graph.models.offline.semantic.reading import SLACK, Deployed, Sign, World

_LESS = re.compile(
    r"调小|调低|调短|缩短|减小|减少|收紧|lowers?\b|shortens?|\bcuts\b|tightens|reduc|decreas", re.IGNORECASE
)
_MORE = re.compile(r"调大|提高|调长|放宽|调高|增大|\braises?\b|lengthens?|loosens|increas|doubl", re.IGNORECASE)
_TAKEN = re.compile(r"删|去掉|移除|收回|removes?\b|deletes?\b|takes .* away|drops?\b", re.IGNORECASE)
_TOO_MUCH = re.compile(
    r"一定是|必然|毫无疑问|百分之百|肯定是|(全部|所有)(用户|客户|服务|区域|地域)|数据丢失|永久|攻击|入侵|泄露|恶意|人为破坏"
    r"|definitely|certainly|undoubtedly|without (a |any )?doubt|guarantee|all (users|services|customers|regions)"
    r"|every (user|customer|service|region)|data loss|breach|malicious|sabotage|attack",
    re.IGNORECASE,
)
_RISES = re.compile(r"上升|升高|飙升|增加|上涨|\brises?\b|\brose\b|increas|climb|went up|spik", re.IGNORECASE)
_FALLS = re.compile(r"下降|降低|下跌|减少|\bfalls?\b|\bfell\b|decreas|dropp?(ed|s)\b|went down", re.IGNORECASE)
_EXCLUDES = re.compile(
    r"排除|不是原因|无法证实|不及|不足以|没有证据|无关"
    r"|ruled out|not the cause|nothing|no evidence|weaker|does not decide|unrelated",
    re.IGNORECASE,
)
_LATER = re.compile(r"晚于|之后才上线|after the onset|later than", re.IGNORECASE)
_UNDO = re.compile(r"回滚|撤回|撤销|roll\w* .*back|roll-?back|revert|undo", re.IGNORECASE)
_ACTIVE = re.compile(
    r"导致|引起|造成|拖垮|触发|\bcaus(es?|ed)\b(?! by)|\bled to\b|\bleads to\b|\bbroke\b|\btrigger(s|ed)\b", re.I
)
_PASSIVE = re.compile(r"由于|因为|源于|源自|caused by|due to|because of|triggered by|result of", re.IGNORECASE)
_ROOT = re.compile(r"根因|根本原因|root cause", re.IGNORECASE)


@dataclass(frozen=True)
class _Family:
    claim: re.Pattern[str]
    diff: re.Pattern[str] | None
    seen: re.Pattern[str]
    decisive: re.Pattern[str] | None
    by: str = ""
    quiet: bool = False


@cache
def _families(sort: str) -> Mapping[str, _Family]:
    text = files("graph.models.offline.semantic").joinpath("families.toml").read_text("utf-8")

    def pattern(rule: Mapping[str, str], key: str) -> re.Pattern[str] | None:
        return re.compile(rule[key], re.IGNORECASE) if rule.get(key) else None

    return {
        name: _Family(
            claim=re.compile(rule["claim"], re.IGNORECASE),
            diff=pattern(rule, "diff"),
            seen=re.compile(rule["seen"], re.IGNORECASE),
            decisive=pattern(rule, "decisive"),
            by=rule.get("by", ""),
            quiet=bool(rule.get("quiet")),
        )
        for name, rule in tomllib.loads(text)[sort].items()
    }


def claimed_families(sort: str, claim: str) -> list[str]:
    """Return the families (of sort `change` or `cause`) whose words a claim uses."""
    return [name for name, family in _families(sort).items() if family.claim.search(claim)]


def objection(draft: Mapping[str, Any], world: World) -> str | None:
    """Return why a concluded draft isn't supported, in one short English phrase, or None where it is."""
    conclusion = draft.get("conclusion")
    if not isinstance(conclusion, Mapping):
        return "no conclusion"
    checks = (_overclaims, _wording, _seat, _cause, _first_failing, _affected, _direction_words, _others, _actions)
    return next((found for check in checks if (found := check(draft, conclusion, world))), None)


def _analyses(draft: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in draft.get("analyses") or () if isinstance(one, Mapping)]


def _all_texts(draft: Mapping[str, Any], conclusion: Mapping[str, Any]) -> Iterator[str]:
    yield str(conclusion.get("text") or "")
    yield str(conclusion.get("cause") or "")
    for name in ("analyses", "action_plan", "recommendations"):
        yield from (str(one.get("text") or "") for one in draft.get(name) or ())


def _overclaims(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    said = " ".join(line for lines in world.lines.values() for line in lines).lower()
    for text in _all_texts(draft, conclusion):
        for found in _TOO_MUCH.finditer(text):
            if found[0].lower() not in said:
                return "claims more than the evidence says"
    return None


def _named(text: str, names: set[str]) -> list[str]:
    """Return the names that a text holds as whole words, in its order."""
    found = []
    for name in names:
        match = re.search(rf"(?<![A-Za-z0-9_.-]){re.escape(name)}(?![A-Za-z0-9_-]|\.\w)", text)
        if match:
            found.append((match.start(), -len(name), name))
    return [name for _, _, name in sorted(found)]


def _wording(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    """The sentence and the fields of the conclusion have to say the same."""
    text, component = str(conclusion.get("text") or ""), str(conclusion.get("component") or "")
    change_id = conclusion.get("change_id")
    spoken = {one.change_id for one in world.changes if one.change_id and one.change_id in text}
    if spoken - {change_id}:
        return "the sentence names another change"
    root = _ROOT.search(text)
    after = _named(text[root.end() :] if root else text, world.names)
    if change_id and component not in _named(text, world.names):
        return "the sentence doesn't name the component"
    if root and change_id and after and after[0] != component:
        return "the sentence names another component"
    if change_id and len(text) < len(component) + 8:
        return "too little is said to judge"
    return _reversed(draft, conclusion, world)


def _reversed(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    victims = {str(one) for one in conclusion.get("affected") or ()}
    seat = {str(conclusion.get("component") or ""), str(conclusion.get("first_failing") or "")} - victims
    for text in _all_texts(draft, conclusion):
        for sentence in re.split(r"[。;；!！]|\.\s", text):
            doer, sufferer = _roles(sentence, world.names)
            if doer in victims and sufferer in seat:
                return "cause and effect are reversed"
    return None


def _roles(sentence: str, names: set[str]) -> tuple[str | None, str | None]:
    passive = _PASSIVE.search(sentence)
    if passive:
        before, after = _named(sentence[: passive.start()], names), _named(sentence[passive.end() :], names)
        if before:
            return (after[0] if after else None), before[-1]
        return (after[0] if after else None), (after[1] if len(after) > 1 else None)
    active = _ACTIVE.search(sentence)
    if not active:
        return None, None
    before, after = _named(sentence[: active.start()], names), _named(sentence[active.end() :], names)
    return (before[0] if before else None), (after[0] if after else None)


def _cited_calls(draft: Mapping[str, Any], conclusion: Mapping[str, Any]) -> set[str]:
    wanted = set(conclusion.get("analysis_ids") or ())
    return {
        str(call)
        for one in _analyses(draft)
        if one.get("analysis_id") in wanted
        for call in one.get("tool_call_ids") or ()
    }


def _the_change(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> Deployed | None:
    """Return the cited record of the concluded change: the live one, at the component."""
    cited = _cited_calls(draft, conclusion)
    records = [one for one in world.changes if one.change_id == conclusion.get("change_id") and one.call_id in cited]
    deployed = any(one.kind == "DEPLOY" for one in world.changes)
    live = [one for one in records if one.kind in ("DEPLOY", "FLAG") or not deployed]
    live.sort(key=lambda one: (one.service != conclusion.get("component"), -len(one.minus) - len(one.plus)))
    return live[0] if live else None


def _seat(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    """The component shows signs of its own; a guilty change was live there, before they began."""
    component = str(conclusion.get("component") or "")
    near = {component} | {caller for caller, callee in world.calls if callee == component}
    if conclusion.get("change_id"):
        near |= _readers(world)
    if not any(one.service in near for one in world.signs):
        return "nothing was seen at the component"
    if not conclusion.get("change_id"):
        return None
    change = _the_change(draft, conclusion, world)
    if change is None:
        return "the change is not a cited, live one"
    if change.service and change.service != component:
        return "the change went live on another component"
    if change.at is None:
        return "the change has no time"
    alerting = set(world.alerts)
    for sign in world.signs:
        if sign.at is not None and (sign.service, sign.text) in alerting and sign.at < change.at - SLACK:
            return "the alerting measure moved before the change"
    return None


def _cause(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    """The cause and the sentence each have to claim something that the evidence bears out."""
    claims = [_bare(str(conclusion.get(key) or ""), world) for key in ("cause", "text")]
    return next((found for claim in claims if (found := _claim(claim, draft, conclusion, world))), None)


def _claim(claim: str, draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    if not conclusion.get("change_id"):
        return _cause_without_change(claim, conclusion, world)
    change = _the_change(draft, conclusion, world)
    if change is None:
        return "the change is not a cited, live one"
    if leaves_room(change, world):
        return "what was in use before has room under the lowered limit"
    near = {str(conclusion.get("component")), *(callee for caller, callee in world.calls if caller == change.service)}
    near |= {caller for caller, callee in world.calls if callee == change.service}
    for name, family in _families("change").items():
        where = near | _readers(world) if name == "format" else near
        if family.claim.search(claim) and _fits(family, change, claim, where, world):
            return None
    return "what the change does is not tied to what was seen"


def _readers(world: World) -> set[str]:
    """Return the services that can't read what they are sent, where there are several: it's what they are sent."""
    seen = _families("change")["format"].seen
    failing = {one.service for one in world.signs if one.up is None and seen.search(one.text)}
    return failing if len(failing) > 1 else set()


def _bare(text: str, world: World) -> str:
    """Return a claim without the names of services and changes: a name claims nothing."""
    names = sorted(world.names | {one.change_id for one in world.changes if one.change_id}, key=len, reverse=True)
    for name in names:
        text = re.sub(rf"(?<![A-Za-z0-9_.-]){re.escape(name)}(?![A-Za-z0-9_-])", " ", text)
    return text


def _fits(family: _Family, change: Deployed, claim: str, near: set[str], world: World) -> bool:
    if family.diff is None or change.at is None:
        return False
    if family.by:
        return is_tied(family.by, change, near, world)
    gone = [line for line in change.minus if family.diff.search(line) and line not in change.plus]
    come = [line for line in change.plus if family.diff.search(line) and line not in change.minus]
    if not gone and not come:
        return False
    cause = re.split(r"，|,|so that|which", claim)[0] if not _LESS.search(claim) else claim
    if _TAKEN.search(cause) and not _LESS.search(claim) and not _MORE.search(claim) and not gone and not change.plus:
        return False
    moves = moved_values(change.minus, change.plus)
    less, more = bool(_LESS.search(claim)), bool(_MORE.search(claim))
    if moves and less != more and not any(move < 0 if less else move > 0 for move in moves):
        return False
    signs = [one for one in world.signs if one.service in near and family.seen.search(one.text) and one.at is not None]
    own = [one for one in signs if one.service == change.service] or signs
    return bool(own) and all(one.at is not None and one.at >= change.at - SLACK for one in own if _is_new(one, own))


def _is_new(sign: Sign, own: Sequence[Sign]) -> bool:
    """Only the earliest sign has to come after the change: the others do then, too.

    Errors that came long before any measure moved were everyday ones.
    """
    moved = min((one.at for one in own if one.up is not None and one.at is not None), default=None)
    dated = [one.at for one in own if one.at is not None and (moved is None or moved - one.at <= 10 * SLACK)]
    return sign.at == min(dated)


def _cause_without_change(claim: str, conclusion: Mapping[str, Any], world: World) -> str | None:
    component = str(conclusion.get("component") or "")
    begun = [one.at for one in world.signs if (one.service, one.text) in set(world.alerts) and one.at is not None]
    latest = min(begun) + 5 * SLACK if begun else None
    near = {component} | world.callers_of(component) | {callee for caller, callee in world.calls if caller == component}
    signs = [one for one in world.signs if one.at is not None and (latest is None or one.at <= latest)]
    for name, family in _families("cause").items():
        if family.claim.search(claim) and _told_of(name, family, signs, near, world):
            return None
    return "the claimed cause is not in the evidence"


def _told_of(name: str, family: _Family, signs: Sequence[Sign], near: set[str], world: World) -> bool:
    """Whether a cause is told of near the component, and measured or told by two services: one text proves nothing."""
    if family.decisive is None:
        return name == "traffic" and any(_surged_first(sign, family, world) for sign in signs if sign.service in near)
    told = [
        sign
        for sign in (*signs, *(world.notices if family.quiet else ()))
        if sign.up is None and family.seen.search(sign.text) and family.decisive.search(sign.text)
    ]
    if not any(sign.service in near for sign in told):
        return False
    measured = any(
        one.measured and (one in told or one.up is not None) and family.seen.search(one.text) for one in signs
    )
    return measured or len({sign.service for sign in told}) > 1


def _surged_first(sign: Sign, family: _Family, world: World) -> bool:
    others = [one.at for one in world.signs if one.at is not None and not family.seen.search(one.text)]
    return bool(sign.up and family.seen.search(sign.text) and sign.at and all(at >= sign.at for at in others))


def _first_failing(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    first = str(conclusion.get("first_failing") or "")
    if not first:
        return None
    begun = world.earliest(first)
    if begun is None:
        return "nothing was seen at the first failing component"
    component = str(conclusion.get("component") or "")
    if any(name == first for name, _ in world.failed_first[:1]) or first == component:
        return None
    own = world.earliest(component)
    if own is not None and own < begun - SLACK and first not in {callee for _, callee in world.calls}:
        return "the component failed before the one that is said to be first"
    if own is not None and first in world.callers_of(component):
        return "it is a caller of the component"
    return None


def _affected(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    component, first = str(conclusion.get("component") or ""), str(conclusion.get("first_failing") or "")
    starts = [at for at in (world.earliest(component), world.earliest(first)) if at is not None]
    for name in map(str, conclusion.get("affected") or ()):
        begun = world.earliest(name)
        if name == component or begun is None:
            return "nothing was seen at a component that is said to be affected"
        if starts and begun < min(starts) - SLACK:
            return "a component that is said to be affected failed first"
    return None


def _direction_words(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    for one in _analyses(draft):
        text = str(one.get("text") or "")
        quoted = " ".join(map(str, one.get("quotes") or ()))
        up, down = "direction=UP" in quoted, "direction=DOWN" in quoted
        if one.get("kind") != "OBSERVATION" or up == down:
            continue
        if (up and _FALLS.search(text) and not _RISES.search(text)) or (
            down and _RISES.search(text) and not _FALLS.search(text)
        ):
            return "a direction is told the wrong way round"
    return None


def _others(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    """Other changes may only be spoken of as ruled out or open; what is ruled out as late has to be late."""
    guilty = conclusion.get("change_id")
    onset = min(
        (one.at for one in world.signs if one.at and (one.service, one.text) in set(world.alerts)), default=None
    )
    excluded = set((draft.get("limitations") or {}).get("ruled_out") or ())
    for one in _analyses(draft):
        text = str(one.get("text") or "")
        named = [change for change in world.changes if change.change_id and change.change_id in text]
        if one.get("analysis_id") in excluded and any(change.change_id == guilty for change in named):
            return "the concluded change is ruled out"
        if one.get("kind") != "INFERENCE" or not named or any(change.change_id == guilty for change in named):
            continue
        if not _EXCLUDES.search(text):
            return "another change is blamed"
        if _LATER.search(text) and onset is not None and all(c.at is not None and c.at <= onset for c in named):
            return "a change is called late that was not"
    return None


def _actions(draft: Mapping[str, Any], conclusion: Mapping[str, Any], world: World) -> str | None:
    guilty, component = conclusion.get("change_id"), conclusion.get("component")
    for step in (*(draft.get("action_plan") or ()), *(draft.get("recommendations") or ())):
        text = str(step.get("text") or "")
        if any(one.change_id != guilty for one in world.changes if one.change_id and one.change_id in text):
            return "a step acts on another change"
        if _UNDO.search(text) and (not guilty or set(_named(text, world.names)) - {component}):
            return "a step undoes something else"
    return None
