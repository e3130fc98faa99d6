// The colour of each point, and whether it is selected.
import type { Pack } from '../data/pack';
import type { Levels } from '../data/levels';
import { greyOf } from '../palette';
import { rgbOf, wordOf } from '../rgb';
import { ownOf } from '../program/model';
import { holds, type Selection } from '../store';
import type { Theme } from '../theme';

export interface Colours {
  rgba: Uint8Array<ArrayBuffer>; // in the order of drawing
  lit: Uint8Array<ArrayBuffer>; // likewise: 1, HOLLOW, or 0 = not
  count: number; // of those that are lit
}

// Of points that are lit and of variants.
const HOLLOW = 3;
const LIT = 255;
const NOISE = 150;
const UNLIT = 46;

export function coloursOf(pack: Pack, levels: Levels, order: Uint32Array, selection: Selection, inside: Uint8Array | null, theme: Theme): Colours {
  const of = (name: string) => pack.column(`points.${name}`);
  const [cluster, thread, start, duration] = [of('cluster'), of('thread'), of('start_ns'), of('duration')];
  const everything = selection.clusters === null && selection.threads === null && selection.fromNS === null && selection.toNS === null;
  const own = ownOf(pack, selection)?.bursts;
  const words = new Uint32Array(order.length);
  const lit = new Uint8Array(order.length);
  const known = new Map<number, number>();
  const grey = wordOf(rgbOf(greyOf('noise', theme)), UNLIT);
  let count = 0;
  for (let k = 0; k < order.length; k++) {
    const i = order[k]!;
    const shown = (everything || holds(selection, cluster[i]!, thread[i]!, start[i]!, start[i]! + duration[i]!)) && (!inside || inside[i] === 1) && (!own || own[i] === 1);
    if (!shown) {
      words[k] = grey;
      continue;
    }
    const label = levels.labels[i]!;
    let word = known.get(label);
    if (word === undefined) known.set(label, (word = wordOf(rgbOf(levels.colour(label, theme)), label > 0 ? LIT : NOISE)));
    words[k] = word;
    lit[k] = levels.variant(label) ? HOLLOW : 1;
    count++;
  }
  return { rgba: new Uint8Array(words.buffer), lit, count };
}
