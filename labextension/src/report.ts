/** Entry of the HTML report: mounts the viewer with the profile that lies in the page. */

import { mount, Source } from './viewer/index.js';

const MIME_TYPE = 'application/vnd.gradviz+base64';

function decode(script: HTMLScriptElement): Source {
  return async () => {
    const text = atob((script.textContent ?? '').trim());
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  };
}

/** `data-role="before"` marks the run to compare with; `#gradviz` holds what shows without scripts, and then the viewer. */
function start(): void {
  const scripts = [...document.querySelectorAll<HTMLScriptElement>(`script[type="${MIME_TYPE}"]`)];
  const [before, after] = ['before', 'after'].map(role => scripts.find(s => (s.dataset.role ?? 'after') === role));
  if (!after) return;
  const page = document.getElementById('gradviz') ?? document.body.appendChild(document.createElement('div'));
  const host = document.createElement('div');
  document.body.style.margin = '0';
  host.style.height = '100vh';
  page.replaceChildren(host);
  const viewer = mount(host, decode(after), before ? { before: decode(before) } : {});
  void viewer.ready.then(() => (page.dataset.ready = 'true'));
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
