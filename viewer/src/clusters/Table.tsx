// All clusters, in the order of any column.
import { usePack } from '../data/context';
import { byKinds, SCORE, unclustered, type CallPath, type Clusters } from '../data/clusters';
import { whyNot, type ClusterLoss, type Part } from '../data/efficiency';
import type { ThreadName } from '../data/manifest';
import { briefPath, nameOf } from '../data/names';
import { byKind, scopesOf, type Scope, type Table as Waits, type Waits as All } from '../data/waits';
import { variantName } from '../data/waitwords';
import { cluster, count, ns, percent, score, seconds } from '../format';
import { SortHead } from '../parts/Heads';
import { Panel } from '../parts/Panel';
import { Swatch } from '../parts/Swatch';
import { usePart, Within } from '../parts/Within';
import { SaveTools } from '../save/SaveTools';
import { toggleCluster, useParam, useSelection } from '../store';

export interface Row {
  readonly id: number;
  readonly seconds: number;
  readonly share: number;
  readonly bursts: number;
  readonly mean: number; // ns
  readonly spread: number; // standard deviation / mean
  readonly kind: number; // NaN = of none, or not known
  readonly median: number; // ns
  readonly core: number; // half the quartile range / median
  readonly predicted: number;
  readonly why: string;
  readonly score: number;
  readonly eps: number;
  readonly minPts: number;
  readonly after: CallPath | null;
  readonly lost: number; // s
  readonly balance: number;
  readonly most: number; // rank
  readonly best: number; // IPC of the best alike
  readonly caused: number; // s, that others wait
  readonly path: number; // share of the critical path
  readonly imbalance: number; // s, on the path
  readonly parts: readonly Cost[]; // of these three, where they are sums: the cluster itself and its variants
  readonly who: ThreadName | null;
}

type Costs = Pick<Row, 'caused' | 'path' | 'imbalance'>;
type Cost = Costs & { readonly id: number };

type Key = 'id' | 'caused' | 'path' | 'imbalance' | 'seconds' | 'share' | 'bursts' | 'mean' | 'spread' | 'kind' | 'median' | 'core' | 'predicted' | 'score' | 'lost' | 'balance' | 'most' | 'best';

interface Column {
  readonly key: Key;
  readonly title: string;
  readonly says: string;
  readonly show: (r: Row) => string;
  readonly kinds?: boolean; // true: only where clusters were found by kinds; false: only where not
  readonly losses?: boolean; // of efficiency.json
  readonly waits?: boolean; // of waits.json
}

// costsAre says which part of the run figures of waits are of, and what rows of kinds have.
const costsAre = ({ within }: Scope) => `${within.slice(0, 1).toLowerCase()}${within.slice(1)}; the row of a kind has the sum of its variants, whose rows have their parts of it`;

const columns: readonly Column[] = [
  { key: 'seconds', title: 'Time', says: 'total duration of its bursts', show: (r) => seconds(r.seconds) },
  { key: 'share', title: 'Share', says: 'of the computing time of all bursts', show: (r) => percent(r.share) },
  { key: 'lost', title: 'Lost', says: 'largest less mean time of a thread in it, or in all of its kind where clusters were found by kinds and the part is main: at most so much does its imbalance cost a thread on average', show: (r) => seconds(r.lost), losses: true },
  { key: 'balance', title: 'Balance', says: 'mean over largest time of a thread in it and the variants of its kind', show: (r) => percent(r.balance), losses: true },
  { key: 'most', title: 'Most', says: 'who has the largest time in it and the variants of its kind', show: (r) => (r.who ? nameOf(r.who, r.who.world > 0) : '–'), losses: true },
  { key: 'best', title: 'IPC of best', says: 'its instructions per cycle over those of the best cluster between the same calls', show: (r) => percent(r.best), losses: true },
  { key: 'caused', title: 'Makes others wait', says: 'waits of others that are charged to it: it takes longer on one rank than on those that wait for that one', show: (r) => seconds(r.caused), waits: true },
  { key: 'path', title: 'On path', says: 'its part of the critical path: to a first order, what the run gains if it vanishes', show: (r) => percent(r.path), waits: true },
  { key: 'imbalance', title: 'Imbalance on it', says: 'its time on the critical path less the mean of all threads: to a first order, what balance can gain; below 0, the path runs through threads on which it takes less', show: (r) => seconds(r.imbalance), waits: true },
  { key: 'bursts', title: 'Bursts', says: 'how many there were in the run', show: (r) => count(r.bursts) },
  { key: 'mean', title: 'Mean', says: 'mean duration', show: (r) => ns(r.mean), kinds: false },
  { key: 'spread', title: 'Spread', says: 'standard deviation of the durations, as part of their mean', show: (r) => percent(r.spread), kinds: false },
  { key: 'median', title: 'Median', says: 'median duration', show: (r) => ns(r.median), kinds: true },
  { key: 'core', title: 'Spread', says: 'half the quartile range of the durations, as part of their median', show: (r) => percent(r.core), kinds: true },
  { key: 'kind', title: 'Kind', says: 'its kind of computation, by the number of its main cluster; the number of another cluster: a variant of that', show: (r) => (Number.isNaN(r.kind) ? '' : count(r.kind)), kinds: true },
  { key: 'predicted', title: 'Predicted', says: 'how far order (the bursts before, after and on other ranks) predicts this kind', show: (r) => percent(r.predicted), kinds: true },
  { key: 'score', title: 'Score', says: SCORE, show: (r) => score(r.score) },
];

