import { beforeAll, expect, test } from 'vitest';
import { story, write } from '../../../fixtures/trace.mjs';
import { readTrace, ROLES, Trace } from '../trace.js';
import { aliveAt, layMemory } from './layout.js';

let trace: Trace;
beforeAll(async () => void (trace = await readTrace(write(story(2000)))));

const total = (time_ns: number): number => aliveAt(trace, time_ns).reduce((sum, b) => sum + trace.buffers.nbytes[b], 0);

test('the curve is the sum of what is alive', () => {
  const { whole } = layMemory(trace);
  for (let i = 0; i < whole.time_ns.length; i += 7) {
    const last = whole.at(whole.time_ns[i] + 0.5);
    expect(whole.total[last]).toBe(total(whole.time_ns[i]));
    expect(whole.byRole(last).reduce((a, b) => a + b)).toBe(whole.total[last]);
  }
});

test('the peak of any stretch is found', () => {
  const { whole, peak } = layMemory(trace);
  expect(peak.nbytes).toBe(Math.max(...whole.total));
  for (let first = 0; first < whole.total.length - 300; first += 131)
    expect(whole.total[whole.highest(first, first + 290)]).toBe(Math.max(...whole.total.slice(first, first + 291)));
});

test('blocks lie on each other without gap or overlap', () => {
  const { blocks } = layMemory(trace, { from: 0, to: 800_000 });
  expect(blocks.length).toBeGreaterThan(10);
  for (const time of [100_000, 300_000, 500_000]) {
    const alive = blocks
      .filter(b => b.time_ns[0] <= time && time < b.end_ns)
      .map(b => ({ base: b.base[b.time_ns.findLastIndex(t => t <= time)], size: trace.buffers.nbytes[b.buffer] }));
    alive.sort((a, b) => a.base - b.base);
    alive.forEach((block, i) => expect(block.base).toBe(i ? alive[i - 1].base + alive[i - 1].size : 0));
  }
});

test('no stack is higher than the peak, whatever comes and goes at once', async () => {
  const made = story(600);
  const [alloc, free] = [3, 4];
  made.rows.buffers.forEach((row, b) => {
    if (b % 3 === 0) row[free] = row[alloc];
    if (b % 5 === 0) row[free] = made.rows.buffers[(b + 7) % made.rows.buffers.length][alloc];
  });
  const { blocks, peak } = layMemory(await readTrace(write(made)));
  for (const block of blocks)
    expect(Math.max(...block.base) + made.rows.buffers[block.buffer][1]).toBeLessThanOrEqual(peak.nbytes);
});

test('blocks and rest together are the whole', () => {
  const { whole, rest, blocks } = layMemory(trace);
  const chosen = new Set(blocks.map(b => b.buffer));
  const time = whole.time_ns[Math.floor(whole.time_ns.length / 2)] + 0.5;
  const inBlocks = aliveAt(trace, time)
    .filter(b => chosen.has(b))
    .reduce((sum, b) => sum + trace.buffers.nbytes[b], 0);
  expect(inBlocks + rest.total[rest.at(time)]).toBe(total(time));
  expect(rest.byRole(rest.at(time))).toHaveLength(ROLES.length);
});
