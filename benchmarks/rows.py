"""Rows of the table of targets: what was measured, beside what it is compared with, and what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

HEADS = ("what", "ours", "beside", "ratio", "target", "met")


class Row(NamedTuple):
    """As printed."""

    what: str
    ours: str
    peer: str = ""
    ratio: str = ""
    target: str = ""
    met: str = ""


def shown(value: float, unit: str) -> str:
    """With as many digits as say something: seconds as s or ms, bytes as MB, others as whole numbers."""
    if value == float("inf"):
        return "not reached"
    if unit == "s":
        return f"{1000 * value:.2f} ms" if value < 0.01 else f"{value:.3f} s" if value < 10 else f"{value:.1f} s"
    return f"{value / 1e6:,.0f} MB" if unit == "B" else f"{value:,.0f} {unit}"


def yes(met: bool) -> str:
    """Of a target."""
    return "yes" if met else "no"


def against(what: str, ours: float, name: str, peer: float | None, target: float | None, unit: str = "s") -> Row:
    """Ours in seconds or bytes is to be at most a `target`-th of that of a peer; None: it is not installed, or no target."""
    wanted = "" if target is None else f"1/{target:g}"
    if peer is None:
        return Row(what, shown(ours, unit), f"{name}: not installed", target=wanted, met="?" if wanted else "")
    met = "" if target is None else yes(peer >= target * ours)
    return Row(what, shown(ours, unit), f"{name}: {shown(peer, unit)}", f"1/{peer / ours:.2f}", wanted, met)


def rate(what: str, ours: float, name: str, peer: float | None, target: float | None) -> Row:
    """Ours, something a second, is to be at least `target` times the peer's."""
    wanted = "" if target is None else f"{target:g} times"
    if peer is None:
        return Row(what, shown(ours, "/s"), f"{name}: not installed", target=wanted, met="?" if wanted else "")
    met = "" if target is None else yes(ours >= target * peer)
    return Row(what, shown(ours, "/s"), f"{name}: {shown(peer, '/s')}", f"{ours / peer:.2f} times", wanted, met)


def at_most(what: str, ours: float, limit: float) -> Row:
    """Seconds with a limit of their own."""
    return Row(what, shown(ours, "s"), target=f"at most {shown(limit, 's')}", met=yes(ours <= limit))


def at_least(what: str, ours: float, limit: float) -> Row:
    """Something a second that is to reach a number."""
    return Row(what, shown(ours, "/s"), target=f"at least {shown(limit, '/s')}", met=yes(ours >= limit))


def growth(what: str, ours: float, name: str, base: float, limit: float, unit: str = "s") -> Row:
    """A figure of ours against another one of ours, whose `limit`-fold it must not exceed."""
    ratio, target = f"{ours / base:.2f} times", f"at most {limit:g} times"
    return Row(what, shown(ours, unit), f"{name}: {shown(base, unit)}", ratio, target, yes(ours <= limit * base))


def as_markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, the first column flush left."""
    lines = [heads, ("---", *["--:"] * (len(heads) - 1)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
