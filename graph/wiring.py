"""The diagnosis graph: wiring, and nothing but wiring. `build_graph` wires a graph from its parts.

`docs/graph.md` holds its drawing.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.graph import StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from graph.editing import EditableGraph
from graph.intake import InputDoor
from graph.models.offline import OFFLINE_MODEL_NAME, offline_models
from graph.models.registry import GivenModels, choose_models
from graph.nodes.classify import make_classify
from graph.nodes.close_collection import make_close_collection
from graph.nodes.diagnose import make_diagnose
from graph.nodes.evaluate_gain import make_evaluate_gain
from graph.nodes.evidence_guard import make_evidence_guard
from graph.nodes.evidence_repair import make_evidence_repair
from graph.nodes.open_run import make_open_run
from graph.nodes.release import make_release
from graph.nodes.safe_fallback import make_safe_fallback
from graph.nodes.semantic_guard import make_semantic_guard
from graph.nodes.tool_gate import make_tool_gate
from graph.parts import Parts
from graph.setting_errors import SettingsError
from graph.settings import DiagnosisContext, HarnessSettings, load_settings
from graph.state import DiagnosisInput, DiagnosisOutput, DiagnosisState
from tools.base import EvidenceTool
from tools.frozen import frozen_tools
from tools.live.registry import open_evidence

DiagnosisBuilder = StateGraph[DiagnosisState, DiagnosisContext, DiagnosisInput, DiagnosisOutput]
TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""What providers take as a tool's name, and a trace keeps."""

DiagnosisGraph = EditableGraph[DiagnosisState, DiagnosisContext, DiagnosisInput, DiagnosisOutput]


NODES: tuple[tuple[str, Callable[[Parts], Any], dict[str, str] | None], ...] = (
    ("open_run", make_open_run, None),
    ("classify", make_classify, {"diagnose": "diagnosis", "safe_fallback": "other / no query"}),
    (
        "diagnose",
        make_diagnose,
        {
            "tool_gate": "tool request",
            "close_collection": "draft / budget / recursion limit / model away",
        },
    ),
    (
        "tool_gate",
        make_tool_gate,
        {
            "evaluate_gain": "ran: READY / ERROR",
            "diagnose": "rejected: protocol, duplicate, arguments, unsupported, parallel / STOP_REQUIRED",
            "close_collection": "controlled stop / budget",
        },
    ),
    (
        "evaluate_gain",
        make_evaluate_gain,
        {"diagnose": "NO_GAIN by rule / pending / error", "close_collection": "internal error"},
    ),
    (
        "close_collection",
        make_close_collection,
        {
            "evidence_guard": "concluded draft",
            "safe_fallback": "no conclusion / unreadable / stopped / failed",
        },
    ),
    (
        "evidence_guard",
        make_evidence_guard,
        {"semantic_guard": "passed", "evidence_repair": "refused once", "safe_fallback": "refused twice"},
    ),
    (
        "evidence_repair",
        make_evidence_repair,
        {
            "evidence_guard": "repaired",
            "safe_fallback": "no conclusion / unparsable / unaffordable / model away",
        },
    ),
    (
        "semantic_guard",
        make_semantic_guard,
        {"release": "SUPPORTED", "safe_fallback": "UNSUPPORTED / unavailable"},
    ),
    ("safe_fallback", make_safe_fallback, {"release": "fallback"}),
    ("release", make_release, None),
)
"""Each node, how it is made, and where it may send a run, with the causes as the drawing says them."""


def build_graph(
    *,
    models: GivenModels | None = None,
    tools: Sequence[EvidenceTool] | None = None,
    settings: HarnessSettings | None = None,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    store: BaseStore | None = None,
) -> DiagnosisGraph:
    """Wire and compile the diagnosis graph.

    `models`: one chat model for all components, or a mapping by `router, diagnosis, evidence_repair, semantic_guard`;
    None for the configured endpoint, or the offline models where none is configured. `tools`: None for those of the
    configured incident directory. `store`: None for the runtime's, or one in memory. Raises SettingsError for invalid
    settings, ValueError for an unknown component, two tools of one name, or a name that no provider takes.
    """
    return wire(_parts(models, tools, settings or load_settings()), checkpointer=checkpointer, store=store)


def wire(
    parts: Parts, *, checkpointer: BaseCheckpointSaver[str] | None = None, store: BaseStore | None = None
) -> DiagnosisGraph:
    """Return the compiled graph over `parts`."""
    return compile_graph(lay_out(parts), checkpointer=checkpointer, store=store)


def lay_out(parts: Parts) -> DiagnosisBuilder:
    """Return the graph over `parts` before it's compiled: what compares designs may put another node in one's place."""
    builder = StateGraph(DiagnosisState, DiagnosisContext, input_schema=DiagnosisInput, output_schema=DiagnosisOutput)
    for name, make, ways in NODES:
        builder.add_node(name, make(parts), destinations=ways)
    builder.add_edge(START, "open_run")
    return builder


def compile_graph(
    builder: DiagnosisBuilder,
    *,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    store: BaseStore | None = None,
) -> DiagnosisGraph:
    """Return the compiled graph, with the door that checks its input; its state can be edited in Studio."""
    compiled = EditableGraph.of(builder.compile(checkpointer=checkpointer, store=store, name="diagnosis"))
    compiled.channels[START] = InputDoor(DiagnosisInput)
    return compiled


def _parts(models: GivenModels | None, tools: Sequence[EvidenceTool] | None, settings: HarnessSettings) -> Parts:
    chosen, names = choose_models(models, settings)
    if tools is None:
        tools = _configured_tools(settings)
    by_name = {tool.name: tool for tool in tools}
    if len(by_name) != len(tools):
        raise ValueError("two tools share one name")
    if unfit := [name for name in by_name if not TOOL_NAME.fullmatch(name)]:
        raise ValueError(f"tool name {unfit[0]!r}: expected letters, digits, '_', '-' or '.', at most 64")
    return Parts(
        models=chosen,
        model_names=names,
        offline=offline_models(),
        offline_name=OFFLINE_MODEL_NAME,
        tools=by_name,
        settings=settings,
        own_store=InMemoryStore(),
    )


def _configured_tools(settings: HarnessSettings) -> tuple[EvidenceTool, ...]:
    """Return the tools of the configured live sources, which stay open, or without any those of the incident.

    Raises SettingsError where two sources can't stand beside each other.
    """
    if incident := settings.frozen_incident():
        return frozen_tools(incident)
    try:
        return open_evidence(settings.sources).tools
    except ValueError as error:
        line = f"invalid sources: {error}"
    raise SettingsError(line)
