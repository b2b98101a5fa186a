"""The namespaces of one open memory."""

from __future__ import annotations

from collections import OrderedDict

from umi import limits
from umi.memory import Memory


class Spaces:
    """Views of one memory by namespace, the least recently used of which go first.

    `memory` is the one that was opened.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._views: OrderedDict[tuple[str, bool], Memory] = OrderedDict()

    def view(self, name: str, *, may_be_read: bool = True) -> Memory:
        """The namespace of that name.

        Args:
            name: Its name.
            may_be_read: Whether the caller may be told what it holds.

        Raises:
            InvalidInput: For a name outside its limits.
        """
        key = (name, may_be_read)
        found = self._views.get(key)
        if found is None:
            found = self._views[key] = self.memory._switch(name, keep_echoes=not may_be_read)  # noqa: SLF001 - of no use to apps
            if len(self._views) > limits.SERVER_NAMESPACES_COUNT_MAX:
                self._views.popitem(last=False)
        self._views.move_to_end(key)
        return found

    def __len__(self) -> int:
        """How many are kept ready."""
        return len(self._views)
