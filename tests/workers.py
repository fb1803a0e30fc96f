"""Workers without processes: services that are asked in this one, by the messages that processes would get."""

from collections import deque

from crfkit.cluster import serving
from crfkit.cluster.messages import decode, encode


def sent(values):
    """What arrives of a message."""
    head, *pieces = encode(values)
    return decode(head, b"".join(bytes(piece) for piece in pieces))


class Here:
    """N services. `fate(worker, verb, n)` is asked before the n-th step: "dies" before it, "after" it, or what it answers."""

    def __init__(self, n, service, fate=None):
        self.service, self.fate, self.steps, self.started = service, fate or (lambda *_: None), 0, 0
        self.all, self.answers, self.verbs = {}, deque(), []
        for _ in range(n):
            self.replace()

    def workers(self):
        return list(self.all)

    def replace(self):
        self.started += 1
        self.all[f"worker {self.started}"] = serving.service(self.service)
        return True

    def send(self, worker, request):
        request = sent(request)
        after = None
        for verb, _ in request["steps"]:
            self.steps += 1
            self.verbs.append(verb)
            fate = self.fate(worker, verb, self.steps)
            if fate == "dies":
                self.answers.append((worker, None))
                return
            after = fate or after
        answer = sent(serving.answer(self.all[worker], request))
        self.answers.append((worker, None if after == "after" else after if after is not None else answer))

    def wait(self, seconds):
        if not self.answers:
            return None
        worker, answer = self.answers.popleft()
        return (worker, answer) if worker in self.all else None

    def drop(self, worker):
        self.all.pop(worker, None)

    def close(self):
        self.all.clear()
