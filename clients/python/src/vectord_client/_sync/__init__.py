"""Private: how the synchronous client makes calls."""
