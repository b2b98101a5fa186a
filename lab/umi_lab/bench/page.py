"""The web page in a real browser: first view, Ask beyond the server's answer, the timeline's frames, memory over navigations.

Debian's chromium, driven by playwright, against a server of its own on loopback. Browser, server and this process share the machine.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from playwright.async_api import Browser, Page, async_playwright

from umi.bench.filling import fill_like, likely_vectors
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.bench.server import serving
from umi.bench.texts import turns
from umi.errors import InvalidInput
from umi.memory import Memory
from umi.providers.local import LocalEmbedder
from umi.types import Message

SIZE: Final = 100_000  # memories in the namespace that is shown
CHANGES: Final = 10_000  # of the subject whose timeline is scrolled
NAVIGATIONS: Final = 200
CHROMIUM: Final = "/usr/bin/chromium"
_ARGS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
_SPACE: Final = "busy"
_OPENED_COUNT: Final = 7
_ASKED: Final = (
    "Where does Alice live?",
    "What does Alice like?",
    "Where does Alice work?",
    "lighthouse",
    "weather on Monday",
)
_TURN_WORDS: Final = 26
_SEED: Final = 25
_BATCH_COUNT: Final = 1_000
_FIRST_VIEW_MS_MAX: Final = 1_000.0
_ASK_MS_MAX: Final = 150.0
_OPENED_MS_MAX: Final = 1_000.0
_FRAMES_PER_S_MIN: Final = 50.0
_GROWTH_MB_MAX: Final = 2.0
_SETTLED_MS: Final = 250.0
_WARM_ROUNDS: Final = 5
_WAIT_MS: Final = 60_000.0
_VIEWS: Final = ("now", "ask", "why", "review", "admin", "activity", "timeline", "graph")
# When the first fact or name can be seen and clicked; told before any script of the page.
_WATCH: Final = """
new MutationObserver((_, watching) => {
  if (!document.querySelector(".view .chips a, .view .fact, .view .empty") || document.querySelector(".loading")) return;
  requestAnimationFrame(() => { window.seenMs ??= performance.now(); });
  watching.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
_SEEN: Final = """async () => {
  while (!window.seenMs) await new Promise((done) => setTimeout(done, 5));
  return window.seenMs;
}"""
_ASK: Final = """async (question) => {
  const field = document.querySelector("#ask");
  performance.clearResourceTimings();
  field.value = question;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((done) => setTimeout(done, 50));
  const begun = performance.now();
  field.form.requestSubmit();
  const asked = () => performance.getEntriesByType("resource").find((one) => one.name.endsWith("/recall"));
  while (!(asked() && document.querySelector(".hit, .empty") && !document.querySelector(".loading"))) {
    if (performance.now() - begun > 30000) throw new Error("no answer is shown");
    await new Promise((done) => setTimeout(done, 1));
  }
  await new Promise((done) => requestAnimationFrame(done));
  return [performance.now() - begun, asked().duration];
}"""
_NOW: Final = "performance.now()"
_YEAR: Final = "location.hash += '?on=held&from=2005-01-01T00:00:00Z&to=2006-01-01T00:00:00Z'"
_SCROLL: Final = """async (seconds) => {
  const times = [];
  const box = document.querySelector(".scroller");
  await new Promise((done) => {
    const begun = performance.now();
    const frame = (at) => {
      times.push(at);
      const most = box.scrollHeight - box.clientHeight;
      box.scrollTop = most * Math.abs(Math.sin((at - begun) / 1000));
      if (at - begun > seconds * 1000) done(); else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  return times.slice(1).map((at, place) => at - times[place]);
}"""


async def measure(
    size: int = SIZE,
    changes: int = CHANGES,
    navigations: int = NAVIGATIONS,
    step: Step = lambda _what, _done, _of: None,
) -> Report:
    """Fill a store, serve it, and look at it.

    Args:
        size: Memories in the namespace.
        changes: Statements about the subject whose timeline is scrolled.
        navigations: Views that are opened to see what memory they leave.
        step: Told what is being done.

    Raises:
        InvalidInput: Without chromium, or when the server does not start.
    """
    if shutil.which(CHROMIUM) is None:
        raise InvalidInput(f"there is no {CHROMIUM}: apt-get install chromium")
    with TemporaryDirectory(prefix="umi-page-") as folder:
        db = str(Path(folder) / "page.db")
        async with Memory.open(db, namespace=_SPACE, embedder=LocalEmbedder()) as memory:
            await _fill(memory, size, changes, step)
        async with serving(db) as (_, port):
            url = f"http://127.0.0.1:{port}"
            figures = [await _first_view(url, step)]
            async with _page() as page:
                figures.append(await _ask(page, url, step))
                figures += await _timeline(page, url, min(changes, size), step)
                figures.append(await _growth(page, url, navigations, step))
    notes = (
        f"at {size:,} memories, {changes:,} of them changes of one subject; browser and server share the machine",
        "the browser draws without a graphics card",
    )
    return Report("Page", tuple(figures), machine_facts(), notes)


async def _fill(memory: Memory, size: int, changes: int, step: Step) -> None:
    what, count = f"filling {size:,} memories", max(0, size - changes)
    likely = await likely_vectors(LocalEmbedder(), count)
    said = turns(_SEED, count, _TURN_WORDS)
    await fill_like(memory._open.storage, likely, said, count, lambda done: step(what, done, size))  # noqa: SLF001 - beneath the facade
    first = datetime(1995, 1, 1, tzinfo=UTC)
    for start in range(0, changes, _BATCH_COUNT):
        numbers = range(start, min(start + _BATCH_COUNT, changes))
        await memory.remember_many(
            [Message(f"I like song{number}.", speaker="Alice", at=first + timedelta(days=number)) for number in numbers]
        )
        step(what, size - changes + numbers[-1], size)
    await memory.remember_many([Message(text, speaker="Alice") for text in ("I live in Berlin.", "I work at Acme.")])


@asynccontextmanager
async def _browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGS))
        try:
            yield started
        finally:
            await started.close()


