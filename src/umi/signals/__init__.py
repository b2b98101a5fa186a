"""Where quality signals come from: files of JSON, JSON Lines and JUnit XML, and verdicts on pull requests."""

from umi.signals.files import FileSignalProvider
from umi.signals.junit import JUnitSignalProvider
from umi.signals.pull_requests import PullRequestSignalProvider
from umi.signals.reading import seal

__all__ = ["FileSignalProvider", "JUnitSignalProvider", "PullRequestSignalProvider", "seal"]
