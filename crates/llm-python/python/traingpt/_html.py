"""A run in a notebook: its curve, and a text that it writes."""

import html as _html


def html(run):
    try:
        parts = [f"<div>{_html.escape(repr(run))}</div>"]
        curve = run._curve()
    except RuntimeError as busy:  # at work in another thread
        return f"<div>{_html.escape(str(busy))}</div>"
    if curve:
        parts.append(f'<div style="max-width: 40em">{curve}</div>')
    if run.step > 0:
        try:
            parts.append(f"<pre>{_html.escape(run.sample(n=120))}</pre>")
        except ValueError:  # token numbers, which are no text
            pass
    return "".join(parts)
