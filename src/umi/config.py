"""Settings of one `Memory`, each with its unit in the name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from umi import limits
from umi.errors import InvalidInput
from umi.types import Origin, OriginLike

_BUSY_TIMEOUT_MS_MAX: Final = 2**31 - 1
_FLOAT_MAX: Final = 1.7976931348623157e308  # arithmetic of floats fails with a greater whole number
_VAST: Final = "a vast number"
TRUST_DEFAULT: Final = (Origin.USER, Origin.ASSISTANT)


@dataclass(frozen=True, slots=True)
class Config:
    """How a `Memory` behaves.

    Args:
        cache_bytes_max: Memory that the search indexes of all namespaces may take together. A namespace whose index alone would exceed it
            is searched with a sixth of that in memory, and the rest read from the store.
        busy_timeout_ms: How long a write waits for another process's.
        deadline_s: How long one operation may wait for a language model; what is not done by then is deferred.
        call_timeout_s: How long one call of a model or of a served embedder may take; raise it for a slow local model.
        token_budget: Tokens that models may spend in the life of a `Memory`; None is no bound.
        money_budget: What models may cost in the life of a `Memory`, in the currency of the price; None is no bound.
        act_from: The confidence (0.3..1) from which an update, a correction or an end that is noticed closes the older statement; below it
            is flagged and hides nothing. With 1 nothing closes by itself: `Memory.resolve` decides.
        trust: The origins of messages ("user", "assistant", "tool", "document") whose statements may change what any message said. What
            others say changes only what such others said; where it claims more, the change is flagged, and `Memory.resolve` decides.
        learn: Whether outcomes move rankings; a memory with a provider of signals learns without it. Off, nothing is noted.
        read_url: The address of a replica of a PostgreSQL store. `recall` asks there and says in `RecallReceipt.stale_s` how old what it saw may
            be; where the replica does not answer, it asks the store itself. None asks the store itself always.
        route: Whether Umi's own tasks go to a stronger tier than their own where that one's answers cannot be used; needs models by tier.
        price_per_million: What a million input and a million output tokens cost; a money budget needs it.

    Raises:
        InvalidInput: When a value is not positive or beyond what can be waited for or paid, or a money budget comes without a price.
    """

    cache_bytes_max: int = limits.STORE_CACHE_BYTES_DEFAULT
    busy_timeout_ms: int = limits.STORE_BUSY_TIMEOUT_MS
    deadline_s: float = limits.DEADLINE_S_DEFAULT
    call_timeout_s: float = limits.LLM_CALL_TIMEOUT_S
    token_budget: int | None = None
    money_budget: float | None = None
    price_per_million: tuple[float, float] | None = None
    act_from: float = limits.EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
    trust: Collection[OriginLike] = TRUST_DEFAULT
    learn: bool = False
    route: bool = False
    read_url: str | None = None

    def __post_init__(self) -> None:
        self._require_counts()
        for name, unit in (("deadline_s", "seconds"), ("call_timeout_s", "seconds"), ("money_budget", "money")):
            value = getattr(self, name)
            if not (name == "money_budget" and value is None) and not (_is_number(value) and value > 0):
                raise InvalidInput(f"Config.{name} must be a positive number of {unit}, got {_shown(value)}")
        if not (_is_number(self.act_from) and limits.EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT <= self.act_from <= 1):
            least = limits.EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT
            raise InvalidInput(f"Config.act_from must be a confidence of {least}..1, got {self.act_from!r}")
        for name in ("learn", "route"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"Config.{name} must be True or False, got {getattr(self, name)!r}")
        if not (self.read_url is None or isinstance(self.read_url, str)):
            raise InvalidInput(f"Config.read_url must be an address, got {type(self.read_url).__name__}")
        self._require_origins()
        self._require_price()

    def _require_counts(self) -> None:
        for name in ("cache_bytes_max", "busy_timeout_ms", "token_budget"):
            value = getattr(self, name)
            if name == "token_budget" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(f"Config.{name} must be a positive whole number, got {_shown(value)}")
        if self.busy_timeout_ms > _BUSY_TIMEOUT_MS_MAX:
            raise InvalidInput(
                f"Config.busy_timeout_ms is {_shown(self.busy_timeout_ms)}, a store takes at most {_BUSY_TIMEOUT_MS_MAX}"
            )

    def _require_origins(self) -> None:
        known = ", ".join(Origin)
        if isinstance(self.trust, str) or not isinstance(self.trust, Collection):
            raise InvalidInput(f"Config.trust must be a collection of origins ({known}), got {self.trust!r}")
        for one in self.trust:
            if not isinstance(one, str) or one not in tuple(Origin):
                raise InvalidInput(f"Config.trust must have origins of {known}, got {one!r}")

    def _require_price(self) -> None:
        price = self.price_per_million
        if price is None:
            if self.money_budget is not None:
                raise InvalidInput("Config.money_budget needs price_per_million=(of input, of output) to be enforced")
        elif not (
            isinstance(price, tuple | list) and len(price) == 2 and all(_is_number(one) and one >= 0 for one in price)
        ):
            vast = isinstance(price, tuple | list) and any(_shown(one) == _VAST for one in price)
            got = _VAST if vast else repr(price)
            raise InvalidInput(f"Config.price_per_million must be two numbers, 0 or more, got {got}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _FLOAT_MAX


def _shown(value: object) -> str:
    # Python refuses to write out the longest whole numbers.
    return _VAST if isinstance(value, int) and abs(value) > _FLOAT_MAX else repr(value)
