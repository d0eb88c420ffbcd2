"""The bundled incidents that `zhizhi demo` diagnoses, and one line on what each shows."""

from dataclasses import dataclass
from pathlib import Path

from app.inputs import BadInput, Question, read_question
from app.words import Locale

INCIDENTS = Path(__file__).resolve().parent.parent / "examples" / "incidents"


@dataclass(frozen=True)
class Scene:
    """One incident of the demo: its directory's name, and by language what is asked and what it shows."""

    incident: str
    query: dict[Locale, str]
    shows: dict[Locale, str]

    @property
    def directory(self) -> Path:
        """The incident's directory, in short where it lies below the current one: queries to paste name it."""
        directory = INCIDENTS / self.incident
        here = Path.cwd()
        return directory.relative_to(here) if directory.is_relative_to(here) else directory

    def question(self, locale: Locale) -> Question:
        """Return the question to diagnose; raises BadInput where the incident isn't there."""
        if not INCIDENTS.is_dir():
            raise BadInput("the bundled incidents lie in the source checkout (examples/incidents), and this isn't one")
        return read_question(self.query[locale], self.directory, locale)


_QUERY: dict[Locale, str] = {
    "zh": "支付大量超时，是什么原因？",
    "en": "payments are timing out, what is the cause?",
}

SCENES = (
    Scene(
        "payment-timeout",
        _QUERY,
        {
            "zh": "演示 1/2：证据完整。能证明根因，每一句都带出处，并说明排除了什么、为什么。",
            "en": "Demo 1/2: the evidence is whole. The cause is proven, each sentence with its source, and what was "
            "ruled out and why.",
        },
    ),
    Scene(
        "payment-timeout-no-changes",
        _QUERY,
        {
            "zh": "演示 2/2：同一事件，去掉了变更记录。证据不足就不下结论：查了什么、还缺什么、可粘贴的查询。",
            "en": "Demo 2/2: the same incident without its change records. No proof, no verdict: what was checked, "
            "what is missing, and the query to paste.",
        },
    ),
)
