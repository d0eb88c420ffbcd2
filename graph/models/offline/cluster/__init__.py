"""The rules baseline: the offline diagnosis of a Kubernetes cluster, its rules as data."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call

from graph.models.offline.cluster.facts import Case, read_case
from graph.models.offline.cluster.plan import next_question
from graph.models.offline.cluster.report import write_draft
from graph.models.offline.cluster.verdict import judge, picture
from graph.models.offline.questions import Question
from graph.models.offline.transcript import Transcript
from graph.models.offline.wording import language_of

__all__ = ["diagnose_cluster", "is_about_cluster"]

_MARKS = frozenset(("GetResources", "DescribeResource", "CheckNodeServiceStatus"))


def is_about_cluster(tools: Iterable[str], transcript: Transcript) -> bool:
    """Return whether a run is about a cluster: by the names of the bound tools, or, without any, of those asked."""
    bound = set(tools)
    return bool(_MARKS & (bound or {request.tool for request in transcript.requests}))


def diagnose_cluster(transcript: Transcript, tools: Mapping[str, Mapping[str, Any]]) -> AIMessage:
    """Return the next tool call, or the draft. `tools` maps the names of the bound tools to their schemas."""
    vocabulary = _vocabulary(transcript)
    case = _case(transcript)
    verdict = judge(case, vocabulary)
    question = next_question(transcript, case, verdict)
    schema = tools.get(question.tool) if question else None
    if question is None or schema is None:
        return AIMessage(content=write_draft(case, verdict, language_of(transcript.query)))
    call = tool_call(
        name=question.tool,
        args={**_fitted(question, schema), "previous_observation": _previous(transcript, vocabulary)},
        id=f"call_{len(transcript.requests) + 1}",
    )
    return AIMessage(content="", tool_calls=[call])


def _fitted(question: Question, schema: Mapping[str, Any]) -> dict[str, Any]:
    names: Sequence[str] = list(schema.get("properties") or {})
    return {name: question.arguments.get(name) for name in names if name != "previous_observation"}


def _vocabulary(transcript: Transcript) -> Mapping[str, object]:
    given = (transcript.alert or {}).get("vocabulary")
    return given if isinstance(given, Mapping) else {}


def _case(transcript: Transcript, before: str | None = None) -> Case:
    """Return the case as it is known; `before` a call: as it was known without that call and what came after it."""
    observations = transcript.observations
    if before is not None:
        ids = [observation.call_id for observation in observations]
        observations = observations[: ids.index(before)] if before in ids else observations
    namespace = (transcript.alert or {}).get("namespace")
    named = namespace if isinstance(namespace, str) else None
    return read_case(observations, namespace=named, query=transcript.query)


def _previous(transcript: Transcript, vocabulary: Mapping[str, object]) -> dict[str, str] | None:
    if transcript.pending is None:
        return None
    then = picture(_case(transcript, transcript.pending), vocabulary)
    gained = then != picture(_case(transcript), vocabulary)
    return {"tool_call_id": transcript.pending, "information_gain": "GAINED" if gained else "NO_GAIN"}
