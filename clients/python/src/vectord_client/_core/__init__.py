"""Private: what both clients have in common, free of how calls are made."""
