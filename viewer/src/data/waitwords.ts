// What is said of waits, in the words of `moriens waits`.
import type { ThreadName } from './manifest';
import { nameOf, shortPath } from './names';
import type { Pack } from './pack';
import { clusterOf, type Cause, type Table, type What } from './waits';
import { cluster as clusterName, count, plural, seconds } from '../format';

// locationOf is what waits are of.
export const locationOf = (t: Table) => (t.locations > t.ranks ? 'thread' : 'rank');

// who names a location.
export function who(pack: Pack, t: Table, name: ThreadName): string {
  const first = name.thread === 0 && t.locations > t.ranks ? ' thread 0' : '';
  return nameOf(name, (pack.json.manifest?.worlds.length ?? 0) > 1) + first;
}

// whatName is what something costs, in a word.
export function whatName(w: What): string {
  const id = clusterOf(w);
  if (id !== null) return id > 0 ? clusterName(id) : 'no cluster';
  return w.what === 'outside' ? 'not recorded' : w.what;
}

// variantName names a cluster below its kind.
export const variantName = (id: number) => `variant ${id}`;

// variantsName says which clusters of its kind something is in, if not in the one that stands for it alone.
export function variantsName({ variants }: What): string {
  const [first, ...others] = variants;
  if (first === undefined) return '';
  return others.length === 0 ? variantName(first) : `variants ${variants.join(', ')}`;
}

// havingName says who has a kind of computation, where few have.
export function havingName(t: Table, w: What): string {
  const n = t.clusters.find((c) => c.cluster === w.cluster)?.locations ?? 0;
  if (n === 0 || n >= t.locations) return '';
  return n === 1 ? `no other ${locationOf(t)} has it` : `only ${count(n)} of ${plural(t.locations, locationOf(t))} have it`;
}

// did says by how much longer than others a location was in what.
export function did(t: Table, c: Cause): string {
  const id = clusterOf(c);
  const call = shortPath(c.call_path);
  const details = [variantsName(c), havingName(t, c)].filter(Boolean).join('; ');
  const took = c.more_seconds > 0 ? `${seconds(c.more_seconds)} longer in ` : 'in ';
  if (id === null) return took + (c.what === 'MPI' ? call || 'MPI' : `time ${whatName(c)}`);
  return `${took}${id > 0 ? clusterName(id) : 'bursts in no cluster'}${details && ` (${details})`}${call && ` before ${call}`}`;
}
