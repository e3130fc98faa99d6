// The views in the order of the navigation: names, keys, and where each makes sense. index.ts has what they show.
import type { Pack } from '../data/pack';

export interface Name {
  readonly id: string; // in the address
  readonly title: string;
  readonly key: string; // that opens it
  readonly inProgress?: boolean; // it shows something of a run in progress
  readonly hidden?: (pack: Pack) => boolean; // where it makes no sense
}

const all = [
  { id: 'overview', title: 'Overview', key: '1' },
  { id: 'space', title: 'Burst space', key: '2' },
  { id: 'timeline', title: 'Timeline', key: '3' },
  { id: 'profile', title: 'Profile', key: 'c' },
  { id: 'program', title: 'Program', key: 'g', hidden: (pack: Pack) => pack.json.program === null },
  { id: 'clusters', title: 'Clusters', key: '4' },
  { id: 'refinement', title: 'Refinement', key: '5' },
  { id: 'ranks', title: 'Ranks', key: '6' },
  { id: 'waits', title: 'Waits', key: '7' },
  { id: 'pairs', title: 'Pairs', key: '8', hidden: (pack: Pack) => pack.json.mode === 'live' },
  { id: 'live', title: 'Live', key: '8', inProgress: true, hidden: (pack: Pack) => pack.json.mode !== 'live' },
  { id: 'files', title: 'Files', key: '9', inProgress: true },
] as const satisfies readonly Name[];

export type Id = (typeof all)[number]['id'];

export const names: readonly (Name & { readonly id: Id })[] = all;