export function rowsOf(c: Clusters, part: Part | null = null, waits: Waits | null = null): Row[] {
  const cost = waits ? costsOf(waits) : null;
  const [losses, rated] = [part?.kinds, part?.clusters].map((list) => new Map(list?.map((l) => [l.id, l])));
  return c.clusters.map((k) => ({
    ...lossOf(losses?.get(k.id), rated?.get(k.id)),
    ...(cost?.get(k.id) ?? free),
    id: k.id,
    seconds: k.seconds,
    share: k.share,
    bursts: k.bursts,
    mean: k.mean_ns,
    spread: k.std_ns / k.mean_ns,
    kind: k.kind || k.id,
    median: k.median_ns,
    core: k.core,
    predicted: k.predicted,
    why: k.why,
    score: k.score,
    eps: k.eps,
    minPts: k.min_pts,
    after: k.after[0] ?? null,
  }));
}

// lossOf has what the kind loses, and how the cluster computes.
function lossOf(l?: ClusterLoss, rated?: ClusterLoss): Pick<Row, 'lost' | 'balance' | 'most' | 'best' | 'who'> {
  return { lost: l?.lost_seconds ?? NaN, balance: l?.load_balance ?? NaN, most: l?.most?.rank ?? NaN, best: rated?.ipc_of_best ?? NaN, who: l?.most ?? null };
}

const free: Costs & Pick<Row, 'parts'> = { caused: NaN, path: NaN, imbalance: NaN, parts: [] };

// costsOf has what clusters make others wait, and what they have of the critical path: in the row of the cluster that
// stands for a kind the sums of all its clusters, as who is late in one variant of it is early in another.
function costsOf(t: Waits): Map<number, Costs & Pick<Row, 'parts'>> {
  return new Map(
    [...byKind(t)].flatMap(([kind, members]) => {
      const parts = members.map((w): Cost => ({ id: w.cluster, caused: w.caused_seconds, path: w.path_share, imbalance: w.path_imbalance_seconds }));
      const sum = (of: keyof Costs) => parts.reduce((all, p) => all + p[of], 0);
      const all = { caused: sum('caused'), path: sum('path'), imbalance: sum('imbalance'), parts: parts.length > 1 ? parts : [] };
      return parts.map((p): [number, Costs & Pick<Row, 'parts'>] => [p.id, p.id === kind ? all : { ...p, parts: [] }]);
    }),
  );
}

// costsIn is what the columns of waits are of: the whole run where the part is that, else main, as waits are not known
// of other parts; null: they are known of neither.
function costsIn(waits: All | null, part: Part | null): Scope | null {
  const scopes = scopesOf(waits).filter((s) => s.key !== 'windows');
  return scopes.find((s) => s.key === part?.key) ?? scopes[0] ?? null;
}

// restOf are the bursts that are in no cluster; they are always below all clusters.
function restOf(c: Clusters): Row[] {
  return unclustered(c)
    .filter((r) => r.bursts > 0)
    .map((r) => ({ ...r, mean: (r.seconds * 1e9) / r.bursts, spread: NaN, kind: NaN, median: NaN, core: NaN, predicted: NaN, why: '', eps: NaN, minPts: NaN, after: null, ...lossOf(), ...free }));
}

