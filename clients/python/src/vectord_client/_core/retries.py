"""When a failed call is repeated."""

from __future__ import annotations

import random
import time
from enum import Enum

from ..errors import TimedOutError, VectordError

_FIRST_DELAY_S = 0.1
_GREATEST_DELAY_S = 5.0


class Repeat(Enum):
    """After which failures a call may be repeated without changing what comes of it."""

    ALWAYS = 1
    """Reads, and writes whose points have ids: twice has the same effect as once."""
    REFUSED = 2
    """Deletes: a second one would tell other numbers, or delete what was stored meanwhile. They are
    repeated where the service says that it did nothing, or nothing was sent."""


class Attempts:
    """The attempts of one call: how long the next may take, and how long to wait before it."""

    def __init__(self, repeat: Repeat, retries: int, timeout: float) -> None:
        """
        Args:
            repeat: What the call allows.
            retries: Attempts after the first one.
            timeout: Seconds for all attempts and what is waited between them.
        """
        self._repeat = repeat
        self._retries = retries
        self._deadline = time.monotonic() + timeout
        self._failures = 0

    def timeout(self) -> float:
        """Seconds that are left."""
        return max(self._deadline - time.monotonic(), 0.0)

    def delay_after(self, error: VectordError) -> float | None:
        """Seconds to wait before the next attempt; None where there is to be none."""
        self._failures += 1
        is_safe = self._repeat is Repeat.ALWAYS or error.is_refusal
        if not (error.retryable and is_safe) or self._failures > self._retries:
            return None
        delay = delay_of(self._failures, error)
        return delay if delay < self.timeout() else None


class Resumption:
    """The attempts of a stream of messages that a new call can go on with: each message that comes
    begins them anew."""

    def __init__(self, retries: int, timeout: float) -> None:
        """
        Args:
            retries: Attempts to bring the next message, after the first one.
            timeout: Seconds within which it has to come.
        """
        self._retries = retries
        self._timeout = timeout
        self._attempts = self._begin()
        self._has_come = False

    def timeout(self) -> float:
        """Seconds that are left."""
        return self._attempts.timeout()

    def message_came(self) -> None:
        """Notes that the present call has brought something."""
        self._has_come = True

    def delay_after(self, error: VectordError) -> float | None:
        """Seconds to wait before the next attempt; None where there is to be none."""
        if self._has_come:
            self._has_come = False
            self._attempts = self._begin()
            # The time is that of one call, which a long stream outlives.
            if isinstance(error, TimedOutError):
                return 0.0
        return self._attempts.delay_after(error)

    def _begin(self) -> Attempts:
        return Attempts(Repeat.ALWAYS, self._retries, self._timeout)


class Patience:
    """The attempts to bring one batch of a load to a service that may be gone for a while."""

    def __init__(self, patience: float) -> None:
        """
        Args:
            patience: Seconds from the first failure on.
        """
        self._patience = patience
        self._deadline: float | None = None
        self._failures = 0

    def delay_after(self, error: VectordError) -> float | None:
        """Seconds to wait before the next attempt; None where there is to be none."""
        if not error.retryable:
            return None
        now = time.monotonic()
        self._deadline = self._deadline or now + self._patience
        self._failures += 1
        left = self._deadline - now
        return min(delay_of(self._failures, error), left) if left > 0 else None


def delay_of(failures: int, error: VectordError) -> float:
    """The delay in seconds after so many failures. It doubles each time, and is jittered, so that
    clients do not come back all at once."""
    delay = min(_FIRST_DELAY_S * 2.0 ** min(failures - 1, 16), _GREATEST_DELAY_S)
    return max(delay, error.retry_after or 0.0) * random.uniform(0.75, 1.25)
