"""Does the page let nothing run, load or break out?"""

from __future__ import annotations

import base64
import hashlib
import re

from hypothesis import given
from hypothesis import strategies as st

from gradviz.report.page import document, escaped, style


def policy(page: str) -> str:
    return re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@given(st.text())
def test_escaped_text_is_only_text(text):
    assert not set("<>\"'") & set(escaped(text))


def test_a_static_page_may_run_nothing():
    page = document("a <title>", "<main></main>")
    assert "default-src 'none'" in policy(page)
    assert "script-src 'none'" in policy(page)
    assert digest(re.search("<style>(.*?)</style>", page, re.DOTALL)[1]) in policy(page)
    assert "<title>a &lt;title&gt;</title>" in page
    assert "<script" not in page


def test_a_viewer_may_run_one_script():
    script = "mount(document.body)"
    page = document("x", '<div></div><script type="application/octet-stream">AAAA</script>', script)
    assert f"script-src '{digest(script)}'" in policy(page)
    assert page.count(f"<script>{script}</script>") == 1
    assert page.index("AAAA") < page.index(script)


def test_the_style_asks_for_nothing():
    assert not re.search(r"@import|url\(|</", style())
