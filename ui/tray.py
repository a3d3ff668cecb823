"""The tray of jobs and the banner: what runs in the background, what it did, and what is offered."""

from __future__ import annotations

from ui.jobs import Job, JobState
from ui.studio import Studio
from ui.words import button, clock, count, note, safe, size

SKIPPED_SHOWN = 200


def tray(studio: Studio) -> str:
    """Every ingest, embedding run and download, newest first."""
    jobs = [job for job in studio.jobs.all() if job.kind in ("ingest", "embed", "pull")]
    return f'<div class="tray">{"".join(_job(job) for job in jobs)}</div>' if jobs else ""


def _job(job: Job) -> str:
    return running(job) if job.active else _finished(job)


def running(job: Job) -> str:
    """A job that waits or runs: bar, count, rate, time left, and the way to stop it."""
    share = 100 * job.done / job.total if job.total else 0
    facts = [_amount(job)]
    if job.rate and job.unit != "bytes":
        facts.append(f"{job.rate:.1f} {job.unit}/s")
    if job.rate and job.unit == "bytes":
        facts.append(f"{size(job.rate)}/s")
    if job.left is not None:
        facts.append(f"{clock(job.left)} left")
    cancel = button("stop", "cancel", "plain", about=f"Cancel {job.title}", job=job.id)
    return (
        f'<div class="job" role="group" aria-label="{safe(job.title)}"><div class="head"><b>{safe(job.title)}</b>'
        f"<span>{safe(' · '.join(facts))}</span>{cancel}</div>"
        f'<progress max="100" value="{share:.1f}" aria-label="{safe(job.title)}"></progress>'
        f'<div class="step">{safe(_short(job.step)) or "&nbsp;"}</div></div>'
    )


def _amount(job: Job) -> str:
    if job.state is JobState.WAITING:
        return "waits for the job before it"
    if not job.total:
        return "starting"
    if job.unit == "bytes":
        return f"{size(job.done)} of {size(job.total)}"
    return f"{job.done:,} of {job.total:,} {job.unit}"


def _finished(job: Job) -> str:
    dismiss = button("clear", "dismiss", "plain quiet", about=f"Dismiss {job.title}", job=job.id)
    tone = "failed" if job.state is JobState.FAILED else "finished"
    return (
        f'<div class="job {tone}" role="status"><div class="head"><b>{safe(job.title)}</b>'
        f"<span>{safe(_outcome(job))}</span>{dismiss}</div>{_skipped(job)}</div>"
    )


def _outcome(job: Job) -> str:
    counts = [f"{job.counts[name]:,} {word}" for name, word in _words(job).items() if job.counts.get(name)]
    text = ", ".join(counts) or job.message or ("nothing to do" if job.state is JobState.DONE else "")
    ending = {JobState.CANCELLED: "cancelled", JobState.FAILED: "failed"}.get(job.state, "")
    message = job.message if counts and job.message else ""
    return " · ".join(part for part in (ending, text, message, f"{job.seconds:.1f} s") if part)


def _words(job: Job) -> dict[str, str]:
    added = "embedded" if job.kind == "embed" else "added"
    return {"added": added, "unchanged": "already here", "skipped": "skipped"}


def _skipped(job: Job) -> str:
    if not job.skipped:
        return ""
    listed = job.skipped[:SKIPPED_SHOWN]
    rows = "".join(f"<li><b>{safe(_short(entry.path))}</b> {safe(entry.reason)}</li>" for entry in listed)
    more = len(job.skipped) - SKIPPED_SHOWN
    rest = f"<li>and {more:,} more</li>" if more > 0 else ""
    summary = f"{count(len(job.skipped), 'file')} skipped, and why"
    return f"<details open><summary>{summary}</summary><ul>{rows}{rest}</ul></details>"


def _short(path: str) -> str:
    """The last part of a path; the name of a step stays as it is."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def banner(studio: Studio) -> str:
    """What the person should know now: items without vectors, or that the small model is in use."""
    return _pending(studio) + _nano(studio)


def _pending(studio: Studio) -> str:
    title = studio.embedder.card.title
    for job in studio.jobs.active("embed"):
        text = f"Embedding for {title}: {_amount(job)}. Searches answer from what is done."
        return note(text, "warn", button("stop", "Stop", job=job.id))
    waiting = 0 if studio.jobs.active("ingest") else studio.pending()
    if not waiting:
        return ""
    text = f"{count(waiting, 'item')} not embedded for {title} yet. Searches answer from what is done."
    return note(text, "warn", button("submit", "Embed them now", "solid"))


def _nano(studio: Studio) -> str:
    if not getattr(studio.embedder.card, "builtin", False):
        return ""
    text = "nano is a small model of everyday things, built in to try the app. EmbeddingGemma 2 knows far more."
    pull = next((job for job in studio.jobs.all() if job.kind == "pull"), None)
    if pull and pull.active:
        return note(f"{text} {pull.title}: {_amount(pull)}.", "info", button("stop", "Stop", job=pull.id))
    here = any(row.model == studio.offered and row.here for row in studio.packages())
    if here:
        return note(text, "info", button("apply", "Switch to EmbeddingGemma 2", "solid"))
    if pull and pull.state is JobState.FAILED:
        return note(pull.message, "error", button("download", "Try again", "solid"))
    offer = next((row for row in studio.packages() if row.model == studio.offered), None)
    if offer is None:
        return ""
    return note(text, "info", button("download", f"Download it ({size(offer.size)})", "solid"))
