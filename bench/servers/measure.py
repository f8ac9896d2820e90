"""What is measured of a server, a slice of seconds at a time."""

import os
import time

import psutil

from crew import WARM_UP_SECONDS, send_all, sleep_until
from figures import least, percentile
from sets import K
from server import LOOK_SECONDS, Gone

BATCH = 64
SERVED_CONNECTIONS = 8
# How much of one processor a server at rest may use, and for how long that may take to come.
IDLE_SHARE = 0.05
MOST_SETTLING_SECONDS = 60


def load(server, base):
    """Stores all points; the figures of it."""
    rows = [range(start, start + server.BATCH) for start in range(0, len(base), server.BATCH)]
    rows = [range(one.start, min(one.stop, len(base))) for one in rows]
    requests = [server.insert(one, base[one.start : one.stop]) for one in rows]
    cpu = server.cpu_seconds()
    answers, begun, answered = send_all(server, requests)
    for one, answer in zip(rows, answers):
        server.learn(one, answer)
    done = max(until_found(server, base), server.index())
    return {
        "answered_rate": len(base) / (answered - begun),
        "indexed_rate": len(base) / (done - begun),
        "cpu_seconds": server.cpu_seconds() - cpu,
    }


def until_found(server, base):
    """When a search first found the point that was stored last."""
    connection, request = server.connect(), server.search(base[-1])
    deadline = time.monotonic() + MOST_SETTLING_SECONDS
    while True:
        row = next(iter(server.found(connection.call(request))), -1)
        if row >= 0 and (base[row] == base[-1]).all():
            return time.monotonic()
        if time.monotonic() > deadline:
            raise Gone("it does not find what was stored last")
        time.sleep(LOOK_SECONDS)


def settle(server):
    """Waits until it does no more work behind the back of its clients."""
    server.settle()
    deadline = time.monotonic() + MOST_SETTLING_SECONDS
    share = 1
    while share > IDLE_SHARE and time.monotonic() < deadline:
        cpu = server.cpu_seconds()
        time.sleep(1)
        share = server.cpu_seconds() - cpu


def choose_ef(server, data, ladder, recall):
    """The least breadth that reaches the recall, which stays set."""

    def reached(ef):
        server.set_ef(ef)
        connection = server.connect()
        return data.recall(
            [server.found(connection.call(server.search(query))) for query in data.queries]
        )

    ef = least(ladder, lambda ef: reached(ef) >= recall)
    if ef is None:
        raise Gone(f"its recall stays below {recall}")
    return {"ef": ef, "recall": reached(ef)}


def singles(server, data):
    """A request for each query, and which queries each request has."""
    members = [[at] for at in range(len(data.queries))]
    return [server.search(query) for query in data.queries], members


def batches(server, data):
    """Batches of queries that wrap around, until they begin with the first one again."""
    count = len(data.queries)
    members = []
    while not members or (len(members) * BATCH) % count:
        start = len(members) * BATCH
        members.append([at % count for at in range(start, start + BATCH)])
    return [server.search_batch([data.queries[at] for at in some]) for some in members], members


def search(server, data, mode, seconds):
    """A slice of searches: many of them a second, how long they took and what they cost."""
    connections, size, server.payload = mode
    requests, members = (singles if size == 1 else batches)(server, data)
    found, figures = run(server, requests, connections, seconds, size)
    rows = {}
    take = (lambda answer: [server.found(answer)]) if size == 1 else server.found_batch
    for one in found:
        for index, answer in one["last"].items():
            for at, those in zip(members[index], take(answer)):
                rows[at] = those
    # Not every query has its turn in a slice of a slow server; such a one has no part in this.
    hits = data.recall([rows.get(at, []) for at in range(len(data.queries))])
    return {**figures, "recall": hits * len(data.queries) / len(rows)}


def insert(server, rows, vectors, seconds):
    """A slice of single inserts, each sent when the one before is answered."""
    requests = [server.insert_one(row, vector) for row, vector in zip(rows, vectors)]
    _, figures = run(server, requests, 1, seconds, 1, cycle=False)
    return figures


def run(server, requests, connections, seconds, size, cycle=True):
    start = time.monotonic() + WARM_UP_SECONDS
    end = start + seconds
    crew = server.crew(requests, connections, start, end, cycle)
    sleep_until(start)
    cpu, busy, begun = server.cpu_seconds(), busy_seconds(), time.monotonic()
    sleep_until(end)
    cpu, busy, gone = server.cpu_seconds() - cpu, busy_seconds() - busy, time.monotonic() - begun
    found = crew.results()
    latencies = sorted(one for each in found for one in each["latencies"])
    queries = len(latencies) * size
    rate = sum(len(each["latencies"]) * size / each["seconds"] for each in found)
    client = sum(each["cpu"] for each in found)
    return found, {
        "rate": rate,
        "p50_ms": percentile(latencies, 50) * 1e3,
        "p99_ms": percentile(latencies, 99) * 1e3,
        "cpu_us": cpu / gone / rate * 1e6,
        "client_us": client / queries * 1e6,
        "foreign": max(0.0, busy - cpu - client) / gone / os.cpu_count(),
    }


def busy_seconds():
    """The processor time of all that runs on the machine."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0) - times.guest - times.guest_nice


def sizes(server, data):
    """What it takes while it serves, and on disk."""
    connections = [server.connect() for _ in range(SERVED_CONNECTIONS)]
    for at, query in enumerate(data.queries):
        connections[at % len(connections)].call(server.search(query))
    # With the connections open: what only the processes behind them have in use counts too.
    memory = server.memory_bytes()
    server.settle()
    return {"memory_bytes": memory, "disk_bytes": server.disk_bytes()}


def restart(server, query):
    """The seconds from its start to its first answer."""
    server.stop()
    begun = time.monotonic()
    server.launch()

    def first_answer():
        server.ready()
        if len(server.found(server.connect().call(server.search(query)))) < K:
            raise ValueError("fewer points than were asked for")

    server.wait_for(first_answer)
    return time.monotonic() - begun
