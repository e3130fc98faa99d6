// A profile that never was: a program with "setup" and "iterate" in it, in that "heat" and "stress", of ranks of which
// the last is slow in stress. Every number follows from where it stands.
import { splitPath } from '../src/flame/model';

export interface ProfileShape {
  readonly ranks: number;
  readonly instances?: number; // of iterate; without, none
  readonly group?: number; // instances that a point is of
  readonly names?: readonly [string, string]; // instead of heat and stress
  readonly classes?: boolean; // the last rank is a class of its own
  readonly timed?: boolean; // when instances ran is known
  readonly whole?: boolean; // the program has an instance too, as in every run
  readonly json?: Record<string, unknown>;
}

export interface ProfileData {
  readonly json: Record<string, unknown>;
  readonly columns: Record<string, Int32Array | Uint8Array | Float64Array>;
}

const [PROGRAM, PHASE, FUNCTION, MPI, CLUSTER, UNRECORDED] = [0, 1, 3, 4, 5, 7];

interface Leaf {
  readonly path: string; // of the phase, as docs/format/profile.md says
  readonly type: number;
  readonly name?: string;
  readonly cluster?: number;
  readonly stack: readonly string[]; // functions
  readonly place?: string;
  readonly ns: (rank: number) => number;
  readonly calls: number; // of a rank
}

// leavesOf are the rows of profile.parquet of a rank.
export function leavesOf({ ranks, names = ['heat', 'stress'] }: ProfileShape): Leaf[] {
  const [heat, stress] = names.map((n) => `iterate/${n.replace(/[\\/]/g, '\\$&')}`) as [string, string];
  const slow = (rank: number) => (rank === ranks - 1 ? 3 : 1);
  return [
    { path: '', type: UNRECORDED, stack: [], ns: () => 1_000_000, calls: 1 },
    { path: 'setup', type: CLUSTER, cluster: 3, stack: ['main', 'setup'], ns: (r) => 40_000_000 + r, calls: 1 },
    { path: 'setup', type: MPI, name: 'MPI_Bcast', stack: ['main', 'setup'], place: 'setup.c:12', ns: () => 2_000_001, calls: 4 },
    { path: 'iterate', type: MPI, name: 'MPI_Allreduce', stack: ['main', 'iterate'], place: 'main.c:81', ns: (r) => 30_000_000 - 10 * r, calls: 92 },
    { path: heat, type: CLUSTER, cluster: 1, stack: ['main', 'iterate', 'heat'], ns: (r) => 200_000_000 + 1000 * r, calls: 92 },
    { path: heat, type: MPI, name: 'MPI_Send', stack: ['main', 'iterate', 'heat'], place: 'heat.c:7', ns: () => 20_000_000, calls: 184 },
    { path: stress, type: CLUSTER, cluster: 2, stack: ['main', 'iterate', 'stress'], ns: (r) => 100_000_000 * slow(r), calls: 92 },
    { path: stress, type: MPI, name: 'MPI_Wait', stack: ['main', 'iterate', 'stress'], place: 'stress.c:33', ns: (r) => 60_000_000 / slow(r), calls: 92 },
    { path: stress, type: MPI, name: 'MPI_Send', stack: ['main', 'iterate', 'stress'], place: 'stress.c:31', ns: () => 20_000, calls: 92 },
  ];
}

interface Key {
  readonly parent: number;
  readonly type: number;
  readonly name: string;
  readonly place: string;
  readonly cluster: number;
}

export const instanceNS = (i: number, rank: number) => (rank + 1) * 1_000_000 + i * 10_000;

