// The clusters so far, and the latest bursts of each.
import { useRef } from 'preact/hooks';
import { Axis } from '../draw/axes';
import { linearTicks, logTicks } from '../draw/ticks';
import { cluster, count, percent, plural, seconds } from '../format';
import { colourOf } from '../palette';
import { Empty, Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { Swatch } from '../parts/Swatch';
import { SaveTools } from '../save/SaveTools';
import { toggleCluster, useSelection } from '../store';
import { useTheme } from '../theme';
import { OnNodes } from './OnNodes';
import type { LivePage } from './page';

export function LiveClusters({ page, ended }: { page: LivePage; ended: boolean }) {
  const selection = useSelection();
  const all = [...page.clusters].sort((a, b) => b.seconds - a.seconds || a.id - b.id);
  const total = all.reduce((sum, c) => sum + c.seconds, 0);
  const most = all[0]?.seconds ?? 0;
  if (page.health.cells) {
    return (
      <Panel title="Clusters">
        <OnNodes what="The clustering" cells={page.health.cells} ended={ended} />
      </Panel>
    );
  }
  return (
    <Panel title="Clusters so far" note={`${count(page.health.clusters.count)}, provisional`} tools={<SaveTools name="live clusters" table={() => ({ columns: ['cluster', 'bursts', 'seconds'], rows: all.map((c) => [c.id, c.bursts, c.seconds]) })} />}>
      {all.length === 0 ? <Empty>None yet.</Empty> : null}
      <div class="scroll live-clusters" tabIndex={0} role="region" aria-label="Clusters so far">
        <table>
          <tbody>
            {all.map((c) => (
              <tr key={c.id} class={selection.clusters?.includes(c.id) ? 'chosen' : ''}>
                <th scope="row">
                  <button type="button" class="link name" aria-pressed={selection.clusters?.includes(c.id) ?? false} onClick={() => toggleCluster(c.id, true)}>
                    <Swatch id={c.id} /> {cluster(c.id)}
                  </button>
                </th>
                <td class="calls" title={c.after ? `bursts between ${c.before} and ${c.after}` : undefined}>
                  {c.after ? `${c.before} … ${c.after}` : ''}
                </td>
                <td class="n">{plural(c.bursts, 'burst')}</td>
                <td class="n">{seconds(c.seconds)}</td>
                <td class="n">{percent(total > 0 ? c.seconds / total : NaN)}</td>
                <td class="track">
                  <span class="fill" style={{ width: `${most > 0 ? (100 * c.seconds) / most : 0}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

const [LEFT, BOTTOM, TOP] = [72, 42, 6];

export function LatestBursts({ page, ended }: { page: LivePage; ended: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  if (page.health.cells) {
    return (
      <Panel title="Bursts">
        <OnNodes what="The burst space" cells={page.health.cells} ended={ended} />
      </Panel>
    );
  }
  return (
    <Panel title="Latest bursts" note={`${count(page.points.length)}, some of each cluster`} tools={<SaveTools name="latest bursts" picture={box} />}>
      <div ref={box} class="plot" role="img" aria-label="Duration of the latest bursts over time, by cluster">
        <SizedBox class="profile-box">{({ width, height }) => <Dots page={page} width={width} height={height} />}</SizedBox>
      </div>
    </Panel>
  );
}

function Dots({ page, width, height }: { page: LivePage; width: number; height: number }) {
  const theme = useTheme();
  const { clusters } = useSelection();
  const points = page.points.filter((p) => p.duration > 0);
  const [w, tall] = [Math.max(10, width - LEFT - 22), Math.max(10, height - BOTTOM - TOP)];
  const range = (of: number[], room: number) => {
    const [from, to] = of.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    return from < to ? { from, to } : from === to ? { from: from - room, to: to + room } : { from: 0, to: 1 };
  };
  const time = range(points.map((p) => p.start_ns), 1e6);
  const size = range(points.map((p) => Math.log(p.duration)), 0.5);
  const x = (t: number) => ((t - time.from) / (time.to - time.from)) * w;
  const y = (ns: number) => tall * (1 - (Math.log(ns) - size.from) / (size.to - size.from));
  // One path a colour: a thousand points cost one element.
  const dots = new Map<number, string>();
  for (const p of points) dots.set(p.cluster, `${dots.get(p.cluster) ?? ''}M${x(p.start_ns).toFixed(1)},${y(p.duration).toFixed(1)}h0`);
  return (
    <svg width={width} height={height} class="chart">
      <g transform={`translate(${LEFT},${TOP})`}>
        {[...dots].map(([id, d]) => (
          <path key={id} d={d} class="dots" stroke={colourOf(id, theme)} opacity={clusters && !clusters.includes(id) ? 0.15 : 1} />
        ))}
        <Axis side="left" ticks={logTicks(size, tall, 24, 'ns')} span={size} pixels={tall} title="duration" />
        <g transform={`translate(0,${tall})`}>
          <Axis side="bottom" ticks={linearTicks(time, w, 72, 'ns')} span={time} pixels={w} title="start" />
        </g>
      </g>
    </svg>
  );
}
