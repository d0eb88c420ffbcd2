"""Evidence tools: what Zhizhi asks, and the sources that answer."""

from tools.adapters import evidence_tool_from
from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.vocabulary import ChangeRef, Evidence, Scope

__all__ = [
    "Arguments",
    "ChangeRef",
    "Evidence",
    "EvidenceTool",
    "IncidentContext",
    "Scope",
    "SourceFailure",
    "evidence_tool_from",
]
