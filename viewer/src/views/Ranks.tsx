// The ranks: how they were grouped, which are unlike the others, and how their time compares.
import { useMemo } from 'preact/hooks';
import { usePack } from '../data/context';
import { Empty } from '../parts/Panel';
import { Classes, Outliers } from '../ranks/Classes';
import { Groups } from '../ranks/Groups';
import { Extrema } from '../ranks/Extrema';
import { criteria } from '../ranks/groups';
import { HeatMap } from '../ranks/HeatMap';
import '../ranks/ranks.css';
import { TimeProfile } from '../ranks/TimeProfile';

export function Ranks() {
  const pack = usePack();
  const all = useMemo(() => criteria(pack), [pack]);
  const kept = pack.json.manifest?.kept;
  if (pack.json.threads === 0) return <Empty>No rank is known.</Empty>;
  return (
    <div class="ranks">
      <div class="ranks-top">
        {kept ? <Classes kept={kept} /> : null}
        {kept ? <Outliers kept={kept} /> : null}
      </div>
      <Groups />
      {all.length === 0 ? <Empty>The profile of the ranks is not in this page: the directory has no profile.parquet.</Empty> : null}
      <HeatMap />
      <Extrema all={all} />
      <TimeProfile />
    </div>
  );
}
