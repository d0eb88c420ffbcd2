"""Evidence tools: what Zhizhi asks, and the sources that answer."""

from tools.base import EvidenceTool, IncidentContext
from tools.evidence import ChangeRef, Evidence, Scope, SourceFailure

__all__ = ["ChangeRef", "Evidence", "EvidenceTool", "IncidentContext", "Scope", "SourceFailure"]
