// The histogram of any quantity over the bursts of some clusters, of the ranks and the time that are selected.
import { useMemo, useRef } from 'preact/hooks';
import { usePack } from '../data/context';
import { Axis } from '../draw/axes';
import '../draw/canvas.css';
import { probe } from '../draw/probe';
import { linearTicks, logTicks } from '../draw/ticks';
import { cluster, plural, quantity } from '../format';
import { colourOf, isVariant } from '../palette';
import { Hatch, HATCH } from '../parts/Hatch';
import { Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { hideTip, showTip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { ownOf } from '../program/model';
import { holds, useParam, useSelection } from '../store';
import { useTheme } from '../theme';
import { edges, histogram, type Histogram } from './histogram';

const BINS = 60;
const LEFT = 72;
const BOTTOM = 44;
const TOP = 6;

export function Distribution({ ids }: { ids: readonly number[] }) {
  const pack = usePack();
  const selection = useSelection();
  const choices = pack.json.dimensions.filter((d) => d.column !== 'points.start_ns' && pack.has(d.column));
  const [name, choose] = useParam('histogram', 'duration');
  const [scale, rescale] = useParam('scale', '');
  const box = useRef<HTMLDivElement>(null);
  const quantityOf = choices.find((d) => d.name === name) ?? choices[0];
  const log = (scale || quantityOf?.scale) === 'log';
  const own = ownOf(pack, selection)?.bursts;
  const within = selection.threads !== null || selection.fromNS !== null || selection.toNS !== null || own !== undefined;
  const h = useMemo(() => {
    if (!quantityOf) return null;
    const [id, thread, start, duration] = ['points.cluster', 'points.thread', 'points.start_ns', 'points.duration'].map((c) => pack.column(c));
    const series = new Map(ids.map((id, i) => [id, i]));
    const part = { ...selection, clusters: null };
    const seriesOf = (i: number) => {
      const s = series.get(id?.[i] ?? 0) ?? -1;
      const begin = start?.[i] ?? 0;
      if (own?.[i] === 0) return -1;
      return s >= 0 && within && !holds(part, 0, thread?.[i] ?? 0, begin, begin + (duration?.[i] ?? 0)) ? -1 : s;
    };
    return histogram(pack.column(quantityOf.column), pack.column('points.weight'), seriesOf, ids.length, log, BINS);
  }, [pack, quantityOf, log, ids.join(), selection]);
  if (!h || !quantityOf) return null;
  const stands = h.bins.map((b) => b.reduce((a, v) => a + v, 0));
  probe('histogram', () => ({ quantity: quantityOf.name, log, clusters: ids, bursts: stands, span: h.span }));
  const table = () => ({
    columns: [`${quantityOf.name}_from`, `${quantityOf.name}_to`, ...ids.map((id) => `bursts of ${cluster(id)}`)],
    rows: Array.from({ length: BINS }, (_, b) => [...edges(h, b), ...h.bins.map((row) => row[b] ?? 0)]),
  });
  return (
    <Panel
      title="Distribution"
      note={`${plural(Math.round(stands.reduce((a, v) => a + v, 0)), 'burst')}${within ? ' of what is selected' : ''}${h.notShown > 0 ? `; ${plural(h.notShown, 'kept burst')} without a value${log ? ' above 0' : ''}` : ''}`}
      tools={
        <>
          <label class="field">
            of
            <select value={quantityOf.name} onChange={(e) => choose(e.currentTarget.value)}>
              {choices.map((d) => (
                <option key={d.name} value={d.name}>
                  {d.name}
                </option>
              ))}
            </select>
          </label>
          <button type="button" aria-pressed={log} onClick={() => rescale(log ? 'lin' : 'log')} title="Logarithmic axis">
            log
          </button>
          <SaveTools name={`distribution of ${quantityOf.name}`} table={table} picture={box} />
        </>
      }
    >
      <div ref={box} class="plot" role="img" aria-label={`Histogram of ${quantityOf.name} over the bursts of ${ids.map(cluster).join(', ')}`}>
        <SizedBox class="plot-box">{({ width, height }) => <Bars h={h} ids={ids} unit={quantityOf.unit} title={quantityOf.name} width={width} height={height} />}</SizedBox>
      </div>
    </Panel>
  );
}

function Bars({ h, ids, unit, title, width, height }: { h: Histogram; ids: readonly number[]; unit: string; title: string; width: number; height: number }) {
  const theme = useTheme();
  const [w, tall] = [Math.max(10, width - LEFT - 22), Math.max(10, height - BOTTOM - TOP)];
  const y = { from: 0, to: h.most || 1 };
  const at = (v: number) => tall * (1 - v / y.to);
  const step = w / BINS;
  const outline = (row: Float64Array) => `M0,${tall}${[...row].map((v, b) => `L${b * step},${at(v)}L${(b + 1) * step},${at(v)}`).join('')}L${w},${tall}Z`;
  const say = (e: MouseEvent) => {
    const box = (e.currentTarget as Element).getBoundingClientRect();
    const bin = Math.min(BINS - 1, Math.max(0, Math.floor(((e.clientX - box.left - LEFT) / w) * BINS)));
    const [from, to] = edges(h, bin);
    showTip({
      x: e.clientX,
      y: e.clientY,
      title: `${quantity(from, unit)} to ${quantity(to, unit)}`,
      rows: h.bins.map((row, i) => [cluster(ids[i] ?? 0), plural(Math.round(row[bin] ?? 0), 'burst')]),
    });
  };
  return (
    <svg width={width} height={height} onPointerMove={say} onPointerLeave={hideTip} class="chart">
      <g transform={`translate(${LEFT},${TOP})`}>
        <Hatch />
        {h.bins.map((row, i) => (
          <g key={ids[i]}>
            <path d={outline(row)} fill={colourOf(ids[i] ?? 0, theme)} fill-opacity={h.bins.length > 1 ? 0.45 : 0.85} stroke={colourOf(ids[i] ?? 0, theme)} />
            {isVariant(ids[i] ?? 0) ? <path d={outline(row)} fill={HATCH} /> : null}
          </g>
        ))}
        <Axis side="left" ticks={linearTicks(y, tall, 26, '')} span={y} pixels={tall} title="bursts" />
        <g transform={`translate(0,${tall})`}>
          <Axis side="bottom" ticks={h.log ? logTicks(h.span, w, 58, unit) : linearTicks(h.span, w, 72, unit)} span={h.span} pixels={w} title={unit && unit !== 'ns' ? `${title}, ${unit}` : title} />
        </g>
      </g>
    </svg>
  );
}
