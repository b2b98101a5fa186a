"""Faults: what can fail, in which operations, and how often, drawn from a seed.

A fault belongs to the operations in which it can happen in reality (`OPERATIONS`). Registering it for another operation
is an error, so that no run claims to have tested something impossible. Each pair of operation and registered fault
draws from a stream of its own. So removing one fault from a run does not move the others, which makes failures
shrinkable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from umi._core.invariants import check
from umi.sim.errors import InvalidFault
from umi.sim.rng import DeterministicRng


class FaultType(StrEnum):
    """The kinds of faults, named as in the seeds."""

    # A model's provider refuses or fails.
    LlmTimeout = "LlmTimeout"
    LlmRateLimit = "LlmRateLimit"
    LlmContextOverflow = "LlmContextOverflow"
    LlmInvalidResponse = "LlmInvalidResponse"
    LlmServiceUnavailable = "LlmServiceUnavailable"
    # An embedder fails, is slow, or answers badly.
    EmbeddingFail = "EmbeddingFail"
    EmbeddingTimeout = "EmbeddingTimeout"
    EmbeddingRateLimit = "EmbeddingRateLimit"
    EmbeddingUnavailable = "EmbeddingUnavailable"
    EmbeddingSlow = "EmbeddingSlow"
    EmbeddingWrongDimensions = "EmbeddingWrongDimensions"
    EmbeddingNotFinite = "EmbeddingNotFinite"
    # A backend of vectors fails.
    VectorSearchFail = "VectorSearchFail"
    VectorSearchTimeout = "VectorSearchTimeout"
    VectorStoreFail = "VectorStoreFail"
    # A disk, or the store on it, fails; what each does to a disk is in umi.sim.disk.
    StorageReadFail = "StorageReadFail"
    StorageWriteFail = "StorageWriteFail"
    StorageSyncFail = "StorageSyncFail"
    StorageFull = "StorageFull"
    StorageSlow = "StorageSlow"
    StorageCorrupt = "StorageCorrupt"
    PowerCut = "PowerCut"
    TornWrite = "TornWrite"
    LostWrite = "LostWrite"
    # The network to a server fails.
    NetworkRefused = "NetworkRefused"
    NetworkReset = "NetworkReset"
    NetworkTimeout = "NetworkTimeout"
    NetworkSlow = "NetworkSlow"


_LLM: Final = ("llm_complete",)
_EMBED: Final = ("embed", "embed_many")
_EMBEDDER: Final = (*_EMBED, "read_answers")
_READ: Final = ("storage_read", "disk_read")
_WRITE: Final = ("storage_write", "disk_write")
_NETWORK: Final = ("network_request",)

# The operations in which each fault can happen. `storage_*` and `vector_*` are calls of a store's port, `disk_*` are SQLite's
# calls of the disk.
OPERATIONS: Final[Mapping[FaultType, tuple[str, ...]]] = {
    FaultType.LlmTimeout: _LLM,
    FaultType.LlmRateLimit: _LLM,
    FaultType.LlmContextOverflow: _LLM,
    FaultType.LlmInvalidResponse: _LLM,
    FaultType.LlmServiceUnavailable: _LLM,
    FaultType.EmbeddingFail: _EMBEDDER,
    FaultType.EmbeddingTimeout: _EMBEDDER,
    FaultType.EmbeddingRateLimit: _EMBEDDER,
    FaultType.EmbeddingUnavailable: _EMBEDDER,
    FaultType.EmbeddingSlow: _EMBEDDER,
    FaultType.EmbeddingWrongDimensions: _EMBED,
    FaultType.EmbeddingNotFinite: _EMBED,
    FaultType.VectorSearchFail: ("vector_search",),
    FaultType.VectorSearchTimeout: ("vector_search",),
    FaultType.VectorStoreFail: ("vector_store",),
    FaultType.StorageReadFail: _READ,
    FaultType.StorageWriteFail: _WRITE,
    FaultType.StorageSyncFail: ("disk_sync",),
    FaultType.StorageFull: _WRITE,
    FaultType.StorageSlow: (*_READ, *_WRITE, "disk_sync"),
    FaultType.StorageCorrupt: ("disk_read",),
    FaultType.PowerCut: ("disk_write", "disk_sync"),
    FaultType.TornWrite: ("disk_write",),
    FaultType.LostWrite: ("disk_write",),
    FaultType.NetworkRefused: _NETWORK,
    FaultType.NetworkReset: _NETWORK,
    FaultType.NetworkTimeout: _NETWORK,
    FaultType.NetworkSlow: _NETWORK,
}
_KNOWN_OPERATIONS: Final = tuple(sorted({name for names in OPERATIONS.values() for name in names}))
check(set(OPERATIONS) == set(FaultType), "every fault says where it can happen")


@dataclass(frozen=True, slots=True)
class FaultConfig:
    """A fault and when it fires.

    Args:
        fault_type: The fault.
        probability: Its probability in each call, 0..1.
        operations: The operations; None is all in which the fault can happen.
        after: Calls of an operation that are let through first.
        count_max: How often it fires at most, over all its operations; None is unbounded.

    Raises:
        InvalidFault: When a value is outside its range, or the fault cannot happen in one of the operations.
    """

    fault_type: FaultType
    probability: float = 1.0
    operations: tuple[str, ...] | None = None
    after: int = 0
    count_max: int | None = None

    def __post_init__(self) -> None:
        try:
            # A name means its fault: what is compared by identity would otherwise never happen.
            object.__setattr__(self, "fault_type", FaultType(self.fault_type))
        except ValueError:
            raise InvalidFault(f"{self.fault_type!r} is no fault; there are {', '.join(FaultType)}") from None
        if not (isinstance(self.probability, int | float) and 0 <= self.probability <= 1):
            raise InvalidFault(f"the probability of {self.fault_type} is 0..1, not {self.probability!r}")
        for name, value in (("after", self.after), ("count_max", self.count_max or 0)):
            if not isinstance(value, int) or value < 0:
                raise InvalidFault(f"{name} of {self.fault_type} is a whole number of at least 0, not {value!r}")
        possible = OPERATIONS[self.fault_type]
        wrong = [name for name in self.operations or () if name not in possible]
        if wrong or self.operations == ():
            raise InvalidFault(
                f"{self.fault_type} can happen in {', '.join(possible)}, not in {', '.join(wrong) or 'nothing'}"
            )

    @property
    def where(self) -> tuple[str, ...]:
        """The operations it is registered for."""
        return OPERATIONS[self.fault_type] if self.operations is None else self.operations


def listed(faults: Iterable[FaultConfig]) -> tuple[FaultConfig, ...]:
    """The faults of a world.

    Raises:
        InvalidFault: When they are no list, or something in it is no `FaultConfig`.
    """
    wrong = [one for one in faults if not isinstance(one, FaultConfig)] if isinstance(faults, Iterable) else [faults]
    if wrong:
        raise InvalidFault(
            f"faults is a list of FaultConfig, such as [FaultConfig(FaultType.LlmTimeout, 0.3)], not {wrong[0]!r}"
        )
    return tuple(faults)


class _Armed:
    """A registered fault: how often it has fired, and one random stream per operation."""

    __slots__ = ("config", "fired", "streams")

    def __init__(self, config: FaultConfig, rng: DeterministicRng, copy: int) -> None:
        self.config = config
        self.fired = 0
        self.streams = {name: rng.fork(f"{name}:{config.fault_type}:{copy}") for name in config.where}

    def fires(self, operation: str, calls: int) -> bool:
        """Whether it fires in this call. A number is drawn in every call, so that `after` and `count_max` do not shift later draws."""
        drawn = self.streams[operation].chance(self.config.probability)
        spent = self.config.count_max is not None and self.fired >= self.config.count_max
        return drawn and not spent and calls > self.config.after


class FaultInjector:
    """Decides for every call of an operation whether a fault happens, and which.

    Args:
        rng: Source of the decisions.
        configs: Faults to register at once.
    """

    def __init__(self, rng: DeterministicRng, configs: tuple[FaultConfig, ...] = ()) -> None:
        self._rng = rng
        self._armed: dict[str, list[_Armed]] = {}
        self._copies: Counter[FaultType] = Counter()
        self._stopped = False
        self.calls: Counter[str] = Counter()
        self.fired: Counter[FaultType] = Counter()
        self.fired_at: Counter[tuple[str, FaultType]] = Counter()
        for config in configs:
            self.register(config)

    def register(self, config: FaultConfig) -> None:
        """Let a fault happen from now on. The same type may be registered several times with different settings."""
        armed = _Armed(config, self._rng, self._copies[config.fault_type])
        self._copies[config.fault_type] += 1
        for operation in config.where:
            self._armed.setdefault(operation, []).append(armed)

    def should_inject(self, operation: str) -> FaultType | None:
        """The fault in this call of `operation`, or None. If several fire, the one registered first.

        Raises:
            InvalidFault: When no fault of any kind can happen in an operation of this name; it is probably misspelt.
        """
        # Calls are counted even without faults: `after` refers to all calls of a run.
        self.calls[operation] = calls = self.calls[operation] + 1
        armed = self._armed.get(operation)
        if armed is None:
            if operation not in _KNOWN_OPERATIONS:
                raise InvalidFault(f"{operation!r} is no operation; there are {', '.join(_KNOWN_OPERATIONS)}")
            return None
        if self._stopped:
            return None
        # All are asked, since each must draw its number in every call.
        firing = [one for one in armed if one.fires(operation, calls)]
        if not firing:
            return None
        chosen = firing[0]
        chosen.fired += 1
        self.fired[chosen.config.fault_type] += 1
        self.fired_at[operation, chosen.config.fault_type] += 1
        return chosen.config.fault_type

    def stop(self) -> None:
        """Let nothing fail any more. Used to check that everything begun then comes to an end (liveness)."""
        self._stopped = True
