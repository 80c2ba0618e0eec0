"""What surrounds the body of an HTML report."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib.resources import files

from gradviz.report.palette import KIND_COLOURS, ROLE_COLOURS
from gradviz.report.plain import plain


def document(title: str, body: str, script: str = "") -> str:
    """A whole HTML page that needs no network and lets nothing run but ``script``.

    The policy in its head names the one style and the one script by their hashes: a name from the data that found its
    way into the markup could neither run nor load anything.

    Parameters
    ----------
    title : any text
    body : markup; whatever comes from data must be escaped (see `escaped`). Data for a script goes into
        ``<script type="application/octet-stream">`` blocks, base64, which browsers do not run.
    script : JavaScript that runs when the body is there; without it the page is static

    Examples
    --------
    >>> document("Run", "<main>...</main>").startswith("<!doctype html>")
    True
    """
    css = style()
    policy = (
        f"default-src 'none'; style-src '{_hash(css)}'; script-src {repr(_hash(script)) if script else repr('none')}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(title)}</title>\n<style>{css}</style>\n</head>\n<body>\n{body}\n"
        f"{f'<script>{script}</script>' if script else ''}</body>\n</html>\n"
    )


def escaped(text: str, limit: int = 200) -> str:
    """``text`` from the data, safe in markup and in attributes.

    Examples
    --------
    >>> escaped('</script><b title="x">')
    '&lt;/script&gt;&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(plain(text, limit))


def style() -> str:
    """The style of every page: colours by kind and role, then ``page.css``."""
    colours = {f".k-{kind.name.lower()}": colour for kind, colour in KIND_COLOURS.items()}
    colours |= {f".r-{role.name.lower()}": colour for role, colour in ROLE_COLOURS.items()}
    rules = "".join(f"{name}{{fill:{colour}}}" for name, colour in colours.items())
    return (files("gradviz.report") / "page.css").read_text(encoding="utf-8") + rules


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
