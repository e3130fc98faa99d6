// What each view shows. A view gets nothing but the pack (usePack) and the selection (store.ts).
import type { ComponentType } from 'preact';
import { Clusters } from './Clusters';
import { Files } from './Files';
import { Live } from './Live';
import { names, type Id, type Name } from './names';
import { Overview } from './Overview';
import { Pairs } from './Pairs';
import { Profile } from './Profile';
import { Program } from './Program';
import { Ranks } from './Ranks';
import { Refinement } from './Refinement';
import { Space } from './Space';
import { Timeline } from './Timeline';
import { Waits } from './Waits';

export interface View extends Name {
  readonly component: ComponentType;
}

const components: Record<Id, ComponentType> = {
  overview: Overview,
  space: Space,
  timeline: Timeline,
  profile: Profile,
  program: Program,
  clusters: Clusters,
  refinement: Refinement,
  ranks: Ranks,
  waits: Waits,
  pairs: Pairs,
  live: Live,
  files: Files,
};

export const views: readonly View[] = names.map((name) => ({ ...name, component: components[name.id] }));
