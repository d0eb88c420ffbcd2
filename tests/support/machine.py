"""What a machine may play: strategies for limits, moves and whole plays."""

import json
from typing import Any

from hypothesis import strategies as st

from tests.support.oracle import Bounds
from tests.support.plays import MODEL_CANARY, SPELLINGS, Call, Move, Play, concluded, draft, observation

EVALUATIONS = (
    "gained",
    "no_gain",
    "chatty",
    "other_id",
    "no_value",
    "null_value",
    "unknown_value",
    "odd_value",
    "absent",
)
ERRORS = (ConnectionError, TimeoutError, ValueError, RuntimeError, KeyError, AssertionError)
ANSWERS = ("evidence", "nothing", "reference", "failure", "bug", "cut", "long")
NOT_A_DRAFT = (
    "",
    " \n ",
    "no draft",
    "{}",
    "[]",
    "null",
    '{"conclusion": 1}',
    '{"conclusion": null, "why": ""}',
    "```",
)

usages = st.one_of(st.just((10, 5)), st.none(), st.tuples(st.integers(0, 400), st.integers(0, 400)))
seconds = st.sampled_from((0.0, 0.0, 0.0, 1.0, 30.0))
junk: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.just([]),
    st.just({}),
    st.just([MODEL_CANARY]),
    st.just({"tool_call_id": None}),
)
call_ids = st.builds(lambda run, call: f"r{run}c{call}", st.integers(1, 2), st.integers(1, 4))


def bounds() -> st.SearchStrategy[Bounds]:
    """Return limits: the defaults, or small ones of any combination."""
    small = st.builds(
        Bounds,
        no_gain=st.integers(1, 4),
        violations=st.integers(1, 4),
        model_calls=st.integers(1, 14),
        tool_calls=st.integers(1, 6),
        tool_requests=st.integers(1, 8),
        tokens=st.sampled_from((1, 40, 200, 60_000)),
        observation_bytes=st.sampled_from((1, 500, 256 * 1024)),
        seconds=st.sampled_from((20.0, 100.0)),
        attempts=st.integers(1, 3),
    )
    roomy = st.builds(Bounds, no_gain=st.integers(1, 4), violations=st.integers(1, 4))
    return st.one_of(st.just(Bounds()), roomy, small)


def tool_calls() -> st.SearchStrategy[Call]:
    """Return tool calls: mostly sound ones, any evaluation, and every way of being wrong."""
    targets = st.sampled_from(tuple(SPELLINGS))
    sound = st.builds(
        Call, tool=st.sampled_from(("probe", "reader")), target=targets, previous=st.sampled_from(("gained", "no_gain"))
    )
    evaluated = st.builds(Call, target=targets, previous=st.one_of(st.sampled_from(EVALUATIONS), junk))
    odd = st.builds(
        Call,
        tool=st.sampled_from(("probe", "reader", "unknown_" + MODEL_CANARY)),
        target=st.one_of(targets, st.sampled_from((None, 7, "senseless"))),
        previous=st.sampled_from(EVALUATIONS),
        parsable=st.booleans(),
        extra=st.sampled_from(((), ("other",), (MODEL_CANARY,))),
    )
    return st.one_of(sound, sound, evaluated, odd)


def asking() -> st.SearchStrategy[Move]:
    """Return moves that request tools, one or several at once, with or without text beside."""
    several = st.one_of(
        tool_calls().map(lambda call: (call,)), st.lists(tool_calls(), min_size=1, max_size=4).map(tuple)
    )
    return st.builds(Move, calls=several, text=st.sampled_from(("", MODEL_CANARY)), usage=usages, seconds=seconds)


