/** How is a `.gradviz` file read? A zip of one JSON manifest and deflated typed columns; every length is checked before memory is taken. */

export type Column = Float64Array | Int32Array | Uint32Array | Int16Array | Uint16Array | Int8Array | Uint8Array;

export interface ColumnSpec {
  dtype: string;
  encoding: string[];
}

export interface Manifest {
  format: string;
  version: number;
  meta: Record<string, unknown>;
  strings: string[];
  sources: Record<string, string>;
  tables: Record<string, { rows: number; columns: Record<string, ColumnSpec> }>;
  findings: unknown[];
  view: Record<string, unknown>;
}

/** A file that cannot be shown; the message is meant for the person who opened it. */
export class FileError extends Error {}

export const VERSION = 1;
const MAX_MANIFEST_NBYTES = 1 << 28;
const MAX_ROWS = 1 << 27;
const DEFLATE_MAX_RATIO = 1032; // https://zlib.net/zlib_tech.html

interface Entry {
  method: number;
  packedNbytes: number;
  nbytes: number;
  offset: number;
}

export class Archive {
  private constructor(
    private readonly bytes: Uint8Array,
    private readonly entries: Map<string, Entry>,
    readonly manifest: Manifest
  ) {}

  static async open(bytes: Uint8Array): Promise<Archive> {
    const entries = readDirectory(bytes);
    const entry = entries.get('manifest.json');
    if (!entry) throw new FileError('This zip holds no manifest.json, so it is not a .gradviz file.');
    if (entry.nbytes > MAX_MANIFEST_NBYTES) throw new FileError('The manifest of this file is larger than 256 MiB.');
    const text = new TextDecoder().decode(await unpack(bytes, entry, entry.nbytes));
    return new Archive(bytes, entries, parseManifest(text));
  }

  rows(table: string): number {
    return this.manifest.tables[table]?.rows ?? 0;
  }

  has(table: string, name: string): boolean {
    return this.manifest.tables[table]?.columns?.[name] !== undefined;
  }

  async column(table: string, name: string): Promise<Column> {
    const spec = this.manifest.tables[table].columns[name];
    const entry = this.entries.get(`columns/${table}/${name}`);
    if (!entry) throw new FileError(`The file names column ${table}.${name} but does not hold it.`);
    const { kind, size } = parseDtype(spec, `${table}.${name}`);
    const raw = await unpack(this.bytes, entry, this.rows(table) * size);
    return decode(raw, kind, size, spec.encoding);
  }
}

function parseManifest(text: string): Manifest {
  let manifest: Manifest;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    throw new FileError(`The manifest is not valid JSON (${(error as Error).message}).`);
  }
  if (manifest?.format !== 'gradviz') throw new FileError('This is not a .gradviz file.');
  if (manifest.version !== VERSION) {
    throw new FileError(
      `This file has format version ${manifest.version}; this viewer reads version ${VERSION}. Update gradviz to open it.`
    );
  }
  const objects = [manifest.meta, manifest.sources, manifest.tables];
  if (objects.some(o => typeof o !== 'object' || o === null) || !Array.isArray(manifest.strings)) {
    throw new FileError('The manifest lacks meta, strings, sources or tables.');
  }
  for (const [name, table] of Object.entries(manifest.tables)) {
    if (
      !Number.isInteger(table?.rows) ||
      table.rows < 0 ||
      table.rows > MAX_ROWS ||
      typeof table.columns !== 'object'
    ) {
      throw new FileError(`Table ${name} claims ${table?.rows} rows.`);
    }
  }
  manifest.findings = Array.isArray(manifest.findings) ? manifest.findings : [];
  manifest.view ??= {};
  return manifest;
}

function readDirectory(bytes: Uint8Array): Map<string, Entry> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  const stop = Math.max(0, end - 0xffff);
  while (end >= stop && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < stop || end < 0)
    throw new FileError('This is not a .gradviz file, or it is cut off: the end of the zip is missing.');
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const entries = new Map<string, Entry>();
  for (let i = 0; i < count; i++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== 0x02014b50)
      throw new FileError('The zip directory is damaged.');
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map(o => view.getUint16(at + o, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const local = view.getUint32(at + 42, true);
    if (local + 30 > bytes.length) throw new FileError(`The zip member ${name} lies outside the file.`);
    entries.set(name, {
      method: view.getUint16(at + 10, true),
      packedNbytes: view.getUint32(at + 20, true),
      nbytes: view.getUint32(at + 24, true),
      offset: local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
    });
    at += 46 + nameLength + extraLength + commentLength;
  }
  return entries;
}

