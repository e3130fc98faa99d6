// Ranks against clusters. Each cell is a rank's time (or bursts, or a counter) in a cluster, against what the median
// rank has of it.
import { useMemo, useRef, useState } from 'preact/hooks';
import { usePack } from '../data/context';
import { probe } from '../draw/probe';
import { sized, useFrame, usePixelRatio } from '../draw/surface';
import { cluster, count, percent } from '../format';
import { Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { Swatch } from '../parts/Swatch';
import { hideTip, showTip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { inRanges } from '../state/ranges';
import { select, useParam, useSelection } from '../store';
import { useTheme } from '../theme';
import { show } from './Extrema';
import { groupName, heat } from './groups';
import { colourAt, heatOf, type Heat } from './heat';

const steps = new Map<string, readonly [groups: number, rows: number]>([
  ['ArrowRight', [1, 0]],
  ['ArrowLeft', [-1, 0]],
  ['ArrowDown', [0, 1]],
  ['ArrowUp', [0, -1]],
]);

const LEFT = 96;
const ROW = 18;
const MARKS = 8; // px above the cells, for the ranks that are selected
const BOTTOM = 40;

export function HeatMap() {
  const pack = usePack();
  const [what, choose] = useParam('heat', 'seconds');
  const [mode, setMode] = useParam('against', 'median');
  const box = useRef<HTMLDivElement>(null);
  const quantities = [
    { id: 'seconds', name: 'time', unit: 's' },
    { id: 'bursts', name: 'bursts', unit: '' },
    ...pack.json.counters.map(({ name, unit }, k) => ({ id: `counter.${k}`, name, unit })).filter((q) => pack.has(`heat.${q.id}`)),
  ];
  const q = quantities.find((q) => q.id === what) ?? { id: 'seconds', name: 'time', unit: 's' };
  const h = useMemo(() => heatOf(heat(pack, `heat.${q.id}`), mode === 'median'), [pack, q.id, mode]);
  if (h.ids.length === 0 || pack.json.groups.length === 0) return null;
  const table = () => ({ columns: ['rank', ...h.ids.map(cluster)], rows: pack.json.groups.map((_, g) => [groupName(pack, g), ...h.rows.map((row) => row[g] ?? null)]) });
  const grouped = pack.json.groups.length < pack.json.threads;
  const height = MARKS + h.ids.length * ROW + BOTTOM;
  return (
    <Panel
      title="Ranks by cluster"
      note={`${q.name} of each rank in each cluster${h.relative ? ', against the median rank' : ''}${grouped ? ', means of groups of neighbouring ranks' : ''}`}
      tools={
        <>
          <Key h={h} unit={q.unit} />
          <label class="field">
            <span class="hidden">Quantity</span>
            <select value={q.id} onChange={(e) => choose(e.currentTarget.value)}>
              {quantities.map((k) => (
                <option key={k.id} value={k.id}>
                  {k.name}
                </option>
              ))}
            </select>
          </label>
          <button type="button" aria-pressed={mode === 'median'} onClick={() => setMode(mode === 'median' ? 'zero' : 'median')} title="Colours show how far a rank is from the median rank">
            against the median
          </button>
          <SaveTools name={`ranks by cluster, ${q.name}`} table={table} picture={box} />
        </>
      }
    >
      <div ref={box} style={{ height: `${height}px` }}>
        <SizedBox class="fill">{({ width }) => <Cells h={h} unit={q.unit} width={width} height={height} />}</SizedBox>
      </div>
    </Panel>
  );
}

function Cells({ h, unit, width, height }: { h: Heat; unit: string; width: number; height: number }) {
  const pack = usePack();
  const theme = useTheme();
  const selection = useSelection();
  const ratio = usePixelRatio();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, move] = useState<{ group: number; row: number } | null>(null);
  const { groups } = pack.json;
  // A few ranks make no use of all of the width.
  const w = Math.min(width - LEFT - 4, groups.length * 72);
  const tall = h.ids.length * ROW;
  useFrame(() => {
    if (!canvas.current || w < 1) return;
    const [columns, rows] = [Math.round(w * ratio), Math.round(tall * ratio)];
    const context = sized(canvas.current, columns, rows);
    const picture = context.createImageData(columns, h.ids.length);
    h.shown.forEach((row, y) => {
      for (let x = 0; x < columns; x++) {
        const rgb = colourAt(extreme(row, x / columns, (x + 1) / columns), h.most, theme);
        picture.data.set([...rgb, 255], 4 * (y * columns + x));
      }
    });
    const small = document.createElement('canvas');
    sized(small, columns, h.ids.length).putImageData(picture, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, columns, rows);
    probe('heat', () => ({ clusters: h.ids, groups: groups.length, most: h.most, relative: h.relative, values: h.rows.map((r) => [...r]) }));
  }, [h, w, tall, theme, ratio]);
  const cell = w / groups.length;
  const place = (e: MouseEvent) => {
    const r = (e.currentTarget as Element).getBoundingClientRect();
    return { group: Math.min(groups.length - 1, Math.max(0, Math.floor((e.clientX - r.left) / cell))), row: Math.min(h.ids.length - 1, Math.max(0, Math.floor((e.clientY - r.top) / ROW))) };
  };
  const words = (p: { group: number; row: number }) => {
    const v = h.rows[p.row]?.[p.group] ?? NaN;
    const id = h.ids[p.row] ?? 0;
    return { title: `${groupName(pack, p.group)} · ${cluster(id)}`, id, rows: [['in it', show(v, unit)], ...(h.relative ? [['against the median', signed(h.shown[p.row]?.[p.group] ?? NaN)] as const] : [])] as [string, string][] };
  };
  const tell = (e: MouseEvent) => {
    const p = place(e);
    const said = words(p);
    showTip({ x: e.clientX, y: e.clientY, title: said.title, cluster: said.id, rows: said.rows });
  };
  const pick = (p: { group: number; row: number }) => select({ threads: [[...(groups[p.group] ?? [0, 0])] as [number, number]], clusters: [h.ids[p.row] ?? 0] });
  const press = (e: KeyboardEvent) => {
    const now = at ?? { group: 0, row: 0 };
    const [dx, dy] = steps.get(e.key) ?? [0, 0];
    if (e.key === 'Enter' && at) pick(at);
    else if (dx || dy) move(at === null ? now : { group: Math.min(groups.length - 1, Math.max(0, now.group + dx)), row: Math.min(h.ids.length - 1, Math.max(0, now.row + dy)) });
    else return;
    e.preventDefault();
  };
  const every = round(46 / cell);
  const now = at && words(at);
  return (
    <div class="heat" style={{ width: `${width}px`, height: `${height}px` }}>
      <svg width={width} height={height} aria-hidden="true" class="chart">
        {groups.map((range, g) =>
          selection.threads !== null && inRanges(selection.threads, range[0]) ? <rect key={g} class="mark" x={LEFT + g * cell} y="1" width={Math.max(1, cell)} height="4" /> : null,
        )}
        <g transform={`translate(${LEFT},${MARKS + tall})`} class="axis">
          {groups.map((range, g) =>
            g % every === 0 ? (
              <g key={g} transform={`translate(${(g + 0.5) * cell},0)`}>
                <line y2="4" />
                <text y="16" text-anchor="middle">
                  {count(pack.column('thread.rank')[range[0]] ?? range[0])}
                </text>
              </g>
            ) : null,
          )}
          <text class="title" x={w / 2} y="34" text-anchor="middle">
            rank
          </text>
        </g>
      </svg>
      <ul class="heat-names">
        {h.ids.map((id) => (
          <li key={id} class={selection.clusters?.includes(id) ? 'chosen' : ''}>
            <Swatch id={id} /> {cluster(id)}
          </li>
        ))}
      </ul>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label="Heat map of ranks and clusters. Arrow keys move, Enter selects."
        style={{ left: `${LEFT}px`, top: `${MARKS}px`, width: `${w}px`, height: `${tall}px` }}
        onPointerMove={tell}
        onPointerLeave={hideTip}
        onClick={(e) => pick(place(e))}
        onKeyDown={press}
        onBlur={() => move(null)}
      />
      {at ? <span class="cursor" style={{ left: `${LEFT + at.group * cell}px`, top: `${MARKS + at.row * ROW}px`, width: `${Math.max(3, cell)}px`, height: `${ROW}px` }} /> : null}
      <span class="hidden" role="status">
        {now ? `${now.title}: ${now.rows.map((r) => r.join(' ')).join(', ')}` : ''}
      </span>
    </div>
  );
}

// round gives the least of 1, 2, 5, 10, … that is no less.
function round(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) ?? 1;
}

// extreme is the value farthest from 0 of the groups under a stretch of the row, so that no rank is lost where there
// are more than pixels.
function extreme(row: Float64Array, from: number, to: number): number {
  const first = Math.floor(from * row.length);
  let best = row[first] ?? 0;
  for (let g = first + 1; g < to * row.length - 1e-9; g++) if (Math.abs(row[g] ?? 0) > Math.abs(best)) best = row[g] ?? 0;
  return best;
}

const signed = (v: number) => `${v > 0 ? '+' : v < 0 ? '−' : ''}${percent(Math.abs(v))}`;

// Key says what the colours mean.
function Key({ h, unit }: { h: Heat; unit: string }) {
  const theme = useTheme();
  const steps = h.relative ? [-1, -0.5, 0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  return (
    <span class="heat-key" data-no-picture>
      {h.relative ? `−${percent(h.most)}` : '0'}
      <svg width="60" height="12" aria-hidden="true">
        {steps.map((s, i) => (
          <rect key={s} x={i * 12} width="12" height="12" fill={`rgb(${colourAt(s * h.most, h.most, theme).join()})`} />
        ))}
      </svg>
      {h.relative ? `+${percent(h.most)}` : show(h.most, unit)}
    </span>
  );
}
