"""The embedded offline models: used where no endpoint is configured, and where one is away."""

from graph.models.offline.chat import OFFLINE_MODEL_NAME, OfflineChatModel
from graph.models.offline.diagnostician import OfflineDiagnostician
from graph.models.offline.repair import OfflineEvidenceRepair
from graph.models.offline.router import OfflineRouter

__all__ = [
    "OFFLINE_MODEL_NAME",
    "OfflineChatModel",
    "OfflineDiagnostician",
    "OfflineEvidenceRepair",
    "OfflineRouter",
]
