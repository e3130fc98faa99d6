// What is known of a cluster; of two, side by side, and how the second differs from the first.
import type { ComponentChildren } from 'preact';
import { byKinds, type Clusters } from '../data/clusters';
import { usePack } from '../data/context';
import { against, cluster, count, ns, percent, quantity, ratio, score, seconds } from '../format';
import { Panel } from '../parts/Panel';
import { Swatch } from '../parts/Swatch';
import { SaveTools } from '../save/SaveTools';

type Cluster = Clusters['clusters'][number];

interface Fact {
  readonly name: string;
  readonly value: (c: Cluster) => number;
  readonly show: (v: number, c: Cluster) => ComponentChildren;
  readonly compare?: boolean;
}

// ofKinds are known where clusters were found by kinds of computation.
const ofKinds: readonly Fact[] = [
  {
    name: 'duration, median',
    value: (c) => c.median_ns,
    show: (v, c) => (
      <>
        {ns(v)} <span class="pm">± {percent(c.core)}</span>
      </>
    ),
    compare: true,
  },
  { name: 'kind', value: (c) => c.kind, show: (v, c) => (c.variant_of > 0 ? `variant of ${cluster(v)}` : count(v)) },
  { name: 'predicted by order', value: (c) => c.predicted, show: percent },
  { name: 'why', value: () => NaN, show: (_, c) => <span class="why">{c.why}</span> },
  { name: 'disturbed bursts of its kind', value: (c) => c.disturbed_bursts, show: (v, c) => (v > 0 ? `${count(v)}, ${seconds(c.extra_seconds)} longer in total` : count(v)) },
];

function factsOf(pack: ReturnType<typeof usePack>): Fact[] {
  const counters = pack.json.counters.map(({ name, unit }): Fact => {
    const of = (c: Cluster) => c.counters.find((k) => k.name === name);
    return {
      name: `${name}, mean`,
      value: (c) => of(c)?.mean ?? NaN,
      show: (v, c) => (
        <>
          {quantity(v, unit)} <span class="pm">± {quantity(of(c)?.std ?? NaN, unit)}</span>
        </>
      ),
      compare: true,
    };
  });
  const plain = (v: number) => ratio(v);
  return [
    { name: 'time', value: (c) => c.seconds, show: seconds, compare: true },
    { name: 'share of computing time', value: (c) => c.share, show: percent },
    { name: 'bursts', value: (c) => c.bursts, show: count, compare: true },
    {
      name: 'duration, mean',
      value: (c) => c.mean_ns,
      show: (v, c) => (
        <>
          {ns(v)} <span class="pm">± {ns(c.std_ns)}</span>
        </>
      ),
      compare: true,
    },
    ...(pack.json.clusters && byKinds(pack.json.clusters) ? ofKinds : []),
    { name: 'score', value: (c) => c.score, show: score },
    { name: 'Eps', value: (c) => c.eps, show: (v, c) => (c.rare ? 'too rare for a density test' : plain(v)) },
    { name: 'MinPts', value: (c) => c.min_pts, show: count },
    ...counters,
  ];
}

export function Facts({ clusters }: { clusters: readonly Cluster[] }) {
  const pack = usePack();
  const facts = factsOf(pack);
  const [first, second] = clusters;
  if (!first) return null;
  const shown = second ? [first, second] : [first];
  const title = second ? `${cluster(first.id)} and ${cluster(second.id)}` : cluster(first.id);
  const table = () => ({
    columns: ['quantity', ...shown.map((c) => cluster(c.id))],
    rows: facts.map((f) => [f.name, ...shown.map(f.value)]),
  });
  const more = clusters.length - shown.length;
  return (
    <Panel title={title.replace(/^./, (c) => c.toUpperCase())} note={more > 0 ? `the first two of ${count(clusters.length)} selected` : undefined} tools={<SaveTools name={title} table={table} />}>
      <table class={second ? 'cluster-facts' : 'cluster-facts one'}>
        {second ? (
          <thead>
            <tr>
              <td />
              {shown.map((c) => (
                <th key={c.id} scope="col" class="n">
                  <Swatch id={c.id} /> {cluster(c.id)}
                </th>
              ))}
              <th scope="col" class="n">
                second against first
              </th>
            </tr>
          </thead>
        ) : null}
        <tbody>
          {facts.map((f) => (
            <tr key={f.name}>
              <th scope="row">{f.name}</th>
              {shown.map((c) => (
                <td key={c.id} class="n">
                  {f.show(f.value(c), c)}
                </td>
              ))}
              {second ? <td class="n">{f.compare ? against(f.value(second), f.value(first)) : ''}</td> : null}
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
