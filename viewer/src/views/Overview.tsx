// The run at a glance: what ran, where its time went, what stands out, what was kept and lost.
import { usePack } from '../data/context';
import { ClusterTable } from './overview/ClusterTable';
import { EfficiencyPanel } from './overview/Efficiency';
import { Facts } from './overview/Facts';
import { Findings } from './overview/Findings';
import { Losses } from './overview/Losses';
import { Phases } from './overview/Phases';
import { Reduction } from './overview/Reduction';
import { TimeBar } from './overview/TimeBar';
import './overview/overview.css';

export function Overview() {
  const pack = usePack();
  return (
    <div class="overview">
      <Facts pack={pack} />
      <EfficiencyPanel pack={pack} />
      <TimeBar pack={pack} />
      <div class="overview-columns">
        <div class="overview-main">
          <Findings pack={pack} />
          <ClusterTable pack={pack} />
          <Phases pack={pack} />
        </div>
        <div class="overview-side">
          <Reduction pack={pack} />
          <Losses pack={pack} />
        </div>
      </div>
    </div>
  );
}
