"""The embedded offline models: used where no endpoint is configured, and where one is away."""

from langchain_core.language_models import BaseChatModel

from graph.contract.vocabulary import ModelComponent
from graph.models.offline.chat import OFFLINE_MODEL_NAME, OfflineChatModel
from graph.models.offline.diagnostician import OfflineDiagnostician
from graph.models.offline.repair import OfflineEvidenceRepair
from graph.models.offline.router import OfflineRouter
from graph.models.offline.semantic import OfflineSemanticGuard

__all__ = [
    "OFFLINE_MODEL_NAME",
    "OfflineChatModel",
    "OfflineDiagnostician",
    "OfflineEvidenceRepair",
    "OfflineRouter",
    "OfflineSemanticGuard",
    "offline_models",
]


def offline_models() -> dict[ModelComponent, BaseChatModel]:
    """Return the embedded model of each component; none of them asks anything of the network."""
    return {
        ModelComponent.ROUTER: OfflineRouter(),
        ModelComponent.DIAGNOSIS: OfflineDiagnostician(),
        ModelComponent.EVIDENCE_REPAIR: OfflineEvidenceRepair(),
        ModelComponent.SEMANTIC_GUARD: OfflineSemanticGuard(),
    }
