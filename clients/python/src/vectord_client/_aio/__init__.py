"""Private: how the asyncio client makes calls."""
