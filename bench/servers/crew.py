"""Clients at work: a process for each connection, so that they do not wait for one another."""

import gc
import time
from array import array
from multiprocessing import get_context

# What is made ready before a fork is there in each process after it.
FORK = get_context("fork")

# Until all have connected and what is used is in the caches.
WARM_UP_SECONDS = 0.5


class Crew:
    """Processes that each do `work(number)`."""

    def __init__(self, count, work):
        self.members = [self.begin(work, number) for number in range(count)]

    def begin(self, work, number):
        mine, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(target=run, args=(work, number, theirs), daemon=True)
        process.start()
        theirs.close()
        return process, mine

    def results(self):
        found = [pipe.recv() for _, pipe in self.members]
        for process, _ in self.members:
            process.join()
        for one in found:
            if isinstance(one, Exception):
                raise one
        return found


def run(work, number, pipe):
    # A pause of the collector would count as the server's.
    gc.disable()
    try:
        pipe.send(work(number))
    except Exception as error:
        pipe.send(error)


def sleep_until(moment):
    time.sleep(max(0.0, moment - time.monotonic()))


def closed_loop(server, requests, first, start, end, cycle=True):
    """Calls one after the other until the end. What lies between start and end counts."""
    connection = server.connect()
    call, now = connection.call, time.monotonic
    latencies, last, index = array("d"), {}, first
    before = now()
    begun = cpu = None
    while before < end and index < len(requests):
        if begun is None and before >= start:
            begun, cpu = before, time.process_time()
        answer = call(requests[index])
        after = now()
        if begun is not None:
            latencies.append(after - before)
        last[index] = answer
        index += 1
        if cycle and index == len(requests):
            index = 0
        before = after
    if not latencies:
        raise TimeoutError("no call began in the time that counts")
    used = time.process_time() - cpu
    return {"latencies": latencies, "seconds": before - begun, "cpu": used, "last": last}


def slice_crew(server, requests, connections, start, end, cycle):
    """A client for each connection; they begin at requests that lie apart."""

    def work(number):
        first = number * len(requests) // connections
        return closed_loop(server, requests, first, start, end, cycle)

    return Crew(connections, work)


def send_all(server, requests):
    """All requests over as many connections as the server loads by; answers the answers in order,
    when the first one was sent and when the last one was answered.
    """
    begin = time.monotonic() + WARM_UP_SECONDS

    def work(number):
        connection = server.connect()
        sleep_until(begin)
        mine = requests[number :: server.LOADERS]
        answers = [connection.call(request) for request in mine]
        return answers, time.monotonic()

    found = Crew(server.LOADERS, work).results()
    answers = [None] * len(requests)
    for number, (some, _) in enumerate(found):
        answers[number :: server.LOADERS] = some
    return answers, begin, max(answered for _, answered in found)
