"""Additional checks of a reference server over Streamable HTTP."""

from __future__ import annotations

from collections.abc import Callable

from features import COUNTER, Wrong, said, want
from http_peer import HttpPeer
from peer import MODERN

HTTP_FEATURES: dict[str, Callable[[HttpPeer], None]] = {}
NO_SESSIONS = "2026-07-28 has no sessions"


def feature(function: Callable[[HttpPeer], None]) -> Callable[[HttpPeer], None]:
    HTTP_FEATURES[function.__name__] = function
    return function


def hung_up(peer: HttpPeer) -> list[float]:
    before = peer.resumed
    want(said(peer.call("hang_up", None, {"progressToken": "hung up"})), "done")
    want(peer.resumed, before + 1)
    return [message["params"]["progress"] for message in peer.seen if message["method"] == "notifications/progress"]


@feature
def resumes(peer: HttpPeer) -> None:
    """The stream of a call is closed before the response, and resumed."""
    want(sorted(set(hung_up(peer))), [1, 2])


@feature
def replays_once(peer: HttpPeer) -> None:
    """Events received before the stream was closed are not repeated."""
    want(hung_up(peer), [1, 2])


@feature
def primes(peer: HttpPeer) -> None:
    """The first event of a response stream has an id and no data, so that it can always be resumed."""
    response = peer.fetch("POST", {"id": 1000, "method": "ping"})
    fields = {response.readline().decode().partition(":")[0] for _ in range(3)}
    response.close()
    want({"id", "retry"} <= fields, True)


@feature
def sessions_apart(peer: HttpPeer) -> None:
    if peer.revision == MODERN:
        raise Wrong(NO_SESSIONS)
    other = HttpPeer(peer.url.geturl())
    other.open(peer.revision)
    counted = [int(each.request("resources/read", {"uri": COUNTER})["contents"][0]["text"]) for each in (peer, other)]
    other.call("change", {"what": "counter"})
    seen = [int(each.request("resources/read", {"uri": COUNTER})["contents"][0]["text"]) for each in (peer, other)]
    other.close()
    want(seen, [counted[0], counted[1] + 1])


@feature
def unknown_session(peer: HttpPeer) -> None:
    """404 for an unknown session."""
    if peer.revision == MODERN:
        raise Wrong(NO_SESSIONS)
    want(peer.fetch("POST", {"id": 1001, "method": "ping"}, Mcp_Session_Id="no-such-session").status, 404)


@feature
def ends_session(peer: HttpPeer) -> None:
    """DELETE, and 404 from then on."""
    if peer.revision == MODERN:
        raise Wrong(NO_SESSIONS)
    want(200 <= peer.end_session() < 300, True)
    status = peer.fetch("POST", {"id": 1002, "method": "ping"}).status
    peer.session = None
    want(status, 404)
