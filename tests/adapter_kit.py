"""What the tests of adapters share: their example, run as a user runs it, and the framework's own tests, run on Umi."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

import house

# Some frameworks report what they do over the network; tests keep to themselves. CrewAI also keeps a diary in the user's folder.
os.environ |= {"OTEL_SDK_DISABLED": "true", "CREWAI_TESTING": "true"}

PLUGINS = house.ROOT / "tests" / "adapter_plugins"
ANSWERS = [
    "told:    Noted.",
    "changed: Noted.",
    "asked:   You work at StartupX.",
    "by Bob:  You work at a place I do not know.",
]


def run_example(name: str, folder: Path) -> list[str]:
    """The lines that an example prints, in a folder of its own."""
    program = house.ROOT / "examples" / f"{name}_agent.py"
    done = subprocess.run(
        [sys.executable, str(program)], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def run_reference(framework: str, package: str, *files: str) -> dict[str, str]:
    """The outcomes of a framework's own tests of its reference implementation, with the adapter in its place: "passed", or the error.

    Tests that use no such thing are left out.

    They come with the framework's source distribution, which `make adapters` keeps beside the environment; the plugin
    `reference_FRAMEWORK` puts the adapter in the place of what they import.

    Args:
        framework: The folder of the adapter's tests.
        package: The distribution, as its folder spells it, such as "langgraph_checkpoint".
        files: The test files in it.
    """
    sources = list((Path(sys.prefix) / "sdists").glob(f"{package}-*/"))
    assert len(sources) == 1, f"{sources} is not one folder: make adapters ADAPTERS={framework}"
    source = sources[0]
    here = house.ROOT / "tests" / "adapters" / framework
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "reference_opened", "-p", f"reference_{framework}"]
        command += [
            "-o",
            "addopts=",
            "-o",
            "filterwarnings=",
            "-o",
            "asyncio_mode=auto",
            f"--junitxml={report}",
            *files,
        ]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (here, PLUGINS, source)))}
        done = subprocess.run(
            command, cwd=source, env=environment, capture_output=True, text=True, check=False, timeout=250
        )
        assert report.exists(), done.stdout + done.stderr
        cases = list(ET.parse(report).getroot().iter("testcase"))
    outcomes = {}
    for case in cases:
        told = [one.get("message") or "" for one in case if one.tag in {"failure", "error", "skipped"}]
        used = {one.get("name"): one.get("value") for one in case.iter("property")}
        if told or used["on_umi"] == "True":
            outcomes[f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"] = (
                told[0] if told else "passed"
            )
    return outcomes


def failures(outcomes: dict[str, str]) -> set[str]:
    """The names of the tests that did not pass, whatever their parameters."""
    return {name.rpartition("::")[2].partition("[")[0] for name, outcome in outcomes.items() if outcome != "passed"}
