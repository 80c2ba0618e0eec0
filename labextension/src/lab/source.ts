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

/** The body of a source that was profiled. Below a cell magic it begins with a blank line, so that its lines count as the cell's do. */
export const profiledBody = (source: string): Body => body(source.split('\n'), 0);

export function cellBody(source: string): Body {
  const lines = source.split('\n');
  return body(lines, lines[0].startsWith('%%') ? 1 : 0);
}

function body(lines: string[], offset: number): Body {
  while (offset < lines.length - 1 && !lines[offset].trim()) offset++;
  return { text: comparable(lines.slice(offset)), offset };
}
