// The views in the order of the navigation. A view gets nothing but the pack (usePack) and the selection (store.ts).
import type { ComponentType } from 'preact';
import type { Pack } from '../data/pack';
import { Clusters } from './Clusters';
import { Files } from './Files';
import { Live } from './Live';
import { Overview } from './Overview';
import { Ranks } from './Ranks';
import { Refinement } from './Refinement';
import { Space } from './Space';
import { Timeline } from './Timeline';

export interface View {
  readonly id: string; // in the address
  readonly title: string;
  readonly key: string; // that opens it
  readonly component: ComponentType;
  readonly inProgress?: boolean; // it shows something of a run in progress
  readonly hidden?: (pack: Pack) => boolean; // where it makes no sense
}

export const views: readonly View[] = [
  { id: 'overview', title: 'Overview', key: '1', component: Overview },
  { id: 'space', title: 'Burst space', key: '2', component: Space },
  { id: 'timeline', title: 'Timeline', key: '3', component: Timeline },
  { id: 'clusters', title: 'Clusters', key: '4', component: Clusters },
  { id: 'refinement', title: 'Refinement', key: '5', component: Refinement },
  { id: 'ranks', title: 'Ranks', key: '6', component: Ranks },
  { id: 'live', title: 'Live', key: '7', component: Live, inProgress: true, hidden: (pack) => pack.json.mode !== 'live' },
  { id: 'files', title: 'Files', key: '8', component: Files, inProgress: true },
];
