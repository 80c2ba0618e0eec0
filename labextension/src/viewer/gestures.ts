/** How do mouse, wheel and touchpad move a picture that lies on the shared axis? */

import { zoomed } from './scale.js';
import { GUTTER_PX, Session } from './session.js';

export interface Targets {
  click(x: number, y: number): void;
  hover(x: number, y: number, event: PointerEvent): void;
  leave(): void;
  doubleClick?(x: number, y: number): void;
  /** Whether a plain wheel should scroll the lanes rather than zoom. */
  scrolls?(x: number): boolean;
}

const CLICK_PX = 3;

export function attachGestures(element: HTMLElement, session: Session, targets: Targets): void {
  let drag: { x: number; y: number; area: boolean; moved: boolean } | null = null;
  const { state } = session;
  const scale = () => session.scale(element.clientWidth);
  const at = (event: MouseEvent): [number, number] => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  element.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    const [x, y] = at(event);
    drag = { x, y, area: event.shiftKey, moved: false };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener('pointermove', event => {
    const [x, y] = at(event);
    if (!drag) return targets.hover(x, y, event);
    if (!drag.moved && Math.abs(x - drag.x) < CLICK_PX && Math.abs(y - drag.y) < CLICK_PX) return;
    drag.moved = true;
    targets.leave();
    if (drag.area) {
      const [a, b] = [scale().value(Math.max(GUTTER_PX, drag.x)), scale().value(Math.max(GUTTER_PX, x))];
      state.set({ area: { from: Math.min(a, b), to: Math.max(a, b) } });
    } else {
      const shift = (drag.x - x) * scale().perPx;
      const { from, to } = state.now.range;
      session.setRange({ from: from + shift, to: to + shift });
      drag.x = x;
    }
  });
  element.addEventListener('pointerup', event => {
    if (drag && !drag.moved) {
      if (state.now.area) state.set({ area: null });
      targets.click(...at(event));
    } else if (drag?.area) state.set({ panel: 'table' });
    drag = null;
  });
  element.addEventListener('pointercancel', () => (drag = null));
  element.addEventListener('pointerleave', () => targets.leave());
  element.addEventListener('dblclick', event => targets.doubleClick?.(...at(event)));
  element.addEventListener('wheel', event => wheel(event, at(event)[0]), { passive: false });

  /** A page that holds the viewer keeps its wheel until somebody has clicked into the viewer. */
  function wheel(event: WheelEvent, x: number): void {
    const pinch = event.ctrlKey || event.metaKey;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!pinch && !sideways && (!session.root.matches(':focus-within') || targets.scrolls?.(x))) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    const { range } = state.now;
    if (sideways && !pinch) {
      const shift = (event.deltaX || event.deltaY) * unit * scale().perPx;
      session.setRange({ from: range.from + shift, to: range.to + shift });
    } else {
      session.setRange(
        zoomed(range, Math.exp(event.deltaY * unit * (pinch ? 0.01 : 0.002)), scale().value(Math.max(GUTTER_PX, x)))
      );
    }
  }
}