export function sorted(rows: readonly Row[], by: string): Row[] {
  const down = by.startsWith('-');
  const key = (columns.find((c) => c.key === by.replace('-', ''))?.key ?? 'id') satisfies Key;
  const at = (r: Row) => (Number.isNaN(r[key]) ? -Infinity : r[key]);
  return [...rows].sort((a, b) => (down ? at(b) - at(a) : at(a) - at(b)) || Number(ofKind(a)) - Number(ofKind(b)) || a.id - b.id);
}

export function ClusterTable({ clusters }: { clusters: Clusters }) {
  const pack = usePack();
  const selection = useSelection();
  const [by, sortBy] = useParam('sort', 'id');
  const { part } = usePart();
  const scope = costsIn(pack.json.waits, part);
  const rows = [...sorted(rowsOf(clusters, part, scope?.table), by), ...restOf(clusters)];
  const most = Math.max(...rows.map((r) => r.share), 0);
  const kinds = byKinds(clusters);
  const shown = columns.filter((c) => (c.kinds === undefined || c.kinds === kinds) && (!c.losses || part !== null) && (!c.waits || scope !== null));
  const table = () => ({
    columns: ['cluster', 'seconds', 'share', 'bursts', 'mean_ns', 'spread', 'score', 'eps', 'min_pts', 'ends_with', 'kind', 'median_ns', 'core', 'predicted', 'why', 'lost_seconds', 'load_balance', 'most', 'ipc_of_best', 'caused_seconds', 'path_share', 'path_imbalance_seconds'],
    rows: rows.map((r) => [cluster(r.id), r.seconds, r.share, r.bursts, r.mean, r.spread, r.score, r.eps, r.minPts, r.after?.name ?? '', r.kind, r.median, r.core, r.predicted, r.why, r.lost, r.balance, r.who ? nameOf(r.who, r.who.world > 0) : '', r.best, r.caused, r.path, r.imbalance]),
  });
  return (
    <Panel title="Clusters" note={`${count(clusters.clusters.length)}, of ${pack.json.manifest ? count(pack.json.manifest.bursts) : count(clusters.total.bursts)} bursts. Ctrl-click adds one to compare.${selection.level === null ? '' : ' These are the answer; drawings follow the chosen step.'}`} tools={
        <>
          <Within />
          <SaveTools name="clusters" table={table} />
        </>
      } class="cluster-list">
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of clusters">
        <table class="sortable">
          <thead>
            <tr>
              <SortHead title="Cluster" says="by time" name="id" by={by} sort={sortBy} up />
              {shown.map((c) => (
                <SortHead key={c.key} title={c.title} says={c.waits && scope ? `${c.says}; ${costsAre(scope)}` : c.says} name={c.key} by={by} sort={sortBy} right />
              ))}
              <th scope="col">Ends with</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.id} class={selection.clusters?.includes(r.id) ? 'chosen' : ''} data-cluster={r.id} onClick={(e) => toggleCluster(r.id, !(e.ctrlKey || e.metaKey || e.shiftKey))}>
                <th scope="row">
                  <button type="button" class="link name" aria-pressed={selection.clusters?.includes(r.id) ?? false}>
                    <Swatch id={r.id} /> {cluster(r.id)}
                  </button>
                </th>
                {shown.map((c) => (
                  <td key={c.key} class={classOf(c, r)} title={c.waits ? costHint(c, r) : c.key === 'kind' ? r.why : c.losses && Number.isNaN(r[c.key]) ? whyNot(pack.json.efficiency, part, r.id, c.key === 'best') : undefined}>
                    {c.key === 'share' && most > 0 ? <span class="fill" style={{ width: `${(38 * r.share) / most}px` }} /> : null}
                    {c.show(r)}
                  </td>
                ))}
                <td class="path" title={r.after?.name}>
                  {briefPath(r.after?.name ?? '')}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

// ofKind says whether the row of another cluster, that of its kind, includes the costs of this row.
const ofKind = (r: Row) => r.kind > 0 && r.kind !== r.id;

const classOf = (c: Column, r: Row) => ['n', c.key === 'share' ? 'bar' : '', c.waits && ofKind(r) ? 'of-kind' : ''].filter(Boolean).join(' ');

// costHint says what a figure of waits is the sum of, or why there is none.
function costHint(c: Column, r: Row): string | undefined {
  if (ofKind(r)) return `a variant: part of the sum in the row of its kind, cluster ${count(r.kind)}`;
  if (r.parts.length === 0) return undefined;
  return r.parts.map((p) => `${variantName(p.id)} ${c.show({ ...r, ...p })}`).join(', ');
}
