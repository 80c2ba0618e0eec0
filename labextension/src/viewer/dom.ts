/** How is an element made? From text, never from markup: a name in the data can only ever be shown. */

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, string | number | boolean | EventListener | undefined>;

/** `h('button', { class: 'x', click: f }, 'text')`: functions are listeners, other properties attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), props, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function fill<E extends Element>(element: E, props: Props, children: Child[]): E {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(
    ...children
      .filter(c => c !== null && c !== undefined && c !== false)
      .map(c => (typeof c === 'number' ? String(c) : (c as Node | string)))
  );
  return element;
}

/** A term with its value, for lists of facts; nothing where there is no value. */
export const fact = (term: string, ...value: Child[]): Child[] =>
  value.some(v => v !== '' && v !== null && v !== undefined && v !== false)
    ? [h('dt', {}, term), h('dd', {}, ...value)]
    : [];

/** A canvas of the right number of device pixels for its place; null while it is hidden. */
export function context(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  if (!canvas.clientWidth || !canvas.clientHeight) return null;
  const ratio = globalThis.devicePixelRatio || 1;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const ctx = canvas.getContext('2d', { alpha: false });
  ctx?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}
