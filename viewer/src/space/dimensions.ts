// Which two dimensions are shown, and how: words in the address, "duration:log".
import type { Pack } from '../data/pack';
import type { Scale } from './axis';

export interface Shown {
  name: string;
  unit: string;
  column: string;
  scale: Scale;
}

export function dimensionOf(pack: Pack, said: string): Shown | null {
  const cut = said.lastIndexOf(':'); // names of events hold colons
  const [name, scale] = [said.slice(0, cut), said.slice(cut + 1)];
  const d = pack.json.dimensions.find((d) => d.name === name && pack.has(d.column));
  return d && (scale === 'log' || scale === 'lin') ? { name, unit: d.unit, column: d.column, scale } : null;
}

// usual gives the axes that the clusters were found in; where that was one, it is over time.
export function usual(pack: Pack): [x: string, y: string] {
  const known = pack.json.dimensions.filter((d) => pack.has(d.column)).map((d) => ({ ...d, said: `${d.name}:${d.scale === 'log' ? 'log' : 'lin'}` }));
  const clustered = (pack.json.clusters?.dimensions ?? []).flatMap((c) => known.find((d) => d.name === c.name)?.said ?? []);
  const rest = ['points.start_ns', 'points.duration'].flatMap((column) => known.find((d) => d.column === column)?.said ?? []);
  const [x, y] = clustered.length > 1 ? clustered : [...new Set([...rest, ...clustered])];
  return [x ?? '', y ?? x ?? ''];
}
