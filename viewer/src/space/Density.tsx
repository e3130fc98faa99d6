// The density of bursts between the same calls along one dimension: clusters as hills, basins as bars below, arcs for
// what the judge joined and what it left apart.
import { useMemo, useRef } from 'preact/hooks';
import { NOISE, type Clusters } from '../data/clusters';
import { usePack } from '../data/context';
import { briefPath } from '../data/names';
import { Axis } from '../draw/axes';
import { probe } from '../draw/probe';
import { linearTicks, logTicks } from '../draw/ticks';
import { cluster, count, plural, ratio, score } from '../format';
import { colourOf, isVariant } from '../palette';
import { Hatch, HATCH } from '../parts/Hatch';
import { Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { hideTip, showTip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { toggleCluster, useParam, useSelection } from '../store';
import { useTheme } from '../theme';
import { arcsOf, densityOf, partsOf, readable, stripsOf, type Density as Found, type Part } from './density';

const BINS = 240;
const ROWS = 5; // of basins
const [LEFT, RIGHT, ARCS, HILLS, AXIS, STRIP] = [72, 16, 58, 120, 46, 17];

export function Density({ clusters }: { clusters: Clusters }) {
  const pack = usePack();
  const selection = useSelection();
  const picture = useRef<HTMLDivElement>(null);
  const parts = useMemo(() => partsOf(clusters), [clusters]);
  const [said, say] = useParam('group', '');
  const [dim, sayDim] = useParam('along', '0');
  const chosen = selection.clusters?.[0];
  const part = parts.find((p) => `${p.group}` === said) ?? parts.find((p) => p.clusters.some((k) => k.id === chosen)) ?? parts[0];
  const along = Number(dim) < clusters.dimensions.length ? Number(dim) : 0;
  const dimension = clusters.dimensions[along];
  const column = pack.json.dimensions.find((d) => d.name === dimension?.name && pack.has(d.column))?.column;
  const log = dimension?.scale === 'log';
  const found = useMemo(() => (part && column ? densityOf(pack, clusters, part, column, log, BINS) : null), [pack, clusters, part, column, log]);
  const laid = useMemo(() => stripsOf(part?.basins ?? [], along, log, ROWS), [part, along, log]);
  if (!part || !dimension || !found) return null;
  const height = ARCS + HILLS + AXIS + laid.rows * STRIP + 6;
  const kinds = new Set(part.clusters.map((k) => k.kind)).size;
  const unit = dimension.unit || '';
  return (
    <Panel
      title="Density and joins"
      note={`${plural(part.clusters.length, 'cluster')}, ${plural(kinds, 'kind')}. Bars: basins of density, with the Eps at which each split off, and the density at the valley beside it over that of its peak.`}
      tools={<SaveTools name="density" picture={picture} />}
      class="density"
    >
      <div class="density-tools">
        <label class="field">
          {clusters.by === 'calls' ? 'Bursts between' : 'Bursts'}
          <select value={`${part.group}`} onChange={(e) => say(e.currentTarget.value)}>
            {parts.map((p) => (
              <option key={p.group} value={`${p.group}`}>
                {p.name.split(' → ').map(briefPath).join(' → ')} ({plural(p.clusters.length, 'cluster')})
              </option>
            ))}
          </select>
        </label>
        {clusters.dimensions.length > 1 ? (
          <label class="field">
            Along
            <select value={`${along}`} onChange={(e) => sayDim(e.currentTarget.value)}>
              {clusters.dimensions.map((d, i) => (
                <option key={d.name} value={`${i}`}>
                  {d.name}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        <span class="note">Arcs: solid, one kind; dotted, separate kinds.</span>
      </div>
      <div ref={picture} style={{ height: `${height}px` }}>
        <SizedBox class="fill">{({ width }) => <Drawing part={part} found={found} laid={laid} height={height} width={width} title={`${dimension.name}${unit && unit !== 'ns' ? ` (${unit})` : ''}`} unit={unit} borders={clusters.dimensions.length === 1} />}</SizedBox>
      </div>
    </Panel>
  );
}

interface DrawingProps {
  part: Part;
  found: Found;
  laid: ReturnType<typeof stripsOf>;
  width: number;
  height: number;
  title: string;
  unit: string;
  borders: boolean; // of basins: along one of several dimensions these overlap
}

function Drawing({ part, found, laid, width, height, title, unit, borders }: DrawingProps) {
  const theme = useTheme();
  const selection = useSelection();
  const w = Math.max(100, width - LEFT - RIGHT);
  const { span, log, rows, middle, most } = found;
  const { strips, more } = laid;
  const arcs = useMemo(() => arcsOf(part).filter((a) => middle.has(a.from) && middle.has(a.to)), [part, middle]);
  const x = (v: number) => ((v - span.from) / (span.to - span.from)) * w;
  const y = (n: number) => HILLS * (1 - Math.sqrt(n / most));
  const step = w / BINS;
  const hill = (row: Float64Array) => `M0,${HILLS}${[...row].map((n, b) => `L${(b * step).toFixed(1)},${y(n).toFixed(1)}H${((b + 1) * step).toFixed(1)}`).join('')}L${w},${HILLS}Z`;
  const dim = (id: number) => selection.clusters !== null && !selection.clusters.includes(id);
  const arc = (from: number, to: number) => {
    const [a, b] = [x(from), x(to)];
    return `M${a},0Q${(a + b) / 2},${-Math.min(2 * ARCS - 16, 18 + Math.abs(b - a) * 0.5)} ${b},0`;
  };
  probe('density', () => ({ group: part.group, clusters: [...rows.keys()], arcs, basins: strips.map((s) => ({ from: s.from, to: s.to, row: s.row, clusters: s.basin.clusters })) }));
  const names = readable([...middle].map(([id, at]) => ({ id, x: x(at), y: Math.max(10, y(Math.max(...(rows.get(id) ?? [0]))) - 3) })));
  const about = arcs.map((a) => `${cluster(a.from)}: ${a.text}`).join('; ');
  return (
    <svg width={width} height={height} class="chart" role="img" aria-label={`Density of ${plural(part.clusters.length, 'cluster')} along ${title}. ${about}`} onPointerLeave={hideTip}>
      <Hatch />
      <g transform={`translate(${LEFT},${ARCS})`}>
        {(borders ? strips : []).map((s, i) => (
          <line key={i} class="basin-border" x1={x(s.from)} x2={x(s.from)} y1="0" y2={HILLS} />
        ))}
        {[...rows].sort(([a], [b]) => Number(a > 0) - Number(b > 0) || b - a).map(([id, row]) => (
          <g
            key={id}
            opacity={dim(id) ? 0.25 : 1}
            data-cluster={id}
            onClick={(e) => id !== NOISE && toggleCluster(id, !(e.ctrlKey || e.metaKey))}
            onPointerMove={(e) => showTip({ x: e.clientX, y: e.clientY, title: cluster(id), cluster: id, rows: [['', part.clusters.find((k) => k.id === id)?.why ?? '']] })}
          >
            <path d={hill(row)} fill={colourOf(id, theme)} fill-opacity="0.85" />
            {isVariant(id) ? <path d={hill(row)} fill={HATCH} /> : null}
          </g>
        ))}
        {arcs.map((a) => (
          <path
            key={`${a.from}-${a.to}`}
            class={`arc ${a.joined ? 'joined' : 'apart'}`}
            d={arc(middle.get(a.from)!, middle.get(a.to)!)}
            stroke={a.joined ? colourOf(a.to, theme) : undefined}
            onPointerMove={(e) => showTip({ x: e.clientX, y: e.clientY, title: cluster(a.from), cluster: a.from, rows: [['', a.text]] })}
          />
        ))}
        {names.map(({ id, x, y }) => (
          <text key={id} class="of-cluster" x={x} y={y} text-anchor="middle">
            {id}
          </text>
        ))}
        <Axis side="left" ticks={linearTicks({ from: 0, to: most }, HILLS, 30, '').filter((t) => t.at > 0).map((t) => ({ ...t, at: most * Math.sqrt(t.at / most) }))} span={{ from: 0, to: most }} pixels={HILLS} title="bursts, root" />
        <g transform={`translate(0,${HILLS})`}>
          <Axis side="bottom" ticks={log ? logTicks(span, w, 58, unit) : linearTicks(span, w, 72, unit)} span={span} pixels={w} title={title} />
        </g>
        <g transform={`translate(0,${HILLS + AXIS})`}>
          {strips.map((s, i) => {
            const [left, wide] = [Math.max(0, x(s.from)), Math.min(w, x(s.to)) - Math.max(0, x(s.from))];
            const text = `${s.basin.eps > 0 ? `Eps ${ratio(s.basin.eps)}` : 'alone'}${Number.isFinite(s.basin.valley) ? ` · valley ${score(s.basin.valley)}` : ''}`;
            return (
              <g key={i} transform={`translate(${left},${s.row * STRIP})`} onPointerMove={(e) => showTip({ x: e.clientX, y: e.clientY, title: `Basin of ${plural(s.basin.bursts, 'burst')}`, rows: [['', text], ['clusters', s.basin.clusters.join(', ') || 'none'], ['stratum', count(s.basin.stratum)]] })}>
                <rect class="basin" width={Math.max(1, wide)} height={STRIP - 4} rx="2" />
                {wide > 6 * text.length ? (
                  <text x="4" y="10">
                    {text}
                  </text>
                ) : null}
              </g>
            );
          })}
          {more > 0 ? (
            <text class="basin-more" x={w} y={-4} text-anchor="end">
              {plural(more, 'more basin')} not drawn
            </text>
          ) : null}
        </g>
      </g>
    </svg>
  );
}
