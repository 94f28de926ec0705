"""A run in a notebook: its curve, and a text that it writes."""

import html as _html
import re as _re


def html(run):
    try:
        parts = [f"<div>{_html.escape(repr(run))}</div>"]
        curve = run._curve()
    except RuntimeError as busy:  # at work in another thread
        return f"<div>{_html.escape(str(busy))}</div>"
    if curve:
        # As wide as its place: a size in pixels of its own would leave it.
        curve = _re.sub(r'^<svg width="\d+" height="\d+"', '<svg width="100%"', curve)
        parts.append(f'<div style="max-width: 40em">{curve}</div>')
    if run.step > 0:
        try:
            parts.append(f'<pre style="white-space: pre-wrap">{_html.escape(run.sample(n=120))}</pre>')
        except ValueError:  # token numbers, which are no text
            pass
    return "".join(parts)
