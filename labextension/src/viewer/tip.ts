/** What is under the pointer? A few lines beside it. */

import { h } from './dom.js';

export class Tip {
  readonly element = h('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });

  show(pointer: { clientX: number; clientY: number }, lines: string[]): void {
    this.element.replaceChildren(...lines.filter(Boolean).map(line => h('div', {}, line)));
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = Math.min(pointer.clientX + 14, innerWidth - width - 6);
    const top = pointer.clientY + 18 + height > innerHeight ? pointer.clientY - height - 10 : pointer.clientY + 18;
    this.element.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
