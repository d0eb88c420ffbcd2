"""What ties a change to a fault without a known mechanism, read a second time: a name or number that an error says, a
flag that was switched, a limit that stepped to the set value."""

import re
from collections.abc import Iterable

from graph.models.offline.semantic.reading import SLACK, Deployed, World

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[.:/-][A-Za-z_][A-Za-z0-9_]*)*")
_NUMBER = re.compile(r"\d[\d_]*(?:\.\d+)?")
_ON = re.compile(r"\b(true|on|yes|enabled)\b", re.IGNORECASE)
_OFF = re.compile(r"\b(false|off|no|disabled)\b", re.IGNORECASE)
_SERIES = re.compile(r"^series service=(\S+) .*?baseline=([\d.]+) extreme=([\d.]+) .*?last=([\d.]+)")


def is_tied(by: str, change: Deployed, near: set[str], world: World) -> bool:
    """Whether a change is tied to what was seen: `by` is `name`, `flag`, `limit` or `measure`."""
    if by == "flag":
        return _waited_behind_flag(change, world)
    if by == "measure":
        return _measured_by_name(change, world)
    if by == "limit":
        return _limit_stepped(change, world)
    texts = [
        sign.text
        for sign in world.signs
        if sign.up is None and sign.service in near and sign.at and change.at and sign.at >= change.at - SLACK
    ]
    return any(_says(text, change) for text in texts)


def _says(text: str, change: Deployed) -> bool:
    said = {token.lower() for token in _TOKEN.findall(text)}
    said |= {token.rsplit(".", 1)[-1] for token in said}
    touched = _tokens(change.minus) ^ _tokens(change.plus)
    if any(len(token) >= 6 and not token.isalpha() for token in touched & said):
        return True
    numbers = _numbers([text])
    fresh = _numbers(change.plus) - _numbers(change.minus)
    shares_word = bool(
        {part for token in said for part in re.split(r"[\W_]+", token) if len(part) > 3} & _words(change)
    )
    return bool(fresh & numbers) and (shares_word or any(len(one) > 2 for one in fresh & numbers))


def _tokens(lines: Iterable[str]) -> set[str]:
    found = {token.lower() for line in lines for token in _TOKEN.findall(line)}
    return found | {token.rsplit(".", 1)[-1] for token in found}


def _numbers(lines: Iterable[str]) -> set[str]:
    return {f"{float(number.replace('_', '')):.15g}" for line in lines for number in _NUMBER.findall(line)}


def _words(change: Deployed) -> set[str]:
    spelled = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(change.plus)).lower()
    return {part for part in re.split(r"[\W_]+", spelled) if len(part) > 3}


def _waited_behind_flag(change: Deployed, world: World) -> bool:
    flags = [one for one in world.changes if one.kind == "FLAG" and one.at and change.at and one.at > change.at]
    return any(flag.change_id and flag.change_id in " ".join(change.plus) for flag in flags)


def _measured_by_name(change: Deployed, world: World) -> bool:
    """Whether a switch that went over names what the alerting measure of the service is called."""
    alerting = {metric for service, metric in world.alerts if service == change.service}
    moved = {one.text for one in world.signs if one.up is not None and one.service == change.service}
    for before, after in ((_ON, _OFF), (_OFF, _ON)):
        gone = [line for line in change.minus if before.search(line)]
        come = [line for line in change.plus if after.search(line)]
        shared = _spelled(gone) & _spelled(come)
        if any(shared & _spelled([metric]) for metric in alerting & moved):
            return True
    return False


def _spelled(lines: Iterable[str]) -> set[str]:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(lines)).lower()
    return {part.rstrip("s") for part in re.split(r"[\W_]+", text) if len(part) > 4}


def _limit_stepped(change: Deployed, world: World) -> bool:
    for lines in world.lines.values():
        for found in filter(None, map(_SERIES.match, lines)):
            old, new = _scaled(change.minus), _scaled(change.plus)
            if found[1] == change.service and float(found[2]) in old and {float(found[3]), float(found[4])} & new:
                return True
    return False


def _scaled(lines: Iterable[str]) -> set[float]:
    """Return the numbers of lines in every unit that a limit may be measured in."""
    return {float(number) * unit for number in _numbers(lines) for unit in (1.0, 1000.0, 1024.0, 1024.0**2, 0.001)}
