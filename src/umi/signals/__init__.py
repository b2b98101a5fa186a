"""Providers of quality signals (seed 003): JSON and JSON Lines files, JUnit XML, and outcomes of pull requests."""

from umi.signals.files import FileSignalProvider
from umi.signals.junit import JUnitSignalProvider
from umi.signals.pull_requests import PullRequestSignalProvider
from umi.signals.reading import Source, seal

__all__ = ["FileSignalProvider", "JUnitSignalProvider", "PullRequestSignalProvider", "Source", "seal"]
