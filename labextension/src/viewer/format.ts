/** How are numbers and names written for people? Three significant digits; names can never become markup or move other text. */

const THIN = '\u202f';

function scaled(value: number, units: readonly string[], base: number): string {
  if (!Number.isFinite(value)) return '–';
  let [rest, unit] = [Math.abs(value), 0];
  while (rest >= base * 0.9995 && unit < units.length - 1) {
    rest /= base;
    unit++;
  }
  const digits = unit === 0 && Number.isInteger(rest) ? 0 : rest < 9.995 ? 2 : rest < 99.95 ? 1 : 0;
  return `${value < 0 ? '−' : ''}${rest.toFixed(digits)}${THIN}${units[unit]}`;
}

export const duration = (ns: number): string => {
  const seconds = scaled(ns, ['ns', 'µs', 'ms', 's'], 1000);
  return Math.abs(ns) >= 6e11 && Number.isFinite(ns) ? `${(ns / 6e10).toFixed(1)}${THIN}min` : seconds;
};

export const bytes = (nbytes: number): string => scaled(nbytes, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);

export function count(n: number): string {
  if (!Number.isFinite(n)) return '–';
  if (n >= 999_500) return scaled(n, ['', '', 'M', 'G'], 1000);
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, THIN);
}

export const percent = (share: number): string =>
  Number.isFinite(share) ? `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}${THIN}%` : '–';

export const signed = (text: string, value: number): string => (value > 0 ? `+${text}` : text);

export const plural = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

// Control characters, bidirectional overrides and lone surrogates.
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A text from the data, safe to stand in a line with other text. */
export function clean(text: string, limit = 200): string {
  const short = text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
  return short.replace(UNSAFE, '\ufffd');
}
