"""Providers gathered, their signals loaded, and everything that is wrong with them set aside with its reason (seed 003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from umi._core import validate
from umi._core.guard import guarded
from umi.errors import InvalidInput, SignalError, UmiError
from umi.limits import PROVIDERS_COUNT_MAX, SIGNAL_FAULTS_COUNT_MAX, SIGNALS_PER_PROVIDER_COUNT_MAX
from umi.ports import IntelligenceProvider, SupportsQuarantine
from umi.types import ProviderQualityWeights, QualitySignal, SignalFault, fault, weights_fault

FEEDBACK: Final = "feedback"  # the provider that `Memory.feedback` is


@dataclass(frozen=True, slots=True)
class ProviderSignals:
    """What one provider gave: its sound signals and how its factors are weighed."""

    name: str
    weights: ProviderQualityWeights
    signals: tuple[QualitySignal, ...]


class IntelligenceLoader:
    """The providers of one memory. Loading is synchronous and runs in a thread; one that fails costs its own signals only."""

    def __init__(self, providers: Sequence[IntelligenceProvider] = ()) -> None:
        self._providers: dict[str, IntelligenceProvider] = {}
        self._errors: list[SignalFault] = []
        for provider in providers:
            self.register_provider(provider)

    def register_provider(self, provider: IntelligenceProvider) -> None:
        """Take a provider in.

        Raises:
            InvalidInput: When its name is none, is taken, or is "feedback"; or there are too many.
        """
        with guarded(lambda error: InvalidInput(f"a provider must have a name: {error!r}")):
            given: object = provider.name
        name = validate.name(given, "provider name")
        if name == FEEDBACK or name in self._providers:
            raise InvalidInput(f"a provider is called {name!r} already: give this one a name of its own")
        validate.count(len(self._providers) + 1, "number of providers", low=1, high=PROVIDERS_COUNT_MAX)
        self._providers[name] = provider

    @property
    def provider_names(self) -> tuple[str, ...]:
        """In order of registration."""
        return tuple(self._providers)

    @property
    def provider_count(self) -> int:
        """How many there are."""
        return len(self._providers)

    @property
    def errors(self) -> tuple[SignalFault, ...]:
        """What the last load set aside: records, and providers as a whole; at most 1,000 per provider."""
        return tuple(self._errors)

    def load_all_signals(self) -> list[QualitySignal]:
        """The sound signals of all providers, in order of registration (seed 003)."""
        return [signal for group in self.load_grouped() for signal in group.signals]

    def load_grouped(self) -> list[ProviderSignals]:
        """As `load_all_signals`, by provider and with its weights; a provider that fails is not in it."""
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
        self._errors += [SignalFault(name, record, reason) for record, reason in aside[:SIGNAL_FAULTS_COUNT_MAX]]
        return ProviderSignals(name, weights or ProviderQualityWeights(), tuple(sound))
