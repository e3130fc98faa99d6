// Ranks as the page has them: groups of neighbouring threads, one thread each unless there are very many. Values are
// means per thread, so that groups of different size compare.
import { median } from '../data/groups';
import { threadName, threadsName } from '../data/names';
import type { Pack } from '../data/pack';
import { cluster } from '../format';

export interface Criterion {
  readonly id: string;
  readonly name: string; // "time in MPI"
  readonly unit: string; // "s", "share" (0-1), or as that of a counter
  readonly values: Float64Array; // of each group
}

export function groupName(pack: Pack, group: number): string {
  const range = pack.json.groups[group] ?? [group, group];
  return range[0] === range[1] ? threadName(pack, range[0]) : threadsName(pack, [range]);
}

function sizes(pack: Pack): number[] {
  return pack.json.groups.map(([first, last]) => last - first + 1);
}

// heat gives a column of the sums by group and cluster, as means per thread of the group; by cluster.
export function heat(pack: Pack, column: string): Map<number, Float64Array> {
  const [group, id, value] = [pack.column('heat.group'), pack.column('heat.cluster'), pack.column(column)];
  const of = new Map<number, Float64Array>();
  const size = sizes(pack);
  for (let i = 0; i < group.length; i++) {
    const c = id[i] ?? 0;
    const g = group[i] ?? 0;
    let row = of.get(c);
    if (!row) of.set(c, (row = new Float64Array(pack.json.groups.length)));
    if (g < row.length) row[g] = (row[g] ?? 0) + (value[i] ?? 0) / (size[g] ?? 1);
  }
  return of;
}

const NOT_KNOWN = new Float64Array(0);

// criteria are those by which ranks can be ordered, as far as the page knows them.
export function criteria(pack: Pack): Criterion[] {
  const size = sizes(pack);
  const perThread = (name: string) => Float64Array.from(pack.column(name), (v, g) => v / (size[g] ?? 1));
  const time = heat(pack, 'heat.seconds');
  const ids = [...time.keys()].sort((a, b) => Number(a < 1) - Number(b < 1) || a - b);
  const list: Criterion[] = [
    { id: 'computing', name: 'computing time', unit: 's', values: perThread('rank.computing_seconds') },
    { id: 'mpi', name: 'time in MPI (waiting and moving)', unit: 's', values: perThread('rank.seconds_in_mpi') },
    { id: 'different', name: 'difference from the median rank', unit: 'share', values: time.size > 0 ? differences(pack, time) : NOT_KNOWN },
    { id: 'sent', name: 'bytes sent', unit: 'bytes', values: perThread('rank.sent_bytes') },
    { id: 'received', name: 'bytes received', unit: 'bytes', values: perThread('rank.received_bytes') },
    { id: 'bursts', name: 'bursts', unit: '', values: perThread('rank.bursts') },
    ...ids.map((id) => ({ id: `cluster${id}`, name: `time in ${cluster(id)}`, unit: 's', values: time.get(id) ?? new Float64Array(0) })),
    ...pack.json.counters.map(({ name, unit }, k) => ({ id: `counter${k}`, name, unit, values: pack.column(`heat.counter.${k}`).length > 0 ? total(pack, heat(pack, `heat.counter.${k}`)) : NOT_KNOWN })),
  ];
  return list.filter((c) => c.values.length === pack.json.groups.length && c.values.some(Number.isFinite));
}

function total(pack: Pack, of: ReadonlyMap<number, Float64Array>): Float64Array {
  const sum = new Float64Array(pack.json.groups.length);
  for (const row of of.values()) row.forEach((v, g) => (sum[g] = (sum[g] ?? 0) + v));
  return sum;
}

// differences says how far the time of each group is spent otherwise than in the median: the sum over clusters of what
// it has more or less, as part of the median's time.
function differences(pack: Pack, time: ReadonlyMap<number, Float64Array>): Float64Array {
  const off = new Float64Array(pack.json.groups.length);
  let all = 0;
  for (const row of time.values()) {
    const middle = median(row);
    all += middle;
    row.forEach((v, g) => (off[g] = (off[g] ?? 0) + Math.abs(v - middle)));
  }
  return all > 0 ? off.map((v) => v / all) : off;
}
