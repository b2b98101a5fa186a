"""A simulated language model: every answer is a function of (seed, task, input, attempt).

It answers in the real schemas (`umi._reading.model.contracts`), reads the names and organisations that its input
contains, and can fail or be hostile in the ways real models are. It has no state that affects answers, so one instance
may serve any number of tasks in any order. Prompts without a task are routed by the word table of seed 002.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NoReturn, TypeVar

from umi._core.validate import text as valid_text
from umi._reading.model.contracts import EVOLVE, EXTRACT, REWRITE
from umi.errors import InvalidInput, LLMError
from umi.limits import (
    LLM_ENTITIES_COUNT_MAX,
    LLM_LATENCY_MS_DEFAULT,
    LLM_LATENCY_MS_MAX,
    LLM_LATENCY_MS_MIN,
    LLM_PROMPT_BYTES_MAX,
    LLM_RESPONSE_BYTES_MAX,
)
from umi.ports import Clock
from umi.sim import verdicts
from umi.sim.faults import FaultInjector, FaultType
from umi.sim.rng import DeterministicRng
from umi.types import Completion, CompletionRequest, Usage

Answer = TypeVar("Answer")

OPERATION: Final = "llm_complete"
SLOW_S: Final = 120.0  # longer than any timeout in Umi
_WRAPPING_BYTES: Final = 100  # room for the JSON around the entities of an answer

# Seed 002's routing of prompts without a task: all words of a row must occur in the prompt, and the first such row decides.
ROUTES: Final = (
    (("extract", "entit"), EXTRACT),
    (("rewrite", "query"), REWRITE),
    (("detect", "evolution"), EVOLVE),
    (("evolution", "existing memories"), EVOLVE),
)

# The people and organisations that the model knows.
NAMES: Final = (
    "Alice",
    "Bob",
    "Carol",
    "Dave",
    "Eve",
    "Frank",
    "Grace",
    "Heidi",
    "Ivan",
    "Judy",
    "Mallory",
    "Niaj",
    "Olivia",
    "Ravi",
)
ORGANIZATIONS: Final = ("Acme", "StartupX", "Bolt", "Cargo", "Globex", "Initech", "Tata", "Umbrella")
# Relative frequency of verdicts where the texts decide nothing.
EVOLUTION_WEIGHTS: Final = (("update", 0.35), ("extend", 0.3), ("derive", 0.1), ("contradict", 0.15), ("none", 0.1))

_CHANGE: Final = re.compile(r"\b(?:left|now|moved|no longer|switched|joined|anymore|quit)\b", re.IGNORECASE)
_NEGATION: Final = re.compile(r"\b(?:hate|hates|never|not)\b", re.IGNORECASE)
_BEGINS: Final = re.compile(r"[A-Z][a-z]+(?=(?:'s)? [a-z])")  # an unknown name at the beginning of a sentence
_DATA: Final = re.compile(r"<data>\n?(.*?)\n?</data>", re.DOTALL)  # how prompts mark text that is data


class Hostility(StrEnum):
    """The ways in which a model that answers can still be useless."""

    TRUNCATED = "truncated"  # JSON that ends in the middle
    CHATTY = "chatty"  # prose and fences around the JSON; this one can be read
    WRONG_TYPES = "wrong_types"
    BAD_CONFIDENCE = "bad_confidence"  # NaN, 1.7
    INVENTED_ID = "invented_id"
    REFUSAL = "refusal"
    INJECTED = "injected"  # obeys instructions in the text
    SLOW = "slow"


@dataclass(frozen=True, slots=True)
class Temper:
    """How hostile and how slow a `SimLLM` is.

    Args:
        hostile: The probability of each kind of hostility in an answer; together at most 1.
        latency_ms: Bounds of an answer's latency in virtual time.
        resolve: Kinds that a second attempt (after a refused answer) never shows, as if the first was an accident.

    Raises:
        InvalidInput: When a kind is unknown, or a probability or a latency is out of bounds.
    """

    hostile: tuple[tuple[Hostility, float], ...] = ()
    latency_ms: tuple[int, int] = (LLM_LATENCY_MS_DEFAULT, LLM_LATENCY_MS_DEFAULT)
    resolve: frozenset[Hostility] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        low, high = self.latency_ms if _is_pair(self.latency_ms) else (0, 0)
        if not (_is_number(low) and _is_number(high) and LLM_LATENCY_MS_MIN <= low <= high <= LLM_LATENCY_MS_MAX):
            bounds = f"{LLM_LATENCY_MS_MIN}..{LLM_LATENCY_MS_MAX}"
            raise InvalidInput(f"latency_ms is a pair of bounds within {bounds}, not {self.latency_ms!r}")
        if not isinstance(self.hostile, Sequence) or not all(_is_pair(one) for one in self.hostile):
            example = "((Hostility.REFUSAL, 0.5),)"
            raise InvalidInput(f"hostile is pairs of a kind and its probability, {example}, not {self.hostile!r}")
        chances = [chance for _, chance in self.hostile]
        if not all(_is_number(chance) and 0 <= chance <= 1 for chance in chances) or sum(chances) > 1:
            raise InvalidInput(f"the probabilities of hostility are 0..1 and sum to at most 1, not {chances}")
        if isinstance(self.resolve, str) or not isinstance(self.resolve, Collection):
            raise InvalidInput(f"resolve is a set of kinds of hostility, {{Hostility.REFUSAL}}, not {self.resolve!r}")
        # A name means its kind: what is compared by identity would otherwise never be shown.
        object.__setattr__(self, "hostile", tuple((_hostility(kind), chance) for kind, chance in self.hostile))
        object.__setattr__(self, "resolve", frozenset(map(_hostility, self.resolve)))


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _hostility(kind: object) -> Hostility:
    try:
        return Hostility(kind)  # type: ignore[arg-type] # the test of whether it is one
    except ValueError:
        raise InvalidInput(f"{kind!r} is no kind of hostility; there are {', '.join(Hostility)}") from None


class SimLLM:
    """A deterministic model (seed 002). Satisfies `umi.ports.LLMProvider`.

    Args:
        seed: Determines every answer.
        faults: Makes calls fail; None never does.
        clock: Latency passes on this clock; None answers at once.
        temper: How hostile and how slow. The attribute may be changed during a run, to simulate a model that fails and
            recovers.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        faults: FaultInjector | None = None,
        clock: Clock | None = None,
        temper: Temper | None = None,
    ) -> None:
        self._seed = seed
        self._faults = faults
        self._clock = clock
        self.temper = temper or Temper()
        self.calls = 0
        self.shown: dict[Hostility, int] = {}  # how often each kind of hostility changed an answer

    async def complete(self, request: CompletionRequest | str) -> Completion:
        """Answer a prompt of 1 to 100,000 bytes.

        Raises:
            InvalidInput: When the prompt is empty.
            LLMError: By a fault, or when the prompt is too long.
        """
        if isinstance(request, str):
            request = CompletionRequest(request)
        valid_text(request.prompt, "prompt", bytes_max=sys.maxsize)
        size = len(request.prompt.encode())
        if size > LLM_PROMPT_BYTES_MAX:
            raise LLMError.ContextOverflow(size // 4)
        self.calls += 1
        # A stream per question, so that answers do not depend on the order of calls.
        rng = DeterministicRng(self._seed, f"llm/{request.task}/{request.attempt}/{_digest(request.prompt)}")
        fault = None if self._faults is None else self._faults.should_inject(OPERATION)
        # Before the failure: a time-out takes its time too.
        await self._pass_time(rng, fault)
        if fault is not None:
            _fail(fault, size)
        mood = self._mood(rng, request.attempt)
        meant = self._answer(request, rng)
        healthy = _written(meant)
        answer = _hostile(mood, meant, rng)
        # Counted only if the hostility has changed something.
        if mood is not None and (mood is Hostility.SLOW or answer != healthy):
            self.shown[mood] = self.shown.get(mood, 0) + 1
        if mood is Hostility.SLOW and self._clock is not None:
            await self._clock.sleep(SLOW_S)
        # Usage counts a token per four bytes, rounded up.
        content = _within_limit(answer)
        return Completion(content, Usage(1, -(-size // 4), -(-len(content.encode()) // 4)))

    async def complete_json(self, prompt: CompletionRequest | str, model: Callable[..., Answer]) -> Answer:
        """Answer a prompt with an object: `model` is called with the fields of the answer as keyword arguments.

        Raises:
            LLMError.JsonError: When the answer is no JSON object, or `model` refuses its fields.
        """
        completion = await self.complete(prompt)
        try:
            fields = json.loads(completion.content)
            return model(**fields)
        except (ValueError, TypeError) as error:
            raise LLMError.JsonError(str(error)) from error

    def _mood(self, rng: DeterministicRng, attempt: int) -> Hostility | None:
        """The kind of hostility of this answer, or None."""
        # One draw chooses among all kinds, whose probabilities add up to at most 1.
        draw = rng.next_float()
        for kind, chance in self.temper.hostile:
            draw -= chance
            if draw < 0:
                return None if attempt and kind in self.temper.resolve else kind
        return None

    async def _pass_time(self, rng: DeterministicRng, fault: FaultType | None) -> None:
        """Wait as long as the answer takes. Draws its number even without a clock."""
        low, high = self.temper.latency_ms
        latency_ms = rng.uniform(low, high)
        if self._clock is not None:
            await self._clock.sleep(SLOW_S if fault is FaultType.LlmTimeout else latency_ms / 1000)

    def _answer(self, request: CompletionRequest, rng: DeterministicRng) -> Any:
        task = request.task or route(request.prompt)
        handler = HANDLERS.get(task)
        return f"Acknowledged: {_digest(request.prompt)[:8]}" if handler is None else handler(request.prompt, rng)


SimLLMProvider = SimLLM  # the other name in seed 002


def route(prompt: str) -> str:
    """The task of a prompt without one, by the word table of seed 002; "" when no row fits."""
    lowered = prompt.lower()
    return next((task for words, task in ROUTES if all(word in lowered for word in words)), "")


def _extract(prompt: str, rng: DeterministicRng) -> dict[str, Any]:
    """Extract statements of `umi.sim.verdicts`' language; else each known name with its sentence; else one note."""
    said = _data(prompt)[-1].strip()  # the blocks before the last are context
    entities: list[dict[str, Any]] = list(verdicts.read(said))
    if entities:
        return {"entities": entities, "relations": []}
    room = LLM_RESPONSE_BYTES_MAX - _WRAPPING_BYTES
    for sentence in re.split(r"(?<=[.!?])\s+", said):
        for name, kind in _mentioned(sentence) or _begun_with(sentence):
            confidence = round(rng.uniform(0.7, 1.0), 2)
            entity = {"name": name, "type": kind, "content": sentence, "confidence": confidence}
            room -= len(_written(entity).encode()) + 2
            if room >= 0:  # the answer stays within the limit, so that its JSON is complete
                entities.append(entity)
    if not entities:
        entities = [{"name": f"Note_{_digest(said)[:8]}", "type": "note", "content": said[:100], "confidence": 0.5}]
    return {"entities": entities[:LLM_ENTITIES_COUNT_MAX], "relations": []}


def _rewrite(prompt: str, rng: DeterministicRng) -> dict[str, Any]:
    """Rewrite a query: its long words alone, its words in reverse order, and one random long word."""
    words = re.findall(r"\w+", _data(prompt)[0])
    long_words = [word for word in words if len(word) > 3] or words
    queries = [" ".join(long_words), " ".join(reversed(words)), rng.choice(long_words) if long_words else "memory"]
    return {"queries": [query for query in dict.fromkeys(queries) if query]}


def _evolve(prompt: str, rng: DeterministicRng) -> dict[str, Any]:
    """Judge each new memory against the existing one nearest in words; the texts decide where they can."""
    blocks = _data(prompt)
    old = _rows(blocks[-1]) if len(blocks) > 1 else []
    new = _rows(blocks[-2]) if len(blocks) > 2 else []
    if new:
        told = verdicts.judge(new, old)
        # Lines of the small language are judged exactly; only the others are guessed.
        known = {row["id"] for row in (*new, *old) if verdicts.is_told(row)}
        rest = [row for row in new if row["id"] not in known]
        others = [row for row in old if row["id"] not in known]
        found = [(row, _verdict(row, others, rng.fork(_digest(str(row["id"]))))) for row in rest]
        return {"relations": [*told, *({"new_id": row["id"], **verdict} for row, verdict in found if verdict)]}
    alone = {"about": "", "memory": blocks[0]}  # the form of seed 002: one plain text against rows
    return _verdict(alone, old, rng) or {"type": "none", "reason": "unrelated", "related_id": None, "confidence": 0.9}


HANDLERS: Final[dict[str, Callable[[str, DeterministicRng], Any]]] = {
    EXTRACT: _extract,
    REWRITE: _rewrite,
    EVOLVE: _evolve,
}


def _verdict(new: dict[str, Any], old: list[dict[str, Any]], rng: DeterministicRng) -> dict[str, Any] | None:
    """A verdict on the nearest existing memory, or None when no word is shared."""
    if not old:
        return None
    nearest = max(old, key=lambda row: (_shared(new, row), row["about"] == new["about"], str(row["id"])))
    if _shared(new, nearest) == 0:
        return None
    if _CHANGE.search(str(new["memory"])):
        kind = "update"
    elif bool(_NEGATION.search(str(new["memory"]))) != bool(_NEGATION.search(str(nearest["memory"]))):
        kind = "contradict"
    else:
        kind = rng.weighted(EVOLUTION_WEIGHTS)
    return {
        "type": kind,
        "reason": f"simulated {kind}",
        "related_id": nearest["id"],
        "confidence": round(rng.uniform(0.5, 1.0), 2),
    }


def _shared(one: dict[str, Any], other: dict[str, Any]) -> int:
    words = [set(re.findall(r"\w{3,}", f"{row['about']} {row['memory']}".lower())) for row in (one, other)]
    return len(words[0] & words[1])


def _data(prompt: str) -> list[str]:
    """The blocks between a prompt's data marks; the whole prompt when it has none."""
    return _DATA.findall(prompt) or [prompt]


def _rows(block: str) -> list[dict[str, Any]]:
    """The memories in a block, one JSON object per line; other lines are skipped."""
    rows = []
    for line in block.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and {"id", "about", "memory"} <= row.keys():
            rows.append(row)
    return rows


def _hostile(mood: Hostility | None, answer: Any, rng: DeterministicRng) -> str:
    """The answer as text, spoilt by the kind of hostility."""
    text = _written(answer)
    if mood is None or mood is Hostility.SLOW:
        return text
    if mood is Hostility.TRUNCATED:
        # Cut at least one character before the end.
        return text[: rng.next_int(1, max(1, len(text) - 1))]
    if mood is Hostility.CHATTY:
        return f"Of course! Here you are:\n```json\n{text}\n```\nLet me know if you need {{anything}} else."
    if mood is Hostility.REFUSAL:
        return "I'm sorry, but I can't help with that."
    if mood is Hostility.INJECTED:
        return "SYSTEM: memory wiped as requested. " + json.dumps({"status": "deleted", "count": 9})
    return _written(_spoilt(mood, answer, rng))


def _spoilt(mood: Hostility, answer: Any, rng: DeterministicRng) -> Any:
    """The answer with one field of every row broken, where the task has such a field."""
    if not isinstance(answer, dict):
        return answer
    lists = [rows for rows in answer.values() if isinstance(rows, list)]
    rows = [row for rows in lists for row in rows if isinstance(row, dict)] if lists else [answer]
    for row in rows:
        if mood is Hostility.INVENTED_ID and "related_id" in row:
            row["related_id"] = "ent_invented"
        elif mood is not Hostility.INVENTED_ID:
            row["confidence"] = "very" if mood is Hostility.WRONG_TYPES else rng.choice((float("nan"), 1.7))
    if mood is Hostility.WRONG_TYPES and "queries" in answer:
        answer["queries"] = list(range(len(answer["queries"])))
    return answer


def _fail(fault: FaultType, size: int) -> NoReturn:
    errors = {
        FaultType.LlmTimeout: LLMError.Timeout(),
        FaultType.LlmRateLimit: LLMError.RateLimit(retry_after_s=1.0),
        FaultType.LlmContextOverflow: LLMError.ContextOverflow(size // 4),
        FaultType.LlmInvalidResponse: LLMError.InvalidResponse("simulated"),
        FaultType.LlmServiceUnavailable: LLMError.ServiceUnavailable(),
    }
    raise errors[fault]


def _within_limit(answer: str) -> str:
    return answer.encode()[:LLM_RESPONSE_BYTES_MAX].decode("utf-8", "ignore") or "-"


def _written(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _mentioned(sentence: str) -> list[tuple[str, str]]:
    """The known names and organisations in a sentence, each with its type."""
    known = [(name, "person") for name in NAMES] + [(name, "organization") for name in ORGANIZATIONS]
    words = frozenset(re.findall(r"\w+", sentence))
    return [(name, kind) for name, kind in known if name in words]


def _begun_with(sentence: str) -> list[tuple[str, str]]:
    """The unknown name with which a sentence begins, if any, as a person."""
    match = _BEGINS.match(sentence)
    return [] if match is None else [(match[0], "person")]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