def drafts() -> st.SearchStrategy[str]:
    """Return drafts: concluded and not, over good and bad references, and texts that are none."""
    analyses = st.builds(
        observation,
        call_ids,
        st.sampled_from("abc"),
        kind=st.sampled_from(("OBSERVATION", "OBSERVATION", "NEGATIVE_OBSERVATION", "INFERENCE", MODEL_CANARY)),
        analysis_id=st.sampled_from(("o1", "o2", "")),
    )
    found = st.lists(analyses, max_size=3)
    missing = st.lists(st.sampled_from(("service", "time", MODEL_CANARY)), max_size=2).map(tuple)
    empty = st.builds(draft, st.none(), found, missing=missing)
    whole = st.builds(lambda target, parts: concluded(target, *parts), st.sampled_from("ab"), found)
    fenced = whole.map(lambda body: f"```json\n{body}\n```")
    return st.one_of(empty, whole, whole, fenced, st.sampled_from(NOT_A_DRAFT))


def drafting() -> st.SearchStrategy[Move]:
    """Return moves that hand over a draft."""
    return st.builds(Move, text=drafts(), usage=usages, seconds=seconds)


def failing() -> st.SearchStrategy[Move]:
    """Return moves that are no usable reply: a client's exception, a reply cut short."""
    raised = st.builds(Move, error=st.sampled_from(ERRORS), seconds=seconds)
    cut = st.builds(Move, text=st.just(MODEL_CANARY), cut=st.just(True), usage=usages)
    return st.one_of(raised, cut)


def _speaking(*texts: str) -> st.SearchStrategy[tuple[Move, ...]]:
    spoken = st.builds(Move, text=st.sampled_from(texts), usage=usages)
    return st.lists(st.one_of(spoken, spoken, spoken, failing()), min_size=1, max_size=2).map(tuple)


def _route(kind: str) -> str:
    return json.dumps({"route": kind, "context": {"service": "a"}})


def plays() -> st.SearchStrategy[Play]:
    """Return whole plays: arbitrary ones, and some that begin as a sound run would."""
    move = st.one_of(asking(), asking(), asking(), asking(), drafting(), failing())
    arbitrary = st.lists(move, min_size=1, max_size=8).map(tuple)
    verdicts = [json.dumps({"verdict": word, "reason": MODEL_CANARY}) for word in ("SUPPORTED", "UNSUPPORTED")]
    scripts = st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=3).map(tuple)
    return st.builds(
        Play,
        diagnosis=st.one_of(arbitrary, steady(), sound()),
        router=_speaking(_route("diagnosis"), _route("diagnosis"), _route("other"), "no route"),
        evidence_repair=st.lists(st.one_of(drafting(), drafting(), failing()), min_size=1, max_size=2).map(tuple),
        semantic_guard=_speaking(verdicts[0], verdicts[0], verdicts[1], MODEL_CANARY),
        answers=st.dictionaries(st.sampled_from("abcde"), scripts, max_size=3),
        incident=st.sampled_from((True, True, True, False)),
    )


def steady() -> st.SearchStrategy[tuple[Move, ...]]:
    """Return moves that keep asking, one sound call at a time, of few targets or many."""
    evaluation = st.sampled_from(("gained", "no_gain", "gained", "no_gain", "unknown_value"))

    def asked_of(targets: str) -> st.SearchStrategy[list[Move]]:
        call = st.builds(
            Call, tool=st.sampled_from(("probe", "reader")), target=st.sampled_from(targets), previous=evaluation
        )
        return st.lists(call.map(lambda made: Move(calls=(made,))), min_size=4, max_size=10)

    return st.one_of(asked_of("a"), asked_of("abcde")).flatmap(lambda moves: drafting().map(lambda d: (*moves, d)))


def sound() -> st.SearchStrategy[tuple[Move, ...]]:
    """Return moves that ask for `a`, perhaps more, and conclude from the first answer of the thread's first run."""
    first = Move(calls=(Call(target="a"),))
    last = Move(text=concluded("a", observation("r1c1", "a")))
    return st.lists(asking(), max_size=2).map(lambda between: (first, *between, last))
