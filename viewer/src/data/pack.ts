// A pack holds everything that a page shows: JSON and columns of numbers (docs/format/page.md). This file takes it
// apart; what cannot be read is a PackError that says so to people.
import { readClusters, type Clusters } from './clusters';
import { count, flag, isObject, list, object, optional, pair, text, type Of } from './coerce';
import { readEfficiency, type Efficiency } from './efficiency';
import { readManifest, type Manifest } from './manifest';
import { checkPairs, readPairs, type Pairs } from './pairs';
import { checkProfile, readProfile, type Profile } from './profile';
import { readProgram } from './program';
import { KINDS, readWaits, type Waits } from './waits';

const MAGIC = 'MORIENSPAGE1\n';
const HEADER_BYTES = 24;
const REWRITE = 'moriens report DIR writes the page again.';
const FORMAT = 1;

// PATH_ROWS are how many rows the critical path may have in a bin of the overview.
export const PATH_ROWS = 4;

export class PackError extends Error {
  readonly hint: string;
  constructor(message: string, hint = '') {
    super(message);
    this.hint = hint;
  }
}

const readPlace = object({ from_ns: count, to_ns: count, bins: count, rows: list(pair(count)), codes: list(count) });

const readPage = object({
  format: count,
  mode: text,
  problems: list(text),
  resolution: text,
  threads: count,
  hosts: list(text),
  counters: list(object({ name: text, unit: text })),
  dimensions: list(object({ name: text, unit: text, scale: text, column: text })),
  paths: list(object({ name: text, function: text })),
  nodes: list(text),
  functions: list(text),
  points: object({ count: count, of: count, how: text }),
  overview: optional(readPlace),
  groups: list(pair(count)),
  detail: object({ calls: count, waits: count, messages: count, critical: count, left_out: text }),
  bins: flag,
  program_joined: flag,
});

export type Page = Of<typeof readPage> & { manifest: Manifest | null; clusters: Clusters | null; efficiency: Efficiency | null; waits: Waits | null; pairs: Pairs | null; profile: Profile | null; program: ReturnType<typeof readProgram> | null };

const views = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
};
type TypeName = keyof typeof views;
export type Column = InstanceType<(typeof views)[TypeName]>;

export class Pack {
  readonly json: Page;
  readonly bytes: number;
  readonly #columns: Map<string, Column>;

  constructor(json: Page, columns: Map<string, Column>, bytes: number) {
    this.json = json;
    this.bytes = bytes;
    this.#columns = columns;
  }

  // column gives a column by its name, one of length 0 if the pack has none of it.
  column(name: string): Column {
    return this.#columns.get(name) ?? new Float64Array(0);
  }

  has(name: string): boolean {
    return this.#columns.has(name);
  }
}

export function loadPack(bytes: Uint8Array): Pack {
  const { document, columns } = loadContainer(bytes);
  const json: Page = {
    ...readPage(document),
    manifest: isObject(document['manifest']) ? readManifest(document['manifest']) : null,
    clusters: isObject(document['clusters']) ? readClusters(document['clusters']) : null,
    efficiency: isObject(document['efficiency']) ? readEfficiency(document['efficiency']) : null,
    waits: isObject(document['waits']) ? readWaits(document['waits']) : null,
    pairs: isObject(document['pairs']) ? readPairs(document['pairs']) : null,
    profile: isObject(document['profile']) ? readProfile(document['profile']) : null,
    program: isObject(document['program']) ? readProgram(document['program']) : null,
  };
  checkFormat(json.format);
  checkLengths(json, columns);
  const wrong = (json.pairs ? checkPairs(json.pairs, columns) : '') || (json.profile ? checkProfile(json.profile, json.threads, columns) : '');
  if (wrong) throw new PackError(`The data of this page are damaged: ${wrong}.`, REWRITE);
  return new Pack(json, columns, bytes.length);
}

// Bins are a part of the run on a grid, which a server makes of what is not in its page: docs/format/overview.md.
export interface Bins {
  readonly place: Of<typeof readPlace>;
  readonly cell: Column;
  readonly share: Column;
  readonly wait: Column; // of length 0 where no wait is known
}