async function unpack(bytes: Uint8Array, entry: Entry, expectedNbytes: number): Promise<Uint8Array> {
  if (entry.offset + entry.packedNbytes > bytes.length)
    throw new FileError('The file is cut off: a column lies beyond its end.');
  const packed = bytes.subarray(entry.offset, entry.offset + entry.packedNbytes);
  if (entry.nbytes !== expectedNbytes)
    throw new FileError(`A column holds ${entry.nbytes} bytes where ${expectedNbytes} were announced.`);
  if (entry.method === 0) {
    if (packed.length !== expectedNbytes) throw new FileError('A stored column has the wrong length.');
    return packed.slice();
  }
  if (entry.method !== 8) throw new FileError(`Zip method ${entry.method} is not supported.`);
  if (expectedNbytes > packed.length * DEFLATE_MAX_RATIO + 64)
    throw new FileError('A column claims to inflate beyond what deflate can do.');
  return inflate(packed, expectedNbytes);
}

async function inflate(packed: Uint8Array, nbytes: number): Promise<Uint8Array> {
  const out = new Uint8Array(nbytes);
  let at = 0;
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new FileError('A column is damaged: it does not inflate.');
    });
    if (done) break;
    if (at + value.length > nbytes) {
      void reader.cancel().catch(() => undefined);
      throw new FileError('A column inflates to more than it announced.');
    }
    out.set(value, at);
    at += value.length;
  }
  if (at !== nbytes) throw new FileError('A column inflates to less than it announced.');
  return out;
}

function parseDtype(spec: ColumnSpec, name: string): { kind: string; size: number } {
  const match = /^[<|]?([iuf])([1248])$/.exec(String(spec?.dtype));
  if (!match || (match[1] === 'f' && match[2] !== '8'))
    throw new FileError(`Column ${name} has unknown dtype ${spec?.dtype}.`);
  const known = ['', 'delta', 'shuffle', 'delta,shuffle'];
  if (!Array.isArray(spec.encoding) || !known.includes(spec.encoding.join()))
    throw new FileError(`Column ${name} has unknown encoding.`);
  return { kind: match[1], size: Number(match[2]) };
}

function decode(raw: Uint8Array, kind: string, size: number, encoding: string[]): Column {
  const bytes = encoding.includes('shuffle') && size > 1 ? unshuffle(raw, size) : raw;
  const delta = encoding.includes('delta');
  if (kind === 'f') return new Float64Array(bytes.buffer);
  if (size === 8) return wide(new Uint32Array(bytes.buffer), kind === 'i', delta);
  const array = narrow(bytes.buffer as ArrayBuffer, kind, size);
  if (delta) for (let i = 1; i < array.length; i++) array[i] += array[i - 1];
  return array;
}

function narrow(buffer: ArrayBuffer, kind: string, size: number): Exclude<Column, Float64Array> {
  if (size === 1) return kind === 'i' ? new Int8Array(buffer) : new Uint8Array(buffer);
  if (size === 2) return kind === 'i' ? new Int16Array(buffer) : new Uint16Array(buffer);
  return kind === 'i' ? new Int32Array(buffer) : new Uint32Array(buffer);
}

/** 64-bit integers as doubles (exact to 2^53 ns, which is 104 days); BigInt64Array is ten times slower. */
function wide(words: Uint32Array, signed: boolean, delta: boolean): Float64Array {
  const out = new Float64Array(words.length / 2);
  let [low, high] = [0, 0];
  for (let i = 0; i < out.length; i++) {
    if (delta) {
      const sum = low + words[2 * i];
      high = (high + words[2 * i + 1] + (sum > 0xffffffff ? 1 : 0)) >>> 0;
      low = sum >>> 0;
    } else {
      [low, high] = [words[2 * i], words[2 * i + 1]];
    }
    out[i] = (signed ? high | 0 : high) * 4294967296 + low;
  }
  return out;
}

function unshuffle(planes: Uint8Array, size: number): Uint8Array {
  const rows = planes.length / size;
  const out = new Uint8Array(planes.length);
  for (let plane = 0; plane < size; plane++) {
    const from = plane * rows;
    for (let row = 0, at = plane; row < rows; row++, at += size) out[at] = planes[from + row];
  }
  return out;
}
