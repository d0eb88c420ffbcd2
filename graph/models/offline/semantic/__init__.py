"""The offline semantic guard: a second reader of a draft that shares no code with its author."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from graph.models.offline.chat import OfflineChatModel
from graph.models.offline.semantic.cluster import cluster_objection, is_about_cluster
from graph.models.offline.semantic.judging import objection
from graph.models.offline.semantic.reading import read_world

__all__ = ["OfflineSemanticGuard"]


class OfflineSemanticGuard(OfflineChatModel):
    """Says SUPPORTED where every claim of a draft follows from its evidence, and UNSUPPORTED where it can't judge."""

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        """Return `{"verdict", "reason"}` for the `{"draft", "evidence"}` of the last message."""
        try:
            body = json.loads(str(messages[-1].content))
            draft, evidence = body["draft"], body["evidence"]
            if is_about_cluster(evidence):
                reason = cluster_objection(draft, evidence)
            else:
                reason = objection(draft, read_world(evidence))
        except (ValueError, KeyError, TypeError, AttributeError):
            reason = "the draft or its evidence can not be read"
        verdict = "UNSUPPORTED" if reason else "SUPPORTED"
        return AIMessage(content=json.dumps({"verdict": verdict, "reason": reason or "every claim follows"}))
