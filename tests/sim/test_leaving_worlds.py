"""What would leave a world is refused, named, and named also where it only led to something else."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import httpx
import pytest

from umi.sim import Deadlock, Forbidden
from umi.testing import World, simulate


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    """The address of a real socket that listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield listening.getsockname()


def connects(address: tuple[str, int]) -> None:
    socket.create_connection(address, timeout=10).close()


def connects_by_number(address: tuple[str, int]) -> None:
    with closing(socket.socket()) as one:
        one.connect(address)


def sends(address: tuple[str, int]) -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as one:
        one.sendto(b"x", address)


def asks(address: tuple[str, int]) -> None:
    httpx.get(f"http://{address[0]}:{address[1]}/", timeout=10)


@pytest.mark.parametrize("leaves", [connects, connects_by_number, sends, asks])
@pytest.mark.parametrize("how", ["plain", "in a job", "swallowed"])
def test_sockets_that_ask_no_loop_are_refused(
    leaves: Callable[[tuple[str, int]], None], how: str, server: tuple[str, int]
) -> None:
    @simulate(seeds=1)
    async def test(world: World) -> None:
        if how == "in a job":
            await asyncio.to_thread(leaves, server)
        elif how == "swallowed":
            with suppress(RuntimeError):
                leaves(server)
        else:
            leaves(server)

    with pytest.raises(Forbidden, match=r"socket\.\w+\(\) would leave the simulation"):
        test()


def test_what_is_no_part_of_a_world_may_use_sockets(server: tuple[str, int]) -> None:
    failed: list[BaseException] = []

    def beside() -> None:
        try:
            connects(server)
        except BaseException as error:
            failed.append(error)
            raise

    @simulate(seeds=1)
    def test(world: World) -> None:
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()

    test()
    assert failed == []


def test_sockets_are_as_they_were_when_the_last_of_several_worlds_has_ended(server: tuple[str, int]) -> None:
    before = socket.getaddrinfo
    inside, go_on = threading.Event(), threading.Event()

    @simulate(seeds=1)
    def first(world: World) -> None:
        inside.set()
        assert go_on.wait(60)

    @simulate(seeds=1)
    def second(world: World) -> None:
        connects(server)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(60)
    with pytest.raises(Forbidden):
        second()
    connects(server)  # here is no world, while there is one in the thread
    go_on.set()
    thread.join()
    assert socket.getaddrinfo is before
    assert not {"connect", "connect_ex", "sendto"} & vars(socket.socket).keys()


def answers_from_a_thread(done: asyncio.Future[str]) -> None:
    """As anyio's threads do."""
    loop = done.get_loop()

    def work() -> None:
        threading.Event().wait(0.1)  # in real time: the loop has nothing to do meanwhile
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(done.set_result, "done")

    threading.Thread(target=work, name="worker").start()


def test_a_deadlock_for_want_of_a_threads_answer_is_what_was_refused() -> None:
    @simulate(seeds=1)
    async def test(world: World) -> None:
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        answers_from_a_thread(done)
        await done

    with pytest.raises(Forbidden, match="another thread \\('worker'\\)") as caught:
        test()
    assert isinstance(caught.value.__cause__, Deadlock)


def test_another_failure_has_a_note_of_what_was_refused_before(server: tuple[str, int]) -> None:
    @simulate(seeds=1)
    async def test(world: World) -> None:
        with suppress(RuntimeError):
            connects(server)
        raise LookupError("planned")

    with pytest.raises(LookupError, match="planned") as caught:
        test()
    assert any("umi: before that, socket.getaddrinfo() would leave" in note for note in caught.value.__notes__)
