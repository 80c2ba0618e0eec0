/** What stands in a trace? The tables, columns and words of `gradviz/record/events.py`, as typed arrays. */

import { Archive, Column, FileError } from './file.js';

export const Kind = {
  CALL: 0,
  PULLBACK: 1,
  ACCUMULATE: 2,
  COPY: 3,
  SYNC: 4,
  KERNEL: 5,
  SPAN: 6,
  COMPILE: 7,
  COLLECT: 8
} as const;
export const KINDS = ['call', 'pullback', 'accumulate', 'copy', 'sync', 'kernel', 'span', 'compile', 'collect'];
export const Flag = { BACKWARD: 1, RECOMPUTED: 2, FAILED: 4, OPEN: 8, SIMULATED: 16 } as const;
export const REASONS = [
  'explicit',
  'saved value',
  "caller's array",
  'contiguous layout',
  'dtype',
  'broadcast made real',
  'first accumulation',
  'zeros for an indexed part',
  'scalar read',
  'constant upload',
  'transfer',
  'returned',
  'reshape',
  'advanced index',
  'defensive',
  'unknown'
];
export const DIRECTIONS = ['host → host', 'host → device', 'device → host', 'device → device'];
export const TRIGGERS = [
  'item',
  'float',
  'int',
  'bool',
  'complex',
  'get',
  'print',
  'shape',
  'mask',
  'explicit',
  'tolist',
  'pageable',
  'allocation'
];
export const ANSWERS = ['no', 'yes', 'unknown'];
export const ROLES = ['input', 'output', 'value', 'saved', 'cotangent', 'accumulator', 'copy', 'temporary'];
export const Use = { READ: 0, WRITE: 1, MAKE: 2, VIEW: 3, SAVE: 4, LOAD: 5 } as const;
export const USES = ['reads', 'writes', 'makes', 'views', 'saves', 'loads'];
export const STATES = ['zero', 'indexed', 'borrowed', 'owned'];
export const LaneKind = { THREAD: 0, STREAM: 1, COPY_ENGINE: 2 } as const;

const COLUMNS = {
  events: ['kind', 'name_str', 'lane', 'start_ns', 'end_ns', 'parent', 'call', 'site', 'flags', 'nbytes'],
  copies: [
    'event',
    'source',
    'target',
    'nbytes',
    'direction',
    'reason',
    'because',
    'source_read_later',
    'source_written_later',
    'target_read_later',
    'target_written_later',
    'target_escapes'
  ],
  syncs: ['event', 'trigger', 'stream', 'nbytes', 'host_wait_ns', 'device_idle_ns', 'value_used', 'on_device'],
  buffers: [
    'device',
    'nbytes',
    'reserved_nbytes',
    'alloc_ns',
    'free_ns',
    'alloc_event',
    'role',
    'dtype_str',
    'shape_str',
    'from_pool'
  ],
  uses: ['event', 'buffer', 'how'],
  contributions: ['event', 'variable', 'buffer', 'state', 'nbytes', 'useful_nbytes', 'used', 'denormals'],
  sites: ['file_str', 'line', 'function_str', 'cell', 'cell_hash_str', 'text_str'],
  lanes: ['name_str', 'kind', 'device'],
  devices: ['name_str', 'simulated', 'total_nbytes', 'bandwidth_bytes_per_s']
} as const;

type TableName = keyof typeof COLUMNS;
export type Table<T extends TableName> = { [C in (typeof COLUMNS)[T][number]]: Column } & { rows: number };

/** What each reference column points into; -1 is "none". */
const REFERENCES: Record<string, TableName | 'strings'> = {
  lane: 'lanes',
  parent: 'events',
  call: 'events',
  site: 'sites',
  event: 'events',
  source: 'buffers',
  target: 'buffers',
  because: 'events',
  stream: 'lanes',
  alloc_event: 'events',
  buffer: 'buffers',
  variable: 'events',
  device: 'devices'
};

export interface Finding {
  kind: string;
  title: string;
  severity: string;
  cost_ns: number;
  cost_nbytes: number;
  share: number;
  count: number;
  simulated: boolean;
  where: string;
  site: number;
  events: number[];
  buffers: number[];
  reason: string;
  remedy: string;
  before: string;
  after: string;
  valid_if: string;
  confidence: number;
  harmless: boolean;
}

export interface Meta {
  duration_ns: number;
  recorder_ns: number;
  dropped: number;
  simulated: boolean;
  label: string;
  started: string;
  /** Events before the file was cut down to fit its place; equal to the rows where nothing was cut. */
  recorded: number;
  recorded_buffers: number;
  devices: string[];
}

export interface Trace {
  meta: Meta;
  strings: string[];
  sources: Record<string, string>;
  findings: Finding[];
  view: Record<string, unknown>;
  nbytes: number;
  events: Table<'events'>;
  copies: Table<'copies'>;
  syncs: Table<'syncs'>;
  buffers: Table<'buffers'>;
  sites: Table<'sites'>;
  lanes: Table<'lanes'>;
  devices: Table<'devices'>;
  /** Large and rarely needed: read when first asked for. */
  uses(): Promise<Table<'uses'>>;
  contributions(): Promise<Table<'contributions'>>;
}

