// The ranks at the ends of a criterion that the user picks, and how all ranks lie between.
import { useRef } from 'preact/hooks';
import { edges, histogram } from '../clusters/histogram';
import { usePack } from '../data/context';
import { median } from '../data/groups';
import { Axis } from '../draw/axes';
import '../draw/canvas.css';
import { probe } from '../draw/probe';
import { linearTicks } from '../draw/ticks';
import { against, percent, plural, quantity } from '../format';
import { Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { hideTip, showTip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { select, useParam, useSelection } from '../store';
import { inRanges } from '../state/ranges';
import { groupName, type Criterion } from './groups';

const SHOWN = 10;
const BINS = 40;
const [LEFT, BOTTOM, TOP] = [72, 42, 8];

export const show = (v: number, unit: string) => (unit === 'share' ? percent(v) : unit === 's' ? quantity(v * 1e9, 'ns') : quantity(v, unit));

export function Extrema({ all }: { all: readonly Criterion[] }) {
  const pack = usePack();
  const selection = useSelection();
  const [id, choose] = useParam('criterion', 'computing');
  const [order, setOrder] = useParam('order', 'least');
  const box = useRef<HTMLDivElement>(null);
  const c = all.find((k) => k.id === id) ?? all[0];
  if (!c) return null;
  const down = order === 'most';
  const ranked = [...c.values.keys()].sort((a, b) => (down ? -1 : 1) * ((c.values[a] ?? 0) - (c.values[b] ?? 0)) || a - b);
  const most = Math.max(...c.values, 0);
  const middle = median(c.values);
  probe('extrema', () => ({ criterion: c.id, order, first: ranked.slice(0, SHOWN), median: middle, ranks: c.values.length }));
  const table = () => ({ columns: ['rank', c.unit === 's' ? `${c.name}, seconds` : c.name], rows: ranked.map((g) => [groupName(pack, g), c.values[g] ?? null]) });
  return (
    <Panel
      title="Extremes"
      note={`median ${show(middle, c.unit)} of ${plural(c.values.length, pack.json.groups.length < pack.json.threads ? 'group of ranks' : 'rank', pack.json.groups.length < pack.json.threads ? 'groups of ranks, means of each' : 'ranks')}`}
      tools={
        <>
          <label class="field">
            <span class="hidden">Order</span>
            <select value={order} onChange={(e) => setOrder(e.currentTarget.value)}>
              <option value="least">least</option>
              <option value="most">most</option>
            </select>
          </label>
          <label class="field">
            <span class="hidden">Criterion</span>
            <select value={c.id} onChange={(e) => choose(e.currentTarget.value)}>
              {all.map((k) => (
                <option key={k.id} value={k.id}>
                  {k.name}
                </option>
              ))}
            </select>
          </label>
          <SaveTools name={`ranks by ${c.name}`} table={table} picture={box} />
        </>
      }
    >
      <div class="extrema">
        <table>
          <tbody>
            {ranked.slice(0, SHOWN).map((g) => {
              const range = pack.json.groups[g] ?? [g, g];
              const chosen = selection.threads !== null && inRanges(selection.threads, range[0]);
              return (
                <tr key={g} class={chosen ? 'chosen' : ''}>
                  <th scope="row">
                    <button type="button" class="link" onClick={() => select({ threads: [[...range]] })}>
                      {groupName(pack, g)}
                    </button>
                  </th>
                  <td class="n">{show(c.values[g] ?? NaN, c.unit)}</td>
                  <td class="n pm">{c.unit === 'share' ? '' : against(c.values[g] ?? NaN, middle)}</td>
                  <td class="track">
                    <span class="fill" style={{ width: `${most > 0 ? (100 * (c.values[g] ?? 0)) / most : 0}%` }} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
        <div ref={box} class="plot" role="img" aria-label={`Histogram of ${c.name} over the ranks`}>
          <SizedBox class="plot-box">{({ width, height }) => <Spread c={c} middle={middle} width={width} height={height} />}</SizedBox>
        </div>
      </div>
    </Panel>
  );
}

function Spread({ c, middle, width, height }: { c: Criterion; middle: number; width: number; height: number }) {
  const h = histogram(c.values, new Float64Array(c.values.length).fill(1), () => 0, 1, false, BINS);
  const bins = h.bins[0] ?? new Float64Array(BINS);
  const [w, tall] = [Math.max(10, width - LEFT - 22), Math.max(10, height - BOTTOM - TOP)];
  const y = { from: 0, to: h.most || 1 };
  const unit = c.unit === 's' ? 'ns' : c.unit === 'share' ? '' : c.unit;
  const factor = c.unit === 's' ? 1e9 : 1;
  const span = { from: h.span.from * factor, to: h.span.to * factor };
  const x = (v: number) => ((v - h.span.from) / (h.span.to - h.span.from)) * w;
  const say = (e: MouseEvent) => {
    const bin = Math.floor(((e.clientX - (e.currentTarget as Element).getBoundingClientRect().left - LEFT) / w) * BINS);
    if (bin < 0 || bin >= BINS) {
      hideTip();
      return;
    }
    const [from, to] = edges(h, bin);
    showTip({ x: e.clientX, y: e.clientY, title: `${show(from, c.unit)} to ${show(to, c.unit)}`, rows: [[c.name, plural(bins[bin] ?? 0, 'rank')]] });
  };
  return (
    <svg width={width} height={height} class="chart" onPointerMove={say} onPointerLeave={hideTip}>
      <g transform={`translate(${LEFT},${TOP})`}>
        {[...bins].map((n, b) => (
          <rect key={b} x={(b * w) / BINS} width={Math.max(1, w / BINS - 1)} y={tall * (1 - n / y.to)} height={(tall * n) / y.to} class="column" />
        ))}
        <line class="middle" x1={x(middle)} x2={x(middle)} y2={tall} />
        <Axis side="left" ticks={linearTicks(y, tall, 26, '').filter((t) => Number.isInteger(t.at))} span={y} pixels={tall} title="ranks" />
        <g transform={`translate(0,${tall})`}>
          <Axis side="bottom" ticks={linearTicks(span, w, 72, unit)} span={span} pixels={w} title={`${c.name}; line: median`} />
        </g>
      </g>
    </svg>
  );
}
