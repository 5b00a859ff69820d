"""One `stop` event a process: set by SIGTERM, SIGINT or a part that ends, it ends every other part."""

import asyncio
import contextlib
import errno
import gc
import logging
import resource
import socket
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI

from passageway.errors import SettingsError
from passageway_cli.connections import Connection, allow_files, backlog
from passageway_cli.signals import ask_to_stop, ignore_further, leave_in_time

logger = logging.getLogger(__name__)

_DESCRIPTORS = 8192
"""Files and connections that a process may have open. Most systems start it with 1,024 and let it ask for more."""

Part = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
"""A part of a process: runs until the event is set."""

GRACE_S = 3
"""Seconds that open requests may take to finish once a stop was asked for."""


def run(*parts: Part) -> int:
    """Run the parts side by side until a signal or the end of one of them; 0, or the error of the part that failed."""
    _allow_descriptors()
    try:
        asyncio.run(_run(parts))
    finally:
        ignore_further()
    logger.info("stopped")
    return 0


def _allow_descriptors() -> None:
    """Ask for room for a crowd: without it, connections would take the descriptors that index files need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:
        logger.debug("no more than %d files may be open: %s", soft, error)


async def _run(parts: tuple[Part, ...]) -> None:
    stop = asyncio.Event()
    ask_to_stop(asyncio.get_running_loop(), stop)
    gc.freeze()  # what was imported stays to the end: nothing to look through again
    gc.enable()
    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(_until_stopped(part, stop))


async def _until_stopped(part: Part, stop: asyncio.Event) -> None:
    try:
        await part(stop)
    except Exception:
        leave_in_time(1)
        raise
    finally:
        stop.set()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises SettingsError when the address is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's algorithm off only where it is. With it on, a kept connection
    # waits 40 ms for an acknowledgement between the head and the body of each answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        advice = (
            "another passageway may be running there, or choose another port with PASSAGEWAY_PORT "
            "(PASSAGEWAY_EMBED_PORT for `passageway embed`)"
            if error.errno == errno.EADDRINUSE
            else "PASSAGEWAY_HOST has to be an address of this machine, and a port below 1024 may need more rights"
        )
        raise SettingsError(f"cannot listen on {host}:{port} ({error.strerror or error}); {advice}") from error
    return listener


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to `run`: two of them in one loop would raise each other's again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            logger.info("listening on %s", _address(listener))


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


async def serve(
    app: FastAPI, listener: socket.socket, stop: asyncio.Event, *, trusted_proxies: Sequence[str] = ()
) -> None:
    """Serve the application on the socket until `stop`, then let open requests finish for a moment.

    A client behind a trusted proxy counts by the last address in X-Forwarded-For that is no such proxy's: earlier ones
    may be made up. Without such a proxy the header means nothing.
    """
    allow_files()
    config = uvicorn.Config(
        app,
        http=Connection,
        backlog=backlog(),
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=GRACE_S,
    )
    server = _Server(config)

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    ending = asyncio.create_task(end())
    try:
        await server.serve(sockets=[listener])
    finally:
        ending.cancel()
        listener.close()
