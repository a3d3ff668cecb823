"""A benchmark as one HTML file that needs nothing else: bars with spread, the table, the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#18212f;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.25rem .5rem;border-bottom:1px solid #d5dbe3}
th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}svg{width:100%;height:auto}h2{margin-top:2rem}
@media(prefers-color-scheme:dark){body{color:#e6ebf2;background:#10151d}th,td{border-color:#303a48}}
"""
_COLUMNS = {
    "setup": "setup",
    "task": "task",
    "n": "runs",
    "first_ms": "first, ms",
    "median_ms": "median, ms",
    "p5_ms": "5 %, ms",
    "p95_ms": "95 %, ms",
    "ratio": "ratio to first row",
    "failure": "",
}
_BAR, _LEFT, _WIDTH = 22, 300, 900


def html_report(table: Sequence[Mapping[str, Any]], loads: Mapping[str, float], about: Mapping[str, str]) -> str:
    """The page as text; `about` is printed as it is, names left, values right."""
    tasks = list(dict.fromkeys(row["task"] for row in table))
    charts = "".join(f"<h2>{escape(task)}</h2>{bars([r for r in table if r['task'] == task])}" for task in tasks)
    head = "".join(f"<th>{escape(title)}</th>" for title in _COLUMNS.values())
    rows = "".join(f"<tr>{''.join(f'<td>{_cell(row.get(name))}</td>' for name in _COLUMNS)}</tr>" for row in table)
    facts = {**about, **{f"loading {setup}": f"{milliseconds:.0f} ms" for setup, milliseconds in loads.items()}}
    listed = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in facts.items())
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Triptych benchmark</title><style>{_STYLE}</style>'
        f"<h1>Triptych benchmark</h1><p>Median of each task with the range from 5 to 95 %; setups were run in turn.</p>"
        f"{charts}<h2>All figures</h2><table><tr>{head}</tr>{rows}</table>"
        f"<h2>Machine</h2><table>{listed}</table></html>\n"
    )


def bars(rows: Sequence[Mapping[str, Any]]) -> str:
    """One horizontal bar a row as inline SVG: its median, with a line from the 5 to the 95 % quantile."""
    longest = max((row["p95_ms"] for row in rows), default=0.0) or 1.0
    scale = (_WIDTH - _LEFT - 120) / longest
    parts = []
    for number, row in enumerate(rows):
        top = number * _BAR
        middle = top + _BAR / 2
        parts.append(f'<text x="0" y="{middle + 4}" fill="currentColor">{escape(str(row["setup"]))}</text>')
        if row["failure"]:
            parts.append(f'<text x="{_LEFT}" y="{middle + 4}" fill="#a33">{escape(str(row["failure"]))}</text>')
            continue
        median, low, high = (_LEFT + row[name] * scale for name in ("median_ms", "p5_ms", "p95_ms"))
        parts.append(
            f'<rect x="{_LEFT}" y="{top + 4}" width="{median - _LEFT:.1f}" height="{_BAR - 8}" fill="#2f6fb3"/>'
        )
        parts.append(f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#d9822b" stroke-width="2"/>')
        ratio = "" if row["ratio"] is None else f"  ×{row['ratio']:.2f}"
        label = f"{row['median_ms']:.1f} ms{ratio}"
        parts.append(f'<text x="{max(high, median) + 8:.1f}" y="{middle + 4}" fill="currentColor">{label}</text>')
    return f'<svg viewBox="0 0 {_WIDTH} {len(rows) * _BAR}" font-size="13" role="img">{"".join(parts)}</svg>'


def _cell(value: Any) -> str:
    return "" if value is None else escape(f"{value:.2f}" if isinstance(value, float) else str(value))
