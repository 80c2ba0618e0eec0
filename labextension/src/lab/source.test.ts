import { expect, test } from 'vitest';
import { cellBody, profiledBody } from './source.js';

test.each([
  ['x = 1\ny = f(x)\n', 'x = 1\ny = f(x)', 0],
  ['\nx = 1\ny = f(x)\n', '%%gradprofile -o p\nx = 1\ny = f(x)', 1],
  ['x = 1\n', '\n\nx = 1', 2],
  ["get_ipython().run_line_magic('load_ext', 'gradviz')\nx = 1\n", '%load_ext gradviz\nx = 1', 0],
  ["files = get_ipython().getoutput('ls')\nx = 1", 'files = !ls\nx = 1', 0]
])('%j is %j', (source, cell, offset) => {
  expect(cellBody(cell)).toEqual({ text: profiledBody(source).text, offset });
});

test('an edit makes another text', () => {
  expect(cellBody('x = 2').text).not.toBe(profiledBody('x = 1').text);
  expect(cellBody('\nx = 1\n\ny = 2').text).not.toBe(profiledBody('x = 1\ny = 2').text);
});
