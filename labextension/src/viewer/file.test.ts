import { expect, test } from 'vitest';
import { story, write, zip } from '../../fixtures/trace.mjs';
import { Archive } from './file.js';
import { readTrace } from './trace.js';

const made = story(300);
const bytes = write(made);
const broken = (change: (manifest: any) => unknown): Promise<unknown> => readTrace(write(made, change));

test('every column comes back as it was written', async () => {
  const trace = await readTrace(bytes);
  expect(trace.events.rows).toBe(made.rows.events.length);
  expect(Array.from(trace.events.start_ns)).toEqual(made.rows.events.map(row => row[3]));
  expect(Array.from(trace.events.parent)).toEqual(made.rows.events.map(row => row[5]));
  expect(Array.from(trace.buffers.free_ns)).toEqual(made.rows.buffers.map(row => row[4]));
  expect(Array.from(trace.devices.bandwidth_bytes_per_s)).toEqual([2e10, 1.5e12]);
  expect(Array.from((await trace.uses()).how)).toEqual(made.rows.uses.map(row => row[2]));
});

test('a cut file says that it is cut', async () => {
  for (const length of [0, 10, 1000, bytes.length - 30])
    await expect(readTrace(bytes.slice(0, length))).rejects.toThrow(/cut off|not a \.gradviz/);
});

test('a damaged byte is an error or a value, never a hang', async () => {
  for (let at = 40; at < bytes.length; at += 997) {
    const damaged = bytes.slice();
    damaged[at] ^= 0xff;
    await readTrace(damaged).catch(error => expect(error).toBeInstanceOf(Error));
  }
});

test('a newer version asks for a newer gradviz', async () => {
  await expect(broken(m => ({ ...m, version: 2 }))).rejects.toThrow('format version 2');
});

test('announced sizes are checked before memory is taken', async () => {
  await expect(broken(m => ((m.tables.events.rows = 1e8), m))).rejects.toThrow('announced');
  await expect(broken(m => ((m.tables.events.rows = 1e12), m))).rejects.toThrow('claims');
  await expect(broken(m => ((m.tables.events.rows = -1), m))).rejects.toThrow('claims');
});

test('a bomb stops at the announced size', async () => {
  const bomb = zip([['manifest.json', Buffer.alloc(1 << 20, 32)]]);
  new DataView(bomb.buffer).setUint32(bomb.length - 22 - 46 - 13 + 24, 10, true);
  await expect(readTrace(bomb)).rejects.toThrow('more than it announced');
});

test('unknown dtypes and encodings are named', async () => {
  await expect(broken(m => ((m.tables.events.columns.kind.dtype = 'O'), m))).rejects.toThrow(
    'events.kind has unknown dtype O'
  );
  await expect(broken(m => ((m.tables.events.columns.kind.encoding = ['pickle']), m))).rejects.toThrow(
    'unknown encoding'
  );
});

test('references out of range are named', async () => {
  await expect(broken(m => ({ ...m, strings: m.strings.slice(0, 2) }))).rejects.toThrow(
    /points at row \d+ of strings, which has 2/
  );
});

test('what is not a gradviz file says so', async () => {
  await expect(readTrace(zip([['other.txt', Buffer.from('x')]]))).rejects.toThrow('not a .gradviz file');
  await expect(Archive.open(zip([['manifest.json', Buffer.from('{"format": NaN}')]]))).rejects.toThrow(
    'not valid JSON'
  );
});

test('findings with odd values become harmless ones', async () => {
  const odd = { title: 7, cost_ns: 'x', share: null, events: [1, -1, 1e9, 'a'], site: 1e9 };
  const trace = await readTrace(write(made, m => ({ ...m, findings: [odd, null] })));
  expect(trace.findings[0]).toMatchObject({ title: '7', cost_ns: 0, share: 0, events: [1], site: -1 });
});
