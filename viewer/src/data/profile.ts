// What phases, functions and instances took, as the page reads it: docs/format/page.md. The frames of trees, the parts
// of bars and the points of instances are columns, which checkProfile holds to what they must be before a view takes
// them for indices.
import { count, flag, list, number, object, pair, text, type Of } from './coerce';

export const readProfile = object({
  format: count,
  phases: flag,
  paths: flag,
  names: list(text),
  groups: list(pair(count)),
  left_out: text,
  instances: list(object({ path: list(text), iterations: number, what: text, function: text, cluster: count, from: count, count, of: count })),
  merged: text,
  classes: flag,
});

export type Profile = Of<typeof readProfile>;
export type InstanceSeries = Profile['instances'][number];

// Types of frames, as columns number them.
export const TYPES = ['program', 'phase', 'iterations', 'function', 'mpi', 'cluster', 'paused', 'unrecorded', 'others'] as const;
export type FrameType = (typeof TYPES)[number];

const FRAME = ['parent', 'name', 'place', 'cluster', 'ns', 'calls', 'most', 'whose', 'threads'];
const BAR = ['group', 'frame', 'ns'];
const POINT = ['first', 'last', 'many', 'threads', 'calls', 'sum', 'direct', 'least', 'most', 'longest', 'longest_at', 'begin_ns', 'end_ns', 'whose'];

type Columns = ReadonlyMap<string, ArrayLike<number>>;

const isIndex = (v: number, from: number, to: number) => Number.isInteger(v) && v >= from && v < to;

// checkProfile says what of the columns cannot be, or nothing.
export function checkProfile(p: Profile, threads: number, columns: Columns): string {
  const of = (name: string): ArrayLike<number> => columns.get(name) ?? [];
  const within = (name: string, from: number, to: number) => {
    const values = of(name);
    for (let i = 0; i < values.length; i++) if (!isIndex(values[i]!, from, to)) return false;
    return true;
  };
  const tables: [string, string, readonly string[]][] = [['profile.phase', 'type', FRAME], ['profile.path', 'type', FRAME], ['profile.bar', 'group', BAR], ['instance', 'first', POINT]];
  for (const [table, first, names] of tables) {
    const rows = of(`${table}.${first}`).length;
    for (const [name, column] of columns) {
      if (name.startsWith(`${table}.class.`) && column.length !== rows) return `the column ${name} has ${column.length} rows, not ${rows}`;
    }
    for (const name of names) {
      const have = of(`${table}.${name}`).length;
      if (have !== rows) return `the column ${table}.${name} has ${have} rows, not ${rows}`;
    }
  }
  for (const table of ['profile.phase', 'profile.path']) {
    const parent = of(`${table}.parent`);
    for (let i = 0; i < parent.length; i++) if (!isIndex(parent[i]!, i === 0 ? -1 : 0, i)) return `frame ${i} of ${table} has no frame round it`;
    if (!within(`${table}.type`, 0, TYPES.length)) return `a frame of ${table} is of an unknown type`;
    if (!within(`${table}.name`, -1, p.names.length) || !within(`${table}.place`, -1, p.names.length)) return `a frame of ${table} has an unknown name`;
    if (!within(`${table}.whose`, -1, threads)) return `a frame of ${table} is of an unknown thread`;
  }
  if (p.groups.some(([a, b]) => !isIndex(a, 0, threads) || !isIndex(b, a, threads))) return 'a group has unknown threads';
  if (!within('profile.bar.group', 0, p.groups.length)) return 'a bar is of an unknown group';
  if (!within('profile.bar.frame', 0, of('profile.phase.type').length)) return 'a bar has an unknown frame';
  const points = of('instance.first').length;
  if (p.instances.some((s) => !isIndex(s.from, 0, points + 1) || !isIndex(s.count, 0, points - s.from + 1))) return 'a series of instances has unknown points';
  if (!within('instance.whose', -1, threads)) return 'an instance is of an unknown thread';
  return '';
}
