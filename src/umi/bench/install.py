"""What an installation costs: packages, bytes and the time of `import umi`, measured on a fresh one."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from umi._core.clock import SystemClock
from umi.bench.report import Figure, Report, machine_facts, quantile

IMPORT_S_LIMIT = 0.2
MEMORY_S_LIMIT = 0.5
PACKAGES_COUNT_LIMIT = 38
INSTALLED_BYTES_LIMIT = 350_000_000
_IMPORT_RUNS_COUNT = 9
_DISTRIBUTION = "umi-memory"
_TOOLS = frozenset({"pip", "setuptools", "wheel"})
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src")
_PROBE = (
    "import time; start = time.perf_counter(); import umi; done = time.perf_counter(); umi.Memory; "
    "print(done - start, time.perf_counter() - start)"
)


class InstallFailed(RuntimeError):  # noqa: N818 - reads as what it is
    """A step of the installation failed; carries the step's own words."""


def measure(step: Callable[[str], None] = lambda _: None) -> Report:
    """Install Umi alone into a new virtual environment and measure it.

    Args:
        step: Told what is being done, for a progress display.

    Returns:
        Seconds of `import umi` and until `umi.Memory` is there (medians of fresh processes), packages (Umi among them, installers not), bytes on disk.

    Raises:
        InstallFailed: When a step fails, with its output.
    """
    clock = SystemClock()
    with tempfile.TemporaryDirectory(prefix="umi-install-") as folder:
        venv = Path(folder) / "venv"
        step("creating a virtual environment")
        _run([sys.executable, "-m", "venv", str(venv)])
        python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        step("installing Umi and what it needs")
        before = clock.monotonic_s()
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        _run([*pip, "install", "--quiet", "--only-binary=:all:", "--no-binary", _DISTRIBUTION, _source(Path(folder))])
        install_s = clock.monotonic_s() - before
        step("counting")
        packages = _packages(pip)
        size, largest = _installed_bytes(python)
        step("importing")
        runs = [_run([str(python), "-c", _PROBE]).split() for _ in range(_IMPORT_RUNS_COUNT)]
        import_s, memory_s = ([float(run[column]) for run in runs] for column in (0, 1))
    figures = (
        Figure(
            "import umi", quantile(import_s, 0.5), "s", limit=IMPORT_S_LIMIT, detail={"p99": quantile(import_s, 0.99)}
        ),
        Figure(
            "umi.Memory, import included",
            quantile(memory_s, 0.5),
            "s",
            limit=MEMORY_S_LIMIT,
            detail={"p99": quantile(memory_s, 0.99)},
        ),
        Figure("packages", len(packages), "", limit=PACKAGES_COUNT_LIMIT),
        Figure("installed size", size / 1e6, "MB", limit=INSTALLED_BYTES_LIMIT / 1e6, detail=largest),
        Figure("installation", install_s, "s"),
    )
    return Report("Installation", figures, machine_facts(), (f"packages: {', '.join(packages)}",))


def _source(folder: Path) -> str:
    """What pip shall install: a copy of the checkout that runs this, so that building leaves nothing in it, or the release."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "pyproject.toml").is_file():
        return f"{_DISTRIBUTION}=={importlib.metadata.version(_DISTRIBUTION)}"
    copy = folder / "source"
    copy.mkdir()
    for name in _SOURCES:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy2(source, copy / name)
    return str(copy)


def _packages(pip: list[str]) -> list[str]:
    listed: list[dict[str, str]] = json.loads(_run([*pip, "list", "--format", "json"]))
    return sorted(one["name"] for one in listed if one["name"] not in _TOOLS)


def _installed_bytes(python: Path) -> tuple[int, dict[str, float]]:
    """Bytes of all installed files but the installers', and the largest folders in MB."""
    site = Path(_run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    sizes: dict[str, int] = {}
    for path in site.rglob("*"):
        top = path.relative_to(site).parts[0]
        if top.split("-")[0] not in _TOOLS and path.is_file() and not path.is_symlink():
            sizes[top] = sizes.get(top, 0) + path.stat().st_size
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:5]
    return sum(sizes.values()), {name: sizes[name] / 1e6 for name in largest}


def _run(command: list[str]) -> str:
    """The standard output of a command, run where no checkout is on the path."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=tempfile.gettempdir()
    )
    if done.returncode:
        raise InstallFailed(f"{' '.join(command[:4])} ... failed:\n{(done.stderr or done.stdout)[-2000:]}")
    return done.stdout
