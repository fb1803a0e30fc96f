"""Workers of dask.distributed: the same bytes as on one machine, even if workers die. If the scheduler dies, the run ends."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import start
from workers import TEMPLATE, corpus, on_one_machine

import crfkit
from crfkit import errors

needs_dask = [
    pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs dask.distributed"),
    pytest.mark.long,
    pytest.mark.steady,
]
SCRIPT = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
    print(cluster.scheduler_address, *(worker.pid for worker in cluster.workers.values()), flush=True)
    sys.stdin.read()
    cluster.close()
"""

IN_ONE_PROCESS = f"""
import crfkit
from distributed import LocalCluster
from crfkit.cluster import scheduler
with LocalCluster(n_workers=3, threads_per_worker=2, processes=False, dashboard_address=None, silence_logs=50) as cluster:
    crfkit.learn("train.txt", {TEMPLATE!r}, warm_up=0, max_iter=5, cluster=cluster.scheduler_address).save("model")
    assert not scheduler._services
"""


@contextmanager
def cluster(n):
    """A scheduler with n workers, processes of a process: its address, the process, and those of the workers."""
    Path("cluster.py").write_text(SCRIPT)
    process = subprocess.Popen([sys.executable, "cluster.py", str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address, *pids = process.stdout.readline().split()
    try:
        yield address, process, [int(pid) for pid in pids]
    finally:
        process.stdin.close()
        process.wait(timeout=120)
        process.stdout.close()


def learned(address, *arguments, code=0):
    """What `crfkit learn --cluster` writes, and says."""
    Path("template").write_text(TEMPLATE)
    run = start("learn", "--cluster", address, *arguments, "template", "train.txt", "model")
    _, said = run.communicate(timeout=300)
    assert run.returncode == code, said
    return Path("model").read_bytes() if code == 0 else None, said


class TestWithScheduler:
    pytestmark = needs_dask

    @pytest.mark.parametrize("n", [1, 2, 4])
    def test_same_bytes(self, tmp_path, n):
        train = corpus(tmp_path / "train.txt", 800)
        with cluster(n) as (address, _, _):
            for algorithm in ("lbfgs", "owlqn"):
                assert learned(address, "-a", algorithm, "--max-iter", 5)[0] == on_one_machine(train, TEMPLATE, algorithm, max_iter=5)
            many, _ = learned(address, "-a", "perceptron", "--passes", 3)
        crfkit.learn(train, TEMPLATE, "perceptron", passes=3, workers=2).save("other")
        assert many == Path("other").read_bytes()

    def test_several_workers_in_one_process(self, tmp_path):
        """As in notebooks."""
        train = corpus(tmp_path / "train.txt", 800)
        (tmp_path / "program.py").write_text(IN_ONE_PROCESS)
        subprocess.run([sys.executable, "program.py"], check=True, timeout=300)
        assert Path("model").read_bytes() == on_one_machine(train, TEMPLATE, "lbfgs", max_iter=5)

    @pytest.mark.parametrize("seed", range(5))
    def test_workers_are_killed(self, tmp_path, seed):
        """Kill the workers; dask replaces them."""
        rng = random.Random(seed)
        one = on_one_machine(corpus(tmp_path / "train.txt", 1500), TEMPLATE, "lbfgs", max_iter=30)
        with cluster(2) as (address, _, pids):
            timers = [threading.Timer(1 + 2 * rng.random(), os.kill, (pid, signal.SIGKILL)) for pid in pids[: 1 + seed % 2]]
            for timer in timers:
                timer.start()
            assert learned(address, "--max-iter", 30)[0] == one
            for timer in timers:
                timer.join()

    def test_a_worker_that_stalls_is_not_waited_for(self, tmp_path):
        corpus(tmp_path / "train.txt", 300)
        with cluster(2) as (address, _, pids):
            Path("template").write_text(TEMPLATE)
            run = start("learn", "--cluster", address, "--worker-timeout", 2, "-a", "perceptron", "--passes", 100, "template", "train.txt", "model")
            try:
                while not run.stderr.readline().startswith("pass"):
                    assert run.poll() is None
                os.kill(pids[0], signal.SIGSTOP)
                _, said = run.communicate(timeout=60)
            finally:
                os.kill(pids[0], signal.SIGKILL)
        assert run.returncode == 0
        assert "stalls: another one takes over" in said

    def test_the_scheduler_dies(self, tmp_path):
        train = corpus(tmp_path / "train.txt", 1500)
        Path("template").write_text(TEMPLATE)
        whole = ["--checkpoint", "run", "--resume", "template", "train.txt", "model"]
        with cluster(2) as (address, process, _):
            run = start("learn", "--cluster", address, "--max-iter", 1000, "--delta", 0, "--epsilon", 0, *whole)
            said = []
            for line in run.stderr:
                said.append(line)
                if line.startswith("pass    3"):
                    process.kill()
            run.communicate(timeout=300)
            assert run.returncode == 1
        wrong = [line for line in said if "error" in line]
        assert len(wrong) == 1, said
        assert "the scheduler does not answer any more" in wrong[0] and said[-1] == wrong[0]
        passes = sum(line.startswith("pass ") for line in said)
        with cluster(1) as (address, _, _):
            learned(address, "--max-iter", passes + 3, "--delta", 0, "--epsilon", 0, "--checkpoint", "run", "--resume")
        assert Path("model").read_bytes() == on_one_machine(train, TEMPLATE, "lbfgs", max_iter=passes + 3, delta=0.0, epsilon=0.0)

    def test_an_address_without_a_scheduler_is_an_error(self, tmp_path):
        corpus(tmp_path / "train.txt", 10)
        for address, shown in (("tcp://127.0.0.1:9", "tcp://127.0.0.1:9"), ("", "''")):
            _, said = learned(address, code=1)
            assert said.startswith(f"crfkit: error: {shown}: no scheduler answers there") and said.count("\n") == 1


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(errors.OptionError, match=r"dask\.distributed, which is not installed"):
        crfkit.learn("train", TEMPLATE, cluster="tcp://127.0.0.1:1")
