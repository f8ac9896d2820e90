"""Private: the messages of the service; see generate.sh."""
