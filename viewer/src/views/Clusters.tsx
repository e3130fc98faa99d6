// The clusters: all of them in a table, and what the selected ones are.
import { Bursts } from '../clusters/Bursts';
import '../clusters/clusters.css';
import { Distribution } from '../clusters/Distribution';
import { Facts } from '../clusters/Facts';
import { Paths } from '../clusters/Paths';
import { ClusterTable } from '../clusters/Table';
import { usePack } from '../data/context';
import { cluster } from '../format';
import { Empty } from '../parts/Panel';
import { useSelection } from '../store';

const MOST = 6; // series that can be distinguished in one histogram

export function Clusters() {
  const { clusters } = usePack().json;
  const selection = useSelection();
  if (!clusters) return <Empty>There are no clusters yet: the directory has no clusters.json.</Empty>;
  const first = clusters.clusters[0];
  const ids = (selection.clusters ?? (first ? [first.id] : [])).slice(0, MOST);
  const chosen = ids.flatMap((id) => clusters.clusters.filter((c) => c.id === id));
  const several = chosen.length > 1;
  return (
    <div class="clusters">
      <ClusterTable clusters={clusters} />
      <div class="cluster-detail">
        {clusters.clusters.length === 0 ? <Empty>No burst is in a cluster.</Empty> : null}
        <Facts clusters={chosen} />
        {ids.length > 0 ? <Distribution ids={ids} /> : null}
        {chosen.slice(0, 2).map((c) => (
          <div key={c.id} class="paths-pair">
            <Paths title={`Calls before the bursts${several ? ` of ${cluster(c.id)}` : ''}`} places={c.before} paths={c.wholeBefore} />
            <Paths title={`Calls after them`} places={c.after} paths={c.wholeAfter} />
          </div>
        ))}
        {ids.slice(0, 2).map((id) => (
          <Bursts key={id} id={id} />
        ))}
      </div>
    </div>
  );
}
