"""Two threads never ask over one Thrift connection at the same time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from dbt.adapters.tapestry.session import OneAtATime, one_at_a_time


class Client:
    """A client that notes whether a call has begun before another one was over."""

    version = 6

    def __init__(self) -> None:
        self.inside, self.most = 0, 0

    def ask(self, answer: int) -> int:
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.002)
        self.inside -= 1
        return answer


def test_calls_wait_for_each_other() -> None:
    client = Client()
    handle = SimpleNamespace(handle=SimpleNamespace(_client=client))
    one_at_a_time(handle)
    one_at_a_time(handle)
    locked = handle.handle._client
    assert isinstance(locked, OneAtATime)
    assert locked.version == 6
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(locked.ask, range(40))) == list(range(40))
    assert client.most == 1


def test_what_is_no_thrift_connection_stays_as_it_is() -> None:
    handle = SimpleNamespace(handle=object())
    one_at_a_time(handle)
    one_at_a_time(SimpleNamespace())