export async function readTrace(bytes: Uint8Array): Promise<Trace> {
  const archive = await Archive.open(bytes);
  const names = ['events', 'copies', 'syncs', 'buffers', 'sites', 'lanes', 'devices'] as const;
  const tables = await Promise.all(names.map(name => readTable(archive, name)));
  const [events, copies, syncs, buffers, sites, lanes, devices] = tables as unknown as [
    Table<'events'>,
    Table<'copies'>,
    Table<'syncs'>,
    Table<'buffers'>,
    Table<'sites'>,
    Table<'lanes'>,
    Table<'devices'>
  ];
  const { manifest } = archive;
  const lazy = new Map<string, Promise<unknown>>();
  const once = <T extends TableName>(name: T): Promise<Table<T>> => {
    if (!lazy.has(name)) lazy.set(name, readTable(archive, name));
    return lazy.get(name) as Promise<Table<T>>;
  };
  const strings = manifest.strings.map(String);
  return {
    meta: readMeta(manifest.meta, events, buffers.rows),
    strings,
    sources: Object.fromEntries(Object.entries(manifest.sources).map(([key, text]) => [key, String(text)])),
    findings: manifest.findings.map(f => readFinding(f, events.rows, buffers.rows, sites.rows)),
    view: manifest.view,
    nbytes: bytes.length,
    events,
    copies,
    syncs,
    buffers,
    sites,
    lanes,
    devices,
    uses: () => once('uses'),
    contributions: () => once('contributions')
  };
}

async function readTable<T extends TableName>(archive: Archive, table: T): Promise<Table<T>> {
  const rows = archive.rows(table);
  const out: Record<string, Column | number> = { rows };
  await Promise.all(
    COLUMNS[table].map(async name => {
      if (rows > 0 && !archive.has(table, name)) throw new FileError(`The file lacks column ${table}.${name}.`);
      const column = rows > 0 ? await archive.column(table, name) : new Int32Array(0);
      checkReferences(archive, table, name, column);
      out[name] = column;
    })
  );
  return out as Table<T>;
}

function checkReferences(archive: Archive, table: string, name: string, column: Column): void {
  const target = name.endsWith('_str') ? 'strings' : REFERENCES[name];
  if (!target) return;
  const limit = target === 'strings' ? archive.manifest.strings.length : archive.rows(target);
  for (let row = 0; row < column.length; row++) {
    if (column[row] >= limit || column[row] < -1) {
      throw new FileError(
        `Row ${row} of ${table}.${name} points at row ${column[row]} of ${target}, which has ${limit}.`
      );
    }
  }
}

const number = (value: unknown, otherwise = 0): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value));

function readMeta(meta: Record<string, unknown>, events: Table<'events'>, buffers: number): Meta {
  let last = 0;
  for (let i = 0; i < events.rows; i++) if (events.end_ns[i] > last) last = events.end_ns[i];
  return {
    duration_ns: number(meta.duration_ns, last),
    recorder_ns: number(meta.recorder_ns),
    dropped: number(meta.dropped),
    simulated: meta.simulated === true,
    label: text(meta.label),
    started: text(meta.started),
    recorded: number(meta.recorded, events.rows),
    recorded_buffers: number(meta.recorded_buffers, buffers),
    devices: Array.isArray(meta.devices) ? meta.devices.map(text) : []
  };
}

function readFinding(raw: unknown, events: number, buffers: number, sites: number): Finding {
  const f = (typeof raw === 'object' && raw !== null ? raw : {}) as Record<string, unknown>;
  const ids = (value: unknown, limit: number): number[] =>
    Array.isArray(value) ? value.filter(id => Number.isInteger(id) && id >= 0 && id < limit) : [];
  return {
    kind: text(f.kind),
    title: text(f.title),
    severity: text(f.severity),
    cost_ns: number(f.cost_ns),
    cost_nbytes: number(f.cost_nbytes),
    share: number(f.share),
    count: number(f.count, 1),
    simulated: f.simulated === true,
    where: text(f.where),
    site: Number.isInteger(f.site) && (f.site as number) < sites ? (f.site as number) : -1,
    events: ids(f.events, events),
    buffers: ids(f.buffers, buffers),
    reason: text(f.reason),
    remedy: text(f.remedy),
    before: text(f.before),
    after: text(f.after),
    valid_if: text(f.valid_if),
    confidence: number(f.confidence, 1),
    harmless: f.harmless === true
  };
}

/** Text a `*_str` column refers to. */
export const str = (trace: Trace, index: number): string => (index >= 0 ? trace.strings[index] : '');
export const eventName = (trace: Trace, event: number): string => str(trace, trace.events.name_str[event]);

/** The user's line, in the words of `Trace.where`. */
export function siteName(trace: Trace, site: number): string {
  if (site < 0) return '';
  const { cell, line, file_str } = trace.sites;
  return cell[site] >= 0 ? `Cell In[${cell[site]}], line ${line[site]}` : `${str(trace, file_str[site])}:${line[site]}`;
}

export const where = (trace: Trace, event: number): string => siteName(trace, trace.events.site[event]);