@asynccontextmanager
async def _page() -> AsyncIterator[Page]:
    async with _browser() as browser:
        page = await browser.new_page()
        page.set_default_timeout(_WAIT_MS)
        yield page


async def _first_view(url: str, step: Step) -> Figure:
    """From the start of the navigation until the first fact can be seen, each time in a browser that was just started."""
    found = []
    for number in range(_OPENED_COUNT):
        step("opening the page", number, _OPENED_COUNT)
        async with _page() as page:
            await page.add_init_script(_WATCH)
            await page.goto(f"{url}/#/{_SPACE}/now")
            found.append(float(await page.evaluate(_SEEN)))
    return Figure("first view, 50%", quantile(found, 0.5), "ms", _FIRST_VIEW_MS_MAX, detail={"worst": max(found)})


async def _ask(page: Page, url: str, step: Step) -> Figure:
    """From sending a question until hits are drawn, without the time that the server took."""
    await page.goto(f"{url}/#/{_SPACE}/ask")
    await page.wait_for_selector("#ask")
    spent = []
    for number, question in enumerate(_ASKED * 4):
        step("asking", number, len(_ASKED) * 4)
        whole, answered = await page.evaluate(_ASK, f"{question} {number}")
        spent.append((float(whole), float(answered)))
    beyond = [whole - answered for whole, answered in spent]
    detail = {"worst": max(beyond), "server, 50%": quantile([answered for _, answered in spent], 0.5)}
    return Figure("Ask beyond the server's answer, 50%", quantile(beyond, 0.5), "ms", _ASK_MS_MAX, detail=detail)


