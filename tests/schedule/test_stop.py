"""What a signal does to what runs for long."""

from __future__ import annotations

import os
import select
import signal

import pytest

from tapestry.schedule.stop import Stop


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_asks_and_the_second_ends(number: int) -> None:
    before = signal.getsignal(number)
    with Stop() as stop:
        assert not stop.asked
        assert select.select([stop], [], [], 0)[0] == []
        os.kill(os.getpid(), number)
        assert stop.asked
        assert select.select([stop], [], [], 0)[0] == [stop]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before
