"""A server under test: its processes, its folder, and what they take."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from clients import Refused
from clients.stream import HOST
from crew import slice_crew

M, EF_CONSTRUCTION = 16, 200
START_SECONDS = 120
LOOK_SECONDS = 0.005


class Server:
    user = None
    stop_signal = signal.SIGTERM
    ef = 100
    # The least number of a point that a search does not ask for; 0 for no filter.
    bound = 0

    def __init__(self, metric, dimension, log):
        self.metric, self.dimension, self.log = metric, dimension, log
        self.folder = Path(tempfile.mkdtemp(prefix=f"vectord-servers-{self.title}-"))
        self.data = self.folder / "data"
        self.process = None

    def environment(self):
        return {}

    def prepare(self):
        """What comes before the first start."""

    def ready(self):
        """Whether it takes requests."""
        self.connect()

    def create(self):
        """Makes an empty collection, where that is not there by itself."""

    def learn(self, rows, answer):
        """What the answer to an insert says of the points, where anything depends on it."""

    def index(self):
        """When all points were indexed; a server that answers an insert later than that is done."""
        return time.monotonic()

    def settle(self):
        """What it would do by itself some time after a load, where it can be asked to."""

    def set_ef(self, ef):
        self.ef = ef

    def crew(self, *slice_of_seconds):
        """Its clients at work."""
        return slice_crew(self, *slice_of_seconds)

    def start(self):
        self.launch()
        self.wait_for(self.ready)

    def launch(self):
        # Modules of the benchmark are none of a server's that is written in Python.
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with open(self.log, "a") as log:
            self.process = psutil.Popen(
                [str(word) for word in self.command()],
                cwd=self.folder,
                env={**inherited, **self.environment()},
                user=self.user,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_for(self, attempt):
        """Tries until it works; answers what it answered then."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return attempt()
            except (OSError, Refused, LookupError, ValueError) as error:
                if self.process.poll() is not None:
                    raise Gone(f"it ended with {self.process.returncode}: {self.last_words()}")
                if time.monotonic() > deadline:
                    raise Gone(f"it does not answer: {error}: {self.last_words()}")
            time.sleep(LOOK_SECONDS)

    def last_words(self):
        return " ".join(self.log.read_text(errors="replace").strip().splitlines()[-1:])

    def stop(self):
        """Lets it end in its own way, and makes sure that all of it has ended."""
        if self.process is None:
            return
        family = self.family()
        with suppress(psutil.NoSuchProcess):
            self.process.send_signal(self.stop_signal)
        _, alive = psutil.wait_procs(family, timeout=START_SECONDS)
        for process in alive:
            process.kill()
        self.process.wait()
        self.process = None

    def remove(self):
        """Ends it, and all that it has stored is gone."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def family(self):
        try:
            return [self.process, *self.process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def cpu_seconds(self):
        """Of all its processes, those that have ended and were waited for included."""
        total = 0.0
        for process in self.family():
            with suppress(psutil.NoSuchProcess):
                total += sum(process.cpu_times()[:4])
        return total

    def memory_bytes(self):
        """What is resident, in proportion where processes share it."""
        total = 0
        for process in self.family():
            with suppress(psutil.NoSuchProcess):
                total += process.memory_full_info().pss
        return total

    def disk_bytes(self):
        files = (Path(top) / name for top, _, names in os.walk(self.folder) for name in names)
        total = 0
        for file in files:
            with suppress(FileNotFoundError):
                # Blocks that are taken, which a file with holes has fewer of than its length says.
                total += file.stat().st_blocks * 512
        return total


def free_port():
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return listener.getsockname()[1]


class Gone(Exception):
    """A server that cannot take part, or no longer."""