async def _timeline(page: Page, url: str, changes: int, step: Step) -> list[Figure]:
    """The timeline of the subject with the most changes: opened, a year of it, all of it, and frames a second while that is scrolled."""
    step("scrolling the timeline", 0, 0)
    await page.goto("about:blank")
    await page.goto(f"{url}/#/{_SPACE}/timeline/Alice")
    await page.wait_for_selector(".chart .bar")
    opened_ms = float(await page.evaluate(_NOW))  # since the navigation began
    begun_ms = float(await page.evaluate(_NOW))
    await page.evaluate(_YEAR)
    await page.get_by_text("The newest of this time are drawn").wait_for()
    year_ms = float(await page.evaluate(_NOW)) - begun_ms
    await page.evaluate("location.hash = location.hash.split('?')[0]")
    await page.get_by_text("The newest of this time are drawn").wait_for(state="detached")
    begun_ms = float(await page.evaluate(_NOW))
    await _load_all(page, changes)
    whole_ms = float(await page.evaluate(_NOW)) - begun_ms
    await page.wait_for_timeout(_SETTLED_MS * 4)
    gaps: Sequence[float] = await page.evaluate(_SCROLL, 5)
    drawn = float(await page.evaluate("document.querySelectorAll('.chart *').length"))
    detail = {"slowest frame, ms": max(gaps), "elements": drawn}
    return [
        Figure(
            "timeline opened",
            opened_ms,
            "ms",
            _OPENED_MS_MAX,
            detail={"a year chosen, ms": year_ms, "all of it loaded, ms": whole_ms},
        ),
        Figure(
            "frames a second, timeline",
            1000 * len(gaps) / sum(gaps),
            "/s",
            _FRAMES_PER_S_MIN,
            more_is_better=True,
            detail=detail,
        ),
    ]


async def _load_all(page: Page, changes: int) -> None:
    """Ask for older statements until all that are loaded at most are there."""
    status = page.locator("[role=status]").filter(has_text="statements.").first
    more = page.get_by_role("button", name="Load older ones")
    while await more.count():
        before = told = await status.inner_text()
        await more.click()
        while told == before:
            await page.wait_for_timeout(5)
            told = await status.inner_text()
    shown = int((await status.inner_text()).split()[0].replace(",", ""))
    if shown < changes:
        raise InvalidInput(f"the timeline has {shown:,} statements of {changes:,}")


async def _growth(page: Page, url: str, navigations: int, step: Step) -> Figure:
    """Memory of the page's scripts after many views, above that after a few, each time with rubbish collected."""
    session = await page.context.new_cdp_session(page)

    async def used() -> tuple[float, dict[str, Any]]:
        await session.send("HeapProfiler.collectGarbage")
        heap = await session.send("Runtime.getHeapUsage")
        return float(heap["usedSize"]), await session.send("Memory.getDOMCounters")

    async def walk(count: int) -> None:
        for number in range(count):
            view = _VIEWS[number % len(_VIEWS)]
            await page.evaluate(f"location.hash = '#/{_SPACE}/{view}?q=Alice'")
            # A locator: an element that `wait_for_selector` returns is kept, and with it the view that was left.
            await page.locator(f'.view[data-view="{view}"] h1').wait_for()
            await asyncio.sleep(_SETTLED_MS / 1000)
            step("opening views", number, navigations)

    await page.goto(f"{url}/#/{_SPACE}/now")
    await page.wait_for_selector(".view h1")
    await walk(_WARM_ROUNDS * len(_VIEWS))
    before, nodes_before = await used()
    await walk(navigations)
    after, nodes_after = await used()
    detail = {
        "before": before / 1e6,
        "after": after / 1e6,
        "nodes before": float(nodes_before["nodes"]),
        "nodes after": float(nodes_after["nodes"]),
        "listeners after": float(nodes_after["jsEventListeners"]),
    }
    return Figure(
        f"memory over {navigations} views", max(0.0, after - before) / 1e6, "MB", _GROWTH_MB_MAX, detail=detail
    )
