/** Which keys and gestures are there? A sheet over the viewer. */

import { h } from './dom.js';
import { KEYS } from './keys.js';

const NAMES: Record<string, string> = { ArrowLeft: '←', ArrowRight: '→', Escape: 'Esc' };

export function helpSheet(): HTMLDialogElement {
  const row = (keys: string[], title: string): HTMLElement =>
    h('tr', {}, h('td', {}, ...keys.map(key => h('kbd', {}, NAMES[key] ?? key))), h('td', {}, title));
  const dialog = h(
    'dialog',
    { class: 'help', 'aria-label': 'Keys', click: event => event.target === dialog && dialog.close() },
    h(
      'table',
      {},
      h(
        'tbody',
        {},
        ...KEYS.map(key => row(key.keys, key.title)),
        row(['/'], 'search; Enter: next hit'),
        row(['?'], 'this sheet')
      )
    ),
    h(
      'table',
      {},
      h(
        'tbody',
        {},
        row(['drag'], 'pan'),
        row(['⇧ drag'], 'mark a stretch and sum over it'),
        row(['wheel'], 'zoom (click into the viewer first)'),
        row(['⇧ wheel'], 'pan'),
        row(['double click'], 'zoom to the event')
      )
    ),
    h('form', { method: 'dialog' }, h('button', {}, 'Close'))
  );
  return dialog;
}
