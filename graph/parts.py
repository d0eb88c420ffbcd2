"""What the nodes of one graph share: models, tools, settings, clock and the store of last resort."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from graph.contract.vocabulary import ModelComponent
from graph.ledger import Checked, Ledger
from graph.settings import DiagnosisContext, HarnessSettings
from graph.state import DiagnosisState
from graph.views import keys_of
from tools.base import EvidenceTool

Models = Mapping[ModelComponent, BaseChatModel]


def utc_now() -> datetime:
    """Return the clock's time, aware, UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Parts:
    """The parts of a graph. `offline` takes over where `models` are away; `own_store` serves where there is no other.

    `model_names` is what a Release says of who diagnosed, by component.
    """

    models: Models
    model_names: Mapping[ModelComponent, str]
    offline: Models
    offline_name: str
    tools: Mapping[str, EvidenceTool]
    settings: HarnessSettings
    own_store: BaseStore
    clock: Callable[[], datetime] = utc_now

    def now(self) -> float:
        """Return the clock's time in POSIX seconds."""
        return self.clock().timestamp()

    def model(self, component: ModelComponent, state: DiagnosisState) -> BaseChatModel:
        """Return the model that serves a component in this run."""
        return (self.offline if state.get("handed_over") else self.models)[component]

    async def checked(self, state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> dict[str, Checked]:
        """Return what checking each of the run's canonical records gives now, by call id; nothing is raised."""
        return await self.ledger(state, runtime).verified(keys_of(state), now=self.now())

    def ledger(self, state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Ledger:
        """Return the run's ledger on the runtime's store, or on the graph's own where the runtime has none."""
        return Ledger(runtime.store or self.own_store, state["run_id"])
