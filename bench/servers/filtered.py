"""Searches under filters that shares of the points match, over one connection."""

from statistics import median

from curve import LADDER
from figures import over_best, spread
from filters import JUDGED, SHARES, TIMES_PEER, bound, by_share, named
from measure import choose_ef, search
from phases import Run
from server import Gone
from targets import OWN

# Connections, queries in a request, and whether the answers have a payload.
ONE = 1, 1, False


class FilteredRun(Run):
    """A breadth for each server and each filter, and then rounds of searches under each filter."""

    def all_phases(self):
        self.load()
        self.sets = by_share(self.data)
        self.efs = {name: {} for name in self.running}
        for share in SHARES:
            self.attempt("choose", lambda server: self.choose_under(server, share), 0)
        for turn in range(self.options.rounds):
            for share in SHARES:
                self.attempt(phase(share), lambda server: self.search_under(server, share), turn)
            print(f"  round {turn + 1} of {self.options.rounds} of searches", flush=True)

    def choose_under(self, server, share):
        server.bound = bound(share)
        try:
            chosen = choose_ef(server, self.sets[share], LADDER, self.contest.recall)
        except Gone as gone:
            print(f"  {server.title}, {named(share)}: {gone}", flush=True)
            return
        self.efs[server.title][share] = chosen["ef"]
        print(f"  {server.title}, {named(share)}: {chosen}", flush=True)

    def search_under(self, server, share):
        ef = self.efs[server.title].get(share)
        if ef is None:
            return None
        server.bound = bound(share)
        server.set_ef(ef)
        return search(server, self.sets[share], ONE, self.options.seconds)


def phase(share):
    return f"filter {named(share)}"


def filter_tables(run):
    name = run.data.case.name
    yield {"title": f"Searches a second, {name}", "rows": [rates(run, share) for share in SHARES]}
    rows = [details(run, share, server) for share in SHARES for server in run.measured]
    yield {"title": f"Each server, {name}", "rows": rows}


def rates(run, share):
    row = {"filter matches": named(share)}
    for server in run.measured:
        found = rate(run, server, share)
        row[server] = spread(found) if found else "not reached"
    own = rate(run, OWN, share)
    row["vectord over the best"] = spread(over_others(run, share), 2)
    unfiltered = rate(run, OWN, None)
    row["over its unfiltered"] = spread([a / b for a, b in zip(own, unfiltered)], 3)
    return row


def details(run, share, server):
    rounds = run.measured[server].get(phase(share), [])
    return {
        "filter matches": named(share),
        "server": server,
        "ef": run.efs[server].get(share, "-"),
        "recall@10": spread([one["recall"] for one in rounds], 3),
        "p50 ms": spread([one["p50_ms"] for one in rounds], 2),
        "p99 ms": spread([one["p99_ms"] for one in rounds], 2),
        "server CPU us": spread([one["cpu_us"] for one in rounds]),
    }


def filter_verdicts(run):
    name = run.data.case.name
    for share in JUDGED:
        found = over_others(run, share)
        yield {
            "what": f"{name}, {named(share)} match: vectord over the best",
            "found": spread(found, 2) if found else "no other has run",
            "target": f"at least {TIMES_PEER}",
            "met": median(found) >= TIMES_PEER if found else None,
        }


def over_others(run, share):
    """In each round vectord's searches over those of the best other that reaches the recall."""
    others = [rate(run, server, share) for server in run.measured if server != OWN]
    reached = [one for one in others if one]
    return over_best(rate(run, OWN, share), reached, max) if reached else []


def rate(run, server, share):
    return [one["rate"] for one in run.measured.get(server, {}).get(phase(share), [])]
