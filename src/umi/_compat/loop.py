"""An event loop in its own thread, for the classes without `await` that adapters offer."""

from umi._core.loop_thread import LoopThread

__all__ = ["LoopThread"]
