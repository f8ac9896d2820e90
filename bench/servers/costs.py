"""What a payload costs each server."""

from figures import spread

COSTS = {
    "searches/s, 1 connection": ("one", "rate"),
    "server CPU, 1 connection": ("one", "cpu_us"),
    "searches/s, 8 connections": ("eight", "rate"),
    "server CPU, 8 connections": ("eight", "cpu_us"),
}


def payload_costs(measured):
    """Within each round: a server's figure with payload over that of the ids alone."""
    return [
        {
            "server": server,
            **{what: spread(ratios(phases, *of), 2) for what, of in COSTS.items()},
        }
        for server, phases in measured.items()
    ]


def ratios(phases, mode, figure):
    rounds = zip(phases[f"{mode}-payload"], phases[mode])
    return [some[figure] / none[figure] for some, none in rounds]