export function profileOf(shape: ProfileShape): ProfileData {
  const { ranks } = shape;
  const names: string[] = [];
  const number = (text: string) => {
    if (text === '') return -1;
    if (!names.includes(text)) names.push(text);
    return names.indexOf(text);
  };
  const leaves = leavesOf(shape);
  const columns: ProfileData['columns'] = {};
  const bars = { group: [] as number[], frame: [] as number[], ns: [] as number[] };
  for (const by of ['phase', 'path'] as const) {
    const keys: Key[] = [{ parent: -1, type: PROGRAM, name: '', place: '', cluster: 0 }];
    const at = (k: Key) => {
      const found = keys.findIndex((o) => JSON.stringify(o) === JSON.stringify(k));
      return found >= 0 ? found : keys.push(k) - 1;
    };
    const of = leaves.map((l) => {
      let parent = 0;
      for (const name of by === 'phase' ? splitPath(l.path) : l.stack) parent = at({ parent, type: by === 'phase' ? PHASE : FUNCTION, name, place: '', cluster: 0 });
      return at({ parent, type: l.type, name: l.name ?? '', place: by === 'path' ? (l.place ?? '') : '', cluster: l.cluster ?? 0 });
    });
    const time = keys.map(() => new Float64Array(ranks));
    const calls = keys.map((k) => (k.type === FUNCTION ? NaN : k.type === PROGRAM || k.type === PHASE ? ranks : 0));
    leaves.forEach((l, n) => {
      calls[of[n] ?? 0] = (calls[of[n] ?? 0] ?? 0) + l.calls * ranks;
      for (let r = 0; r < ranks; r++) for (let f = of[n] ?? 0; f >= 0; f = keys[f]?.parent ?? -1) time[f]![r] = time[f]![r]! + l.ns(r);
    });
    const sum = (t: Float64Array) => t.reduce((a, b) => a + b, 0);
    const put = {
      'parent': Int32Array.from(keys, (k) => k.parent), 'name': Int32Array.from(keys, (k) => number(k.name)), 'place': Int32Array.from(keys, (k) => number(k.place)),
      'cluster': Int32Array.from(keys, (k) => k.cluster), 'type': Uint8Array.from(keys, (k) => k.type), 'ns': Float64Array.from(time, sum), 'calls': Float64Array.from(calls),
      'most': Float64Array.from(time, (t) => Math.max(...t)), 'whose': Int32Array.from(time, (t) => t.indexOf(Math.max(...t))), 'threads': new Int32Array(keys.length).fill(ranks),
      ...(shape.classes ? { 'class.0': Float64Array.from(time, (t) => sum(t.slice(0, -1))), 'class.1': Float64Array.from(time, (t) => t.at(-1)!) } : {}),
    };
    for (const [name, column] of Object.entries(put)) columns[`profile.${by}.${name}`] = column;
    if (by === 'path') continue;
    for (let r = 0; r < ranks; r++) {
      leaves.forEach((l, n) => {
        bars.group.push(r);
        bars.frame.push(of[n] ?? 0);
        bars.ns.push(l.ns(r));
      });
    }
  }
  columns['profile.bar.group'] = Int32Array.from(bars.group);
  columns['profile.bar.frame'] = Int32Array.from(bars.frame);
  columns['profile.bar.ns'] = Float64Array.from(bars.ns);
  const group = shape.group ?? 1;
  const points = Math.ceil((shape.instances ?? 0) / group);
  const whats = points > 0 ? ['whole', 'MPI_Allreduce'] : [];
  const series = whats.map((what, n) => ({ path: ['iterate'], iterations: -1, what: n === 0 ? what : 'mpi', function: n === 0 ? '' : what, cluster: 0, from: n * points, count: points, of: shape.instances ?? 0 }));
  if (shape.whole) series.push({ path: [], iterations: -1, what: 'whole', function: '', cluster: 0, from: 0, count: 1, of: 1 });
  const each = (of: (first: number, many: number, whole: boolean) => number) =>
    Float64Array.from({ length: points * whats.length }, (_, k) => of((k % points) * group, Math.min(group, (shape.instances ?? 0) - (k % points) * group), k < points));
  const part = (whole: boolean) => (whole ? 1 : 0.25);
  const overRanks = (i: number) => Array.from({ length: ranks }, (_, r) => instanceNS(i, r));
  const mean = (i: number) => overRanks(i).reduce((a, b) => a + b, 0) / ranks;
  Object.assign(columns, {
    'instance.first': each((i) => i),
    'instance.last': each((i, many) => i + many - 1),
    'instance.many': each((_, many) => many),
    'instance.threads': each(() => ranks),
    'instance.calls': each((_, many) => ranks * many),
    'instance.sum': each((i, many, whole) => part(whole) * mean(i) * ranks * many),
    'instance.direct': each((i, many, whole) => part(whole) * mean(i) * ranks * many),
    'instance.least': each((i, _, whole) => part(whole) * instanceNS(i, 0)),
    'instance.most': each((i, _, whole) => part(whole) * instanceNS(i, ranks - 1)),
    'instance.longest': each((i) => instanceNS(i, ranks - 1)),
    'instance.longest_at': each((i) => i),
    'instance.begin_ns': each((i, _, whole) => (shape.timed !== false && whole ? i * 4_000_000 : NaN)),
    'instance.end_ns': each((i, many, whole) => (shape.timed !== false && whole ? (i + many) * 4_000_000 - 1 : NaN)),
    'instance.whose': Int32Array.from(each(() => ranks - 1)),
    ...(shape.classes
      ? { 'instance.class.0': each((i, _, whole) => (part(whole) * (mean(i) * ranks - instanceNS(i, ranks - 1))) / (ranks - 1)), 'instance.class.1': each((i, _, whole) => part(whole) * instanceNS(i, ranks - 1)) }
      : {}),
  });
  const json = { format: 2, phases: true, paths: true, names, groups: Array.from({ length: ranks }, (_, i) => [i, i]), left_out: '', instances: series, merged: '', classes: shape.classes === true, ...shape.json };
  return { json, columns };
}
