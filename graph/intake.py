"""The door in: what a caller sends is masked and bounded before a checkpoint, a model or a log can see it.

Source: contract, "Run and thread": counters, ledger keys and the rest start fresh, so an absent input is absent.
"""

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import HumanMessage, convert_to_messages
from langgraph.channels import EphemeralValue
from langgraph.graph.message import add_messages
from typing_extensions import override

from tools.hygiene import clean_json, clean_text

MAX_QUERY_CHARS = 8_000
MAX_TURNS = 50
MAX_ID_CHARS = 64
_ID = re.compile(r"[A-Za-z0-9_-]+")


class InputDoor(EphemeralValue[Any]):
    """The channel of a graph's input. It masks what is written to it, so the input's own checkpoint is masked, too.

    An absent `incident` becomes None: LangGraph would keep the previous run's.
    """

    @override
    def update(self, values: Sequence[Any]) -> bool:
        return super().update([admit_input(value) for value in values])


def admit_input(value: Any) -> dict[str, Any]:
    """Return the caller's input with its user turns as masked, bounded text and its incident as masked JSON.

    An incident may be what Alertmanager or Grafana posts to a webhook, or one alert of theirs; it's taken in our form.
    Only the user's turns are taken: nobody hands the run an answer of its own, a tool's or a system's. What can't be
    read as a message counts as none; the turns beside it are taken all the same.
    """
    given = value if isinstance(value, dict) else {}
    incident = given.get("incident")
    return {
        "messages": _user_turns(given.get("messages")),
        "incident": clean_json(_own_form(incident)) if isinstance(incident, dict) and incident else None,
    }


def _own_form(incident: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(incident.get("alerts"), list) and not isinstance(incident.get("labels"), dict):
        return incident
    # What reads expressions takes a while to load, which an incident in our own form needn't wait for.
    from tools.live.alerts.records import alert_of

    try:
        return alert_of(incident)
    except ValueError:
        return incident


def add_turns(left: Any, right: Any) -> Any:
    """Add messages to a thread as LangGraph does, the user's turns masked whichever door they came through.

    The reducer of `messages`: a command and an edit of the state don't pass the input's own channel.
    """
    given = right if isinstance(right, list | tuple) else [right]
    return add_messages(left, [_masked(turn) if (turn := _user_turn(message)) else message for message in given])


def _masked(turn: HumanMessage) -> HumanMessage:
    return HumanMessage(clean_text(str(turn.text), limit=MAX_QUERY_CHARS), id=_own_id(turn.id))


def _user_turns(messages: Any) -> list[HumanMessage]:
    if messages is None:
        return []
    given = messages if isinstance(messages, list | tuple) else [messages]
    users = [turn for message in given if (turn := _user_turn(message)) is not None][-MAX_TURNS:]
    return [_masked(turn) for turn in users]


def _user_turn(message: Any) -> HumanMessage | None:
    try:
        (turn,) = convert_to_messages([message])
    except (ValueError, TypeError, KeyError, NotImplementedError):
        return None
    return turn if isinstance(turn, HumanMessage) else None


def _own_id(value: str | None) -> str | None:
    """A client's id is kept, so that it knows its turn again; one that says more than an id isn't."""
    is_id = value and _ID.fullmatch(value) and clean_text(value, limit=MAX_ID_CHARS) == value
    return value if is_id else None
