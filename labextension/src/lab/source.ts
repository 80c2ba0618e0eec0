/** Is the text of this cell the source that was profiled? IPython changes a cell before it runs it; this compares what it leaves alone. */

// Lines that IPython rewrites: magics, shell commands, help.
const REWRITTEN = /^\s*(?:[\w, ]+=\s*)?[%!?]|\?\s*$|get_ipython\(\)/;

export interface Body {
  /** Comparable text. */
  text: string;
  /** How many lines of the cell come before it: the cell magic, blank lines. */
  offset: number;
}

const comparable = (lines: string[]): string =>
  lines
    .map(line => (REWRITTEN.test(line) ? '%' : line.trimEnd()))
    .join('\n')
    .trimEnd();

export const profiledText = (source: string): string => comparable(source.split('\n'));

export function cellBody(source: string): Body {
  const lines = source.split('\n');
  let offset = lines[0].startsWith('%%') ? 1 : 0;
  while (offset < lines.length - 1 && !lines[offset].trim()) offset++;
  return { text: comparable(lines.slice(offset)), offset };
}
