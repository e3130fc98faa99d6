// What a lasso has caught: how many bursts of which clusters, and buttons that make it the page's selection.
import { useMemo } from 'preact/hooks';
import { usePack } from '../data/context';
import { threadsName } from '../data/names';
import { cluster as clusterName, count, ns, percent, plural } from '../format';
import { Heads, numbers } from '../parts/Heads';
import { Panel } from '../parts/Panel';
import { Swatch } from '../parts/Swatch';
import { SaveTools } from '../save/SaveTools';
import type { Table } from '../save/csv';
import { rangesOf } from '../state/ranges';
import { select } from '../store';

// The rest is in the CSV.
const MOST_ROWS = 50;

export function Caught({ rows, lift }: { rows: Uint32Array; lift: () => void }) {
  const pack = usePack();
  const caught = useMemo(() => {
    const of = (name: string) => pack.column(`points.${name}`);
    const [cluster, thread, start, duration, weight] = [of('cluster'), of('thread'), of('start_ns'), of('duration'), of('weight')];
    const clusters = new Map<number, { points: number; bursts: number; ns: number }>();
    const threads = new Set<number>();
    let [from, to, all] = [Infinity, -Infinity, 0];
    for (const i of rows) {
      const c = clusters.get(cluster[i]!) ?? { points: 0, bursts: 0, ns: 0 };
      clusters.set(cluster[i]!, c);
      const w = weight[i] ?? 1;
      c.points++;
      c.bursts += w;
      c.ns += w * duration[i]!;
      all += w * duration[i]!;
      threads.add(thread[i]!);
      from = Math.min(from, start[i]!);
      to = Math.max(to, start[i]! + duration[i]!);
    }
    return { clusters: [...clusters].sort((a, b) => b[1].ns - a[1].ns), threads: rangesOf(threads), from, to, all, bursts: [...clusters.values()].reduce((sum, c) => sum + c.bursts, 0) };
  }, [pack, rows]);
  const table = (): Table => {
    const dimensions = pack.json.dimensions.filter((d) => pack.has(d.column));
    const columns = ['world', 'rank', 'thread'].map((name) => pack.column(`thread.${name}`));
    return {
      columns: ['world', 'rank', 'thread', 'cluster', 'weight', ...dimensions.map((d) => (d.unit ? `${d.name}_${d.unit}` : d.name))],
      rows: Array.from(rows, (i) => [
        ...columns.map((c) => c[pack.column('points.thread')[i]!] ?? null),
        pack.column('points.cluster')[i] ?? null,
        pack.column('points.weight')[i] ?? 1,
        ...dimensions.map((d) => pack.column(d.column)[i] ?? null),
      ]),
    };
  };
  return (
    <Panel class="caught" title={`Inside: ${plural(rows.length, 'burst')}`} tools={rows.length ? <SaveTools name="lasso" table={table} /> : undefined}>
      {rows.length === 0 ? <p class="empty">No burst lies inside of this line.</p> : null}
      {rows.length ? (
        <>
          <p>
            {Math.round(caught.bursts) > rows.length ? `They stand for ${plural(Math.round(caught.bursts), 'burst')}. ` : ''}
            {ns(caught.all)} of computing time, {threadsName(pack, caught.threads)}, from {ns(caught.from)} to {ns(caught.to)}.
          </p>
          <table>
            <Heads of={['Cluster', numbers('Bursts'), numbers('Time'), numbers('Share')]} />
            <tbody>
              {caught.clusters.slice(0, MOST_ROWS).map(([id, c]) => (
                <tr key={id}>
                  <td>
                    <Swatch id={id} /> {clusterName(id)}
                  </td>
                  <td class="n">{count(Math.round(c.bursts))}</td>
                  <td class="n">{ns(c.ns)}</td>
                  <td class="n">{percent(c.ns / caught.all)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {caught.clusters.length > MOST_ROWS ? <p>{plural(caught.clusters.length - MOST_ROWS, 'more cluster')}, with less time, not listed; the CSV has their bursts.</p> : null}
          <div class="caught-tools">
            <button type="button" onClick={() => select({ clusters: caught.clusters.map(([id]) => id) })}>
              Select its clusters
            </button>
            <button type="button" onClick={() => select({ threads: caught.threads })}>
              Select its ranks
            </button>
            <button type="button" onClick={() => select({ fromNS: caught.from, toNS: caught.to })}>
              Select its time
            </button>
          </div>
        </>
      ) : null}
      <button type="button" onClick={lift} aria-keyshortcuts="Escape">
        Lift the lasso
      </button>
    </Panel>
  );
}
