"""Scheduling jobs on workers, and reassigning the jobs of a worker that died.

A job is a number. It stays with the worker that did it first, which holds its data, as long as that worker lives.
Each job's answer is accepted once, whichever worker gave it, so results do not depend on which worker died when.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from crfkit.errors import CrfkitError, TrainingError
from crfkit.parallel import available_cpus

from .messages import MessageError
from .serving import Forgotten, Transport, value_of

PATIENCE = 5  # workers in a row that may die while doing one job
WAIT = 1.0  # seconds between two checks for live workers
DIED, STALLS, ANEW = "died", "stalls", "was started anew"  # what is said of a worker that is lost; only the last one can go on


def connected(workers: int | None, cluster: str | None, service: str) -> Transport:
    """The connection to so many processes of this machine, or to the workers of a scheduler at this address."""
    if workers is not None:
        from .processes import Processes

        return Processes(workers, service)
    from .scheduler import Scheduler

    return Scheduler(cluster or "", service)


def threads_each(threads: int, workers: int | None) -> int:
    """Threads of each worker; 0: as many as this machine has for one of so many workers, else one."""
    return threads or (max(1, available_cpus() // workers) if workers else 1)


class Crew:
    """Workers and their jobs. One that does not answer within `limit` seconds is given up; `note` is told of it, and of those that died."""

    def __init__(self, transport: Transport, limit: float, note: Callable[[str], Any]):
        self.transport, self.limit, self.note = transport, limit, note
        self.owner: dict[int, str] = {}
        self.memory: dict[str, set[Any]] = {}  # what each worker holds, as recorded by the argument `steps` of `run`
        self.deaths: Counter[int] = Counter()
        self.stalled = False  # whether one has been given up for that
        self.seen = time.monotonic()  # when a worker was last available
        # Of the run under way:
        self.waiting: list[int] = []  # jobs, in their order
        self.busy: dict[str, tuple[list[int], float]] = {}  # workers with the jobs they were given, and when
        self.failed: dict[int, CrfkitError] = {}  # jobs with their errors

    def run(
        self,
        jobs: Sequence[int],
        steps: Callable[[set[Any], list[int]], list[Any]],
        accept: Callable[[list[int], Any], Any],
        grouped: bool = False,
        bound: bool = True,
    ) -> None:
        """Run all jobs, one at a time or (grouped) all jobs of a worker in one request. steps(memory, jobs) gives the steps
        to request, and records in `memory` what the worker then holds; accept(jobs, answer) takes an answer, or raises
        an error if it is malformed. Unless `bound`, any worker may do any job. Raises the error of the first job that failed.
        """
        self.waiting, self.busy, self.failed = list(jobs), {}, {}
        while self.waiting or self.busy:
            self._hand_out(steps, grouped, bound)
            found = self.transport.wait(WAIT)
            now = time.monotonic()
            for worker, (_, asked) in list(self.busy.items()):
                if worker not in self.memory:
                    self._give_up(worker, DIED)
                elif found is None and now - asked > self.limit:  # else its answer may still be in the queue
                    self._give_up(worker, STALLS)
            if found is None or (found[0] not in self.busy and found[1] is not None):
                continue
            worker, own = found[0], self.busy.get(found[0], ([],))[0]
            if fault := self._taken(own, found[1], accept):
                self._give_up(worker, fault)
                continue
            del self.busy[worker], found  # all weights may be in it
            for job in own:
                self.deaths[job] = 0
        if self.failed:
            raise self.failed.pop(min(self.failed))

    def _hand_out(self, steps: Callable[..., Any], grouped: bool, bound: bool) -> None:
        """Send waiting jobs to idle workers."""
        here = self.transport.workers()
        self.memory = {worker: self.memory.get(worker, set()) for worker in here}
        if here or self.transport.replace():
            self.seen = time.monotonic()
        elif time.monotonic() - self.seen > self.limit:
            others = ", except those that stalled: raise --worker-timeout if their work takes longer" if self.stalled else ""
            raise TrainingError(f"no worker for {self.limit:g} seconds{others}")
        idle = [worker for worker in here if worker not in self.busy]
        for number, worker in enumerate(idle):
            mine = self.waiting[:1]
            if bound:
                own = [job for job in self.waiting if self.owner.get(job) == worker]
                free = [job for job in self.waiting if self.owner.get(job) not in self.memory]
                mine = own + free[: -(-len(free) // (len(idle) - number))] if grouped else (own or free)[:1]
                self.owner.update(dict.fromkeys(mine, worker))
            if not mine:
                continue
            for job in mine:
                self.waiting.remove(job)
            self.busy[worker] = (mine, time.monotonic())
            self.transport.send(worker, {"steps": steps(self.memory[worker], mine)})

    def _taken(self, own: list[int], message: Any, accept: Callable[[list[int], Any], Any]) -> str:
        """Take the answer to these jobs; what is to be said of the worker if it is lost, or nothing."""
        if message is None:
            return DIED
        try:
            accept(own, value_of(message))
        except Forgotten:
            return ANEW
        except (CrfkitError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if not isinstance(error, CrfkitError) or isinstance(error, MessageError):
                return "answers nonsense"
            self.failed[own[0]] = error  # the fault of the job, not of the worker
            self.waiting = [job for job in self.waiting if job < min(self.failed)]
        return ""

    def _give_up(self, worker: str, fault: str) -> None:
        """Put the jobs of a worker that is lost, or has lost its data, back into the queue, but none behind one that failed."""
        own = [job for job in self.busy.pop(worker, ([],))[0] if not self.failed or job < min(self.failed)]
        self.stalled = self.stalled or fault == STALLS
        self.memory.pop(worker, None)
        if fault != ANEW:
            self.transport.drop(worker)
        self.waiting = sorted([*own, *self.waiting])
        self.note(f"{worker} {fault}: " + ("another one takes over" if own else "the others go on"))
        for job in own:
            self.deaths[job] += 1
            if self.deaths[job] > PATIENCE:
                if fault == STALLS:
                    raise TrainingError(f"{self.deaths[job]} workers stalled at the same work, for {self.limit:g} seconds each: raise --worker-timeout if it takes longer")
                raise TrainingError(f"{self.deaths[job]} workers died at the same work, one after another: do they have enough memory?")
        if fault != ANEW:
            self.transport.replace()
