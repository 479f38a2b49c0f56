"""What every page has in its head: a policy that it asks for nothing outside itself, and a language."""

from html import escape

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob: data:; "
    "style-src 'unsafe-inline' data:; img-src data: blob:; font-src data: blob:; media-src data: blob:; "
    "connect-src data: blob:; "
    "worker-src blob: data:; base-uri 'none'; form-action 'none'"
)
LANGUAGE = """
<script>try{new Intl.NumberFormat(navigator.language)}catch(_){
Object.defineProperty(navigator,"language",{get:()=>"en-US"});
Object.defineProperty(navigator,"languages",{get:()=>["en-US"]});}</script>
"""
"""Under a POSIX locale Chromium's language is `en-US@posix`, with which no number can be written."""


def with_head(page: str, title: str = "", policy: bool = False) -> str:
    """A page of viser with these first in its head. policy: as an element, where no server says it."""
    begin = page.index("<head>") + len("<head>")
    said = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">' if policy else ""
    named = f"<title>{escape(title)}</title>" if title else ""
    return page[:begin] + said + named + LANGUAGE.strip() + page[begin:]
