/** Entry of the live widget (anywidget): asks Python for the bytes in chunks, keeps range and selection in step with its traits. */

import { mount, Range, Selection, Source, Viewer } from './viewer/index.js';

interface Model {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, listener: (...args: never[]) => void): void;
  off(event: string, listener: (...args: never[]) => void): void;
}

interface Chunk {
  kind: 'chunk';
  role: 'after' | 'before';
  version: number;
  offset: number;
}

const SETTLE_MS = 80;

/** The bytes of one run, `chunk_nbytes` at a time: each chunk is asked for when the one before has come. */
function download(model: Model, role: Chunk['role'], version: number): Source {
  return () =>
    new Promise((resolve, reject) => {
      const nbytes = model.get(role === 'after' ? 'nbytes' : 'before_nbytes') as number;
      const bytes = new Uint8Array(nbytes);
      const ask = (offset: number): void => model.send({ kind: 'chunk', role, version, offset });
      const receive = (message: Chunk, buffers: DataView[]): void => {
        if (message?.kind !== 'chunk' || message.role !== role || message.version !== version) return;
        const part = new Uint8Array(buffers[0].buffer, buffers[0].byteOffset, buffers[0].byteLength);
        bytes.set(part, message.offset);
        const next = message.offset + part.length;
        if (next < nbytes && part.length > 0) return ask(next);
        model.off('msg:custom', receive as never);
        if (next < nbytes) reject(new Error('The kernel sent less than it announced.'));
        else resolve(bytes);
      };
      model.on('msg:custom', receive as never);
      ask(0);
    });
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const host = el.appendChild(document.createElement('div'));
  host.style.height = `${Number(model.get('height_px')) || 640}px`;
  const before = (): Source | undefined =>
    Number(model.get('before_nbytes')) > 0 ? download(model, 'before', Number(model.get('version'))) : undefined;
  const after = (): Source => download(model, 'after', Number(model.get('version')));
  const viewer: Viewer = mount(host, after(), { before: before() });
  let timer = 0;
  let echo = '';

  const tell = (key: string, value: Range | Selection | null): void => {
    clearTimeout(timer);
    echo = JSON.stringify(value);
    model.set(key, value);
    timer = setTimeout(() => model.save_changes(), SETTLE_MS) as unknown as number;
  };
  viewer.onRange(range => tell('range_ns', range));
  viewer.onSelect(selection => tell('selection', selection));
  const rangeChanged = (): void => {
    const range = model.get('range_ns') as Range | null;
    if (range && JSON.stringify(range) !== echo) viewer.setRange(range);
  };
  const selectionChanged = (): void => {
    const selection = model.get('selection') as Selection | null;
    if (JSON.stringify(selection) !== echo) viewer.select(selection);
  };
  const versionChanged = (): void => void viewer.update(after(), before());
  const pushed = (message: { kind?: string }, buffers: DataView[]): void => {
    if (message?.kind === 'push')
      void viewer.update(new Uint8Array(buffers[0].buffer, buffers[0].byteOffset, buffers[0].byteLength));
  };
  model.on('msg:custom', pushed as never);
  model.on('change:range_ns', rangeChanged);
  model.on('change:selection', selectionChanged);
  model.on('change:version', versionChanged);
  return () => {
    clearTimeout(timer);
    model.off('msg:custom', pushed as never);
    model.off('change:range_ns', rangeChanged);
    model.off('change:selection', selectionChanged);
    model.off('change:version', versionChanged);
    viewer.destroy();
  };
}

export default { render };
