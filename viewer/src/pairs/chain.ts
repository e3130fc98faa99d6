// Who waits for the cause of waits, and who for those in turn: by the links of waits.json.
import type { ThreadName } from '../data/manifest';
import { same, type Table } from '../data/waits';

export interface Step {
  readonly who: ThreadName;
  readonly seconds: number; // that it waits for the one before; after the first of that what was handed on
}

const MOST = 5; // steps that a row shows

// chainFrom follows the heaviest waits from a rank on: first those for it, then what its waiters handed on.
export function chainFrom(links: Table['links'], rank: ThreadName): Step[] {
  const steps: Step[] = [];
  const seen = [rank];
  for (let at = rank; steps.length < MOST; ) {
    let best: Step | null = null;
    for (const l of links) {
      if (!same(l.for, at) || seen.some((s) => same(s, l.waiting))) continue;
      const seconds = steps.length === 0 ? l.seconds : l.handed_on_seconds;
      if (seconds > (best?.seconds ?? 0)) best = { who: l.waiting, seconds };
    }
    if (!best) break;
    steps.push(best);
    seen.push(best.who);
    at = best.who;
  }
  return steps;
}
