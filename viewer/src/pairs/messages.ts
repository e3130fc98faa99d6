// The messages of the page: those of kept windows that the timeline draws.
import type { Pack } from '../data/pack';
import { find, type Model } from './model';

// messagesOf gives the rows of messages of these pairs. Those of one rank with itself are of no pair.
export function messagesOf(pack: Pack, m: Model, pairs: readonly number[]): number[] {
  const [from, to] = [pack.column('messages.from'), pack.column('messages.to')];
  const wanted = new Uint8Array(m.pairs);
  for (const i of pairs) wanted[i] = 1;
  const rows: number[] = [];
  for (let k = 0; k < from.length; k++) {
    const [a, b] = [m.rankOf[from[k]!] ?? -1, m.rankOf[to[k]!] ?? -1];
    const i = a < 0 || b < 0 || a === b ? -1 : find(m, a, b);
    if (i >= 0 && wanted[i]) rows.push(k);
  }
  return rows;
}
