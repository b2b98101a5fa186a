"""Load the signals of all providers. What is wrong with a record or a provider is set aside with its reason (seed 003)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from umi._core import validate
from umi._core.guard import guarded
from umi.errors import InvalidInput, SignalError, UmiError
from umi.limits import PROVIDERS_COUNT_MAX, SIGNAL_FAULTS_COUNT_MAX, SIGNALS_PER_PROVIDER_COUNT_MAX
from umi.ports import IntelligenceProvider, SupportsQuarantine
from umi.types import ProviderQualityWeights, QualitySignal, SignalFault, fault, weights_fault

FEEDBACK: Final = "feedback"  # the provider name of `Memory.feedback`; no other provider may use it


@dataclass(frozen=True, slots=True)
class ProviderSignals:
    """The valid signals of one provider, and the weights of its quality factors."""

    name: str
    weights: ProviderQualityWeights
    signals: tuple[QualitySignal, ...]


@dataclass(slots=True)
class SignalCounts:
    """What became of signals: how many were new, known before, or about nothing that is here, and what was set aside."""

    new: int = 0
    known: int = 0
    unmatched: int = 0
    faults: list[SignalFault] = field(default_factory=list)

    def add(self, other: SignalCounts) -> None:
        """Add what became of further signals."""
        self.new += other.new
        self.known += other.known
        self.unmatched += other.unmatched
        self.faults += other.faults


class IntelligenceLoader:
    """The providers of one memory.

    Loading is synchronous and runs in a thread. A provider that fails loses only its own signals.
    """

    def __init__(self, providers: Sequence[IntelligenceProvider] = ()) -> None:
        self._providers: dict[str, IntelligenceProvider] = {}
        self._errors: list[SignalFault] = []
        if not isinstance(providers, Iterable):
            raise InvalidInput(f"providers must be a list of providers, got {type(providers).__name__}")
        for provider in providers:
            self.register_provider(provider)

    def register_provider(self, provider: IntelligenceProvider) -> None:
        """Add a provider.

        Raises:
            InvalidInput: When it has no valid name, the name is taken or is "feedback", or there are too many
                providers.
        """
        # A provider is the user's own object; even reading its name may raise anything.
        with guarded(lambda error: InvalidInput(f"a provider must have a name: {error!r}")):
            given: object = provider.name
        name = validate.name(given, "provider name")
        if name == FEEDBACK or name in self._providers:
            raise InvalidInput(f"a provider is called {name!r} already: give this one a name of its own")
        validate.count(len(self._providers) + 1, "number of providers", low=1, high=PROVIDERS_COUNT_MAX)
        self._providers[name] = provider

    @property
    def provider_names(self) -> tuple[str, ...]:
        """The names, in order of registration."""
        return tuple(self._providers)

    @property
    def provider_count(self) -> int:
        """The number of providers."""
        return len(self._providers)

    @property
    def errors(self) -> tuple[SignalFault, ...]:
        """What the last load set aside: at most 1,000 records per provider, and whole providers."""
        return tuple(self._errors)

    def load_all_signals(self) -> list[QualitySignal]:
        """The valid signals of all providers, in order of registration (seed 003)."""
        return [signal for group in self.load_grouped() for signal in group.signals]

    def load_grouped(self) -> list[ProviderSignals]:
        """As `load_all_signals`, grouped by provider with its weights. A provider that fails is left out."""
        # Faults are those of the last load only.
        self._errors = []
        groups = []
        for name, provider in self._providers.items():
            try:
                groups.append(self._load(name, provider))
            except UmiError as error:
                self._errors.append(SignalFault(name, "", str(error)))
        return groups

    def _load(self, name: str, provider: IntelligenceProvider) -> ProviderSignals:
        with guarded(lambda error: SignalError(f"it failed: {error!r:.300}")):
            # One more than the limit is enough to know that there are too many; a generator may be endless.
            given = list(islice(iter(provider.load_signals()), SIGNALS_PER_PROVIDER_COUNT_MAX + 1))
            weights = provider.quality_weights()
            aside = list(provider.quarantined) if isinstance(provider, SupportsQuarantine) else []
        if len(given) > SIGNALS_PER_PROVIDER_COUNT_MAX:
            raise SignalError(
                f"more than {SIGNALS_PER_PROVIDER_COUNT_MAX:,} signals in one load: give them in several runs"
            )
        if weights is not None and (wrong := weights_fault(weights)) is not None:
            raise SignalError(wrong)
        sound = []
        for place, signal in enumerate(given):
            wrong = fault(signal)
            if wrong is None:
                sound.append(signal)
            else:
                aside.append((f"signal {place}", wrong))
        # Bounded per provider, so that one broken file cannot fill the memory.
        self._errors += [SignalFault(name, record, reason) for record, reason in aside[:SIGNAL_FAULTS_COUNT_MAX]]
        return ProviderSignals(name, weights or ProviderQualityWeights(), tuple(sound))
