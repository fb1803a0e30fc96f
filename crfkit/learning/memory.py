"""Memory: estimates for a training run, and limits on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from crfkit.constants import BLOCK_SEQUENCES, CHUNK_TOKENS
from crfkit.errors import FileError, TrainingError
from crfkit.groups import memory_limits
from crfkit.options import Run
from crfkit.replacing import empty_folders_removed
from crfkit.trainers import trainer_class
from crfkit.values import named, shown, size

if TYPE_CHECKING:
    from .corpus import Corpus

DOUBLE = 8
WEIGHT = 4
INDEX = 32  # about this many bytes for each attribute when the model is made: its tables and its string


def in_use() -> tuple[int, int]:
    """Bytes of memory in use by this process now, and at its peak; zeros if the system does not tell."""
    now, peak = _status("VmRSS"), _status("VmHWM")
    if now and peak:
        return now, peak
    try:
        import resource
    except ImportError:
        return 0, 0
    # Of a process that was started by a larger one, this is the peak of the larger one.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return peak, peak


def _status(name: str) -> int:
    """Bytes that Linux reports of this process under a name; 0 where it does not."""
    with suppress(OSError), open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        for line in status:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) << 10
    return 0


def of_machine() -> int:
    """Bytes of memory that this machine has, or that the group of its process may take; 0 if the system does not tell."""
    found = memory_limits()
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=0)


def check_data_dir(path: str | None) -> None:
    """FileError if files cannot be made in the folder for data, if there is to be one."""
    if path is None:
        return
    import tempfile

    try:
        with empty_folders_removed(path):
            os.makedirs(path, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
    except FileExistsError:
        raise FileError(f"{path}: is a file, expected a folder for data") from None
    except OSError as error:
        raise FileError(f"{named(path)}: cannot keep data there: {error.strerror}") from None
    except ValueError:  # a zero byte
        raise FileError(f"{shown(path)}: not a file name") from None


def lattice_bytes(corpus: Corpus, summed: bool = False) -> int:
    """The scratch of one thread for the longest sequence, with matrices, lists or changes where rich features make edges differ, but without
    tables of all pairs of labels. `summed`: best paths are never searched."""
    from crfkit.lattice.forms import bytes_of_steps

    width, longest, rich = (len(corpus.dataset.labels) + 7) // 8 * 8, corpus.dataset.longest, corpus.dataset.n_incidences[1]
    most = -(-rich // max(corpus.dataset.n_tokens - corpus.dataset.n_sequences, 1))
    steps = bytes_of_steps(corpus.layout, min(longest, rich), most, summed)
    return DOUBLE * width * 6 * longest + steps


def threads_with_work(corpus: Corpus, options: Any, threads: int) -> int:
    """How many of these threads a trainer needs: small data need fewer."""
    shares = corpus.dataset.n_tokens // CHUNK_TOKENS if hasattr(options, "max_iter") else corpus.dataset.n_sequences // BLOCK_SEQUENCES
    return min(threads, 1 + shares)


def expected_memory(corpus: Corpus, algorithm: str, options: Any, threads: int, taggers: int = 0) -> int:
    """Estimated peak memory of training with so many threads, and so many that tag development data: what is in use now, and
    what the trainer keeps. 0 if the system does not tell what is in use."""
    from crfkit.data.ordered import WINDOW_BYTES
    from crfkit.lattice.forms import bytes_of_tables

    in_files = corpus.dataset.folder is not None
    now, peak = in_use()
    if in_files:  # without what stands in them, if the system tells it apart
        now, peak = _status("RssAnon") or now, 0
    if not now:
        return 0
    threads = threads_with_work(corpus, options, threads)
    own = trainer_class(algorithm).expected_bytes(corpus.dataset, corpus.layout, options, threads)
    own += sum(corpus.layout.n_attributes) * INDEX
    if taggers:  # the best weights, those to be scored, and the decoder's copy of them; online trainers count one, which the model takes later
        own += corpus.layout.n_cells * WEIGHT * (3 if hasattr(options, "max_iter") else 2)
    if in_files and not hasattr(options, "max_iter"):  # what is in memory of them
        own += min(WINDOW_BYTES, corpus.dataset.n_incidences[0] * 8 + corpus.dataset.n_tokens * 16)
    summed = not trainer_class(algorithm).looks_for_paths
    own += threads * (lattice_bytes(corpus, summed) + bytes_of_tables(corpus.layout, summed))
    # scores of all pairs, and their potentials in rows and in columns
    of_taggers = 3 * DOUBLE * len(corpus.dataset.labels) ** 2 if corpus.layout.has_tau else bytes_of_tables(corpus.layout, False)
    return max(peak, now + own + taggers * (lattice_bytes(corpus) + of_taggers))


def check_memory(expected: int, options: Any, run: Run, savings: Callable[[], list[str]]) -> str | None:
    """TrainingError if training would take more than the limit; without one, a warning if it would take more than this machine has, as the system
    kills such a run. Both suggest what would take less, `savings` among it."""
    limit = size(run.max_memory)
    most = of_machine() or expected if limit is None else limit
    if expected <= most:
        return None
    ways = ["use an online trainer such as sgd or perceptron"] if hasattr(options, "max_iter") else []
    ways += [*savings(), *["take --features observed"] * (run.features == "all")]
    *others, last = ways
    advice = f"{', '.join(others)}, or {last}" if others else last
    would = f"training would take about {expected / 2**20:,.0f} MB of memory, more than"
    if limit is None:
        return f"{would} the {most / 2**20:,.0f} MB of this machine: {advice}"
    raise TrainingError(f"{would} --max-memory {run.max_memory}: {advice}")
