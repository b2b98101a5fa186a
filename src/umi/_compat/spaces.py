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
        self._views: OrderedDict[str, Memory] = OrderedDict()

    def view(self, name: str) -> Memory:
        """The namespace of that name.

        Raises:
            InvalidInput: For a name outside its limits.
        """
        found = self._views.get(name)
        if found is None:
            found = self._views[name] = self.memory.switch(name)
            if len(self._views) > limits.SERVER_NAMESPACES_COUNT_MAX:
                self._views.popitem(last=False)
        self._views.move_to_end(name)
        return found

    def __len__(self) -> int:
        """How many are kept ready."""
        return len(self._views)