export function loadBins(bytes: Uint8Array): Bins {
  const { document, columns } = loadContainer(bytes);
  checkFormat(count(document['format']));
  const place = readPlace(document);
  const [cell, share] = [columns.get('overview.cell'), columns.get('overview.share')];
  const wait = columns.get('overview.wait') ?? new Uint8Array(0);
  const cells = place.rows.length * place.bins;
  if (!cell || !share || cell.length !== cells || share.length !== cells || ![0, cells].includes(wait.length) || !(place.bins > 0) || !(place.to_ns > place.from_ns)) {
    throw new PackError('The answer of the server does not belong to this run.', 'Start moriens view again.');
  }
  return { place, cell, share, wait };
}

function checkFormat(format: number): void {
  if (format === FORMAT) return;
  throw new PackError(
    `The data of this page have format ${format}; this page reads format ${FORMAT}.`,
    'Open the run directory with the moriens that wrote it, or a newer one.',
  );
}

function loadContainer(bytes: Uint8Array): { document: Record<string, unknown>; columns: Map<string, Column> } {
  const magic = new TextDecoder('latin1').decode(bytes.subarray(0, MAGIC.length));
  if (bytes.length < HEADER_BYTES || magic !== MAGIC) {
    throw new PackError(
      magic.startsWith('MORIENSPAGE')
        ? 'The data of this page were written by another version of moriens.'
        : 'The data of this page are damaged: they do not begin as they should.',
      REWRITE,
    );
  }
  const header = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const jsonBytes = header.getUint32(16, true);
  if (HEADER_BYTES + jsonBytes > bytes.length) throw cutOff();
  const document = parse(bytes.subarray(HEADER_BYTES, HEADER_BYTES + jsonBytes));
  const start = Math.ceil((HEADER_BYTES + jsonBytes) / 8) * 8;
  return { document, columns: readColumns(document['columns'], bytes, start) };
}

// checkLengths sees to it that columns of one table have one length, the one that the description says.
function checkLengths(json: Page, columns: ReadonlyMap<string, Column>): void {
  const cells = (json.overview?.rows.length ?? 0) * (json.overview?.bins ?? 0);
  const lengths: Record<string, number> = {
    thread: json.threads,
    points: json.points.count,
    rank: json.groups.length,
    calls: json.detail.calls,
    waits: json.detail.waits,
    messages: json.detail.messages,
    critical: json.detail.critical,
    heat: columns.get('heat.group')?.length ?? 0,
    'overview.cell': cells,
    'overview.share': cells,
    'overview.wait': cells,
    'overview.path.row': PATH_ROWS * (json.overview?.bins ?? 0),
    'overview.path.share': PATH_ROWS * (json.overview?.bins ?? 0),
    'overview.waiting': KINDS.length * (json.overview?.bins ?? 0),
    'overview.profile': (json.overview?.bins ?? 0) * (json.overview?.codes.length ?? 0),
  };
  for (const [name, column] of columns) {
    const want = lengths[name] ?? lengths[name.replace(/\..*$/, '')];
    if (want !== undefined && column.length !== want) {
      throw new PackError(`The data of this page are damaged: the column ${name} has ${column.length} rows, not ${want}.`, REWRITE);
    }
  }
}

function parse(bytes: Uint8Array): Record<string, unknown> {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new PackError('The data of this page are damaged: their description is not JSON.', REWRITE);
  }
  if (!isObject(document)) throw new PackError('The data of this page are damaged: their description is not an object.', REWRITE);
  return document;
}

function readColumns(table: unknown, bytes: Uint8Array, start: number): Map<string, Column> {
  const columns = new Map<string, Column>();
  if (!isObject(table)) return columns;
  // Typed arrays need aligned memory: a pack that lies elsewhere in its buffer is copied once.
  const own = (bytes.byteOffset + start) % 8 === 0 ? bytes : new Uint8Array(bytes);
  for (const [name, c] of Object.entries(table)) {
    const { type, offset, length } = isObject(c) ? c : {};
    if (typeof type !== 'string' || !Object.hasOwn(views, type) || !isSize(offset) || !isSize(length) || offset % 8 !== 0) {
      throw new PackError(`The data of this page are damaged: the column ${name} is described wrongly.`, REWRITE);
    }
    const View = views[type as TypeName];
    if (start + offset + length * View.BYTES_PER_ELEMENT > own.length) throw cutOff();
    columns.set(name, new View(own.buffer as ArrayBuffer, own.byteOffset + start + offset, length));
  }
  return columns;
}

function isSize(v: unknown): v is number {
  return typeof v === 'number' && Number.isSafeInteger(v) && v >= 0;
}

function cutOff(): PackError {
  return new PackError('The data of this page are cut off.', 'Copy the file again, or rewrite it: moriens report DIR.');
}
