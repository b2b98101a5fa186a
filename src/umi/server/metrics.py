"""Counts and times of requests, as Prometheus text. By action and status, never by namespace or key: those are people."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

_BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_OTHER: Final = "other"  # what no route answered


class Metrics:
    """What was asked of one server since it started."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._sums_s: dict[str, float] = {}

    def observe(self, action: str, status: int, seconds: float) -> None:
        """Note one request; status 0 is one whose client went away."""
        name = action or _OTHER
        self._counts[name, status] += 1
        # One more than bounds: beyond the last.
        self._times.setdefault(name, [0] * (len(_BOUNDS_S) + 1))[bisect_left(_BOUNDS_S, seconds)] += 1
        self._sums_s[name] = self._sums_s.get(name, 0.0) + seconds

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Everything in Prometheus' text format; `gauges` are further values, each with what it is."""
        return "\n".join([*self._requests(), *self._durations(), *_gauges(gauges), ""])

    def _requests(self) -> Iterator[str]:
        yield "# HELP umi_requests_total Requests answered, by action and status."
        yield "# TYPE umi_requests_total counter"
        for (action, status), count in sorted(self._counts.items()):
            yield f'umi_requests_total{{action="{action}",status="{status}"}} {count}'

    def _durations(self) -> Iterator[str]:
        yield "# HELP umi_request_duration_seconds From the head of a request to the end of its answer."
        yield "# TYPE umi_request_duration_seconds histogram"
        for action, buckets in sorted(self._times.items()):
            total = 0
            for bound, count in zip((*map(str, _BOUNDS_S), "+Inf"), buckets, strict=True):
                total += count
                yield f'umi_request_duration_seconds_bucket{{action="{action}",le="{bound}"}} {total}'
            yield f'umi_request_duration_seconds_sum{{action="{action}"}} {self._sums_s[action]:.6f}'
            yield f'umi_request_duration_seconds_count{{action="{action}"}} {total}'


def _gauges(gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
    for name, (about, value) in gauges.items():
        yield f"# HELP {name} {about}"
        yield f"# TYPE {name} gauge"
        yield f"{name} {value}"
