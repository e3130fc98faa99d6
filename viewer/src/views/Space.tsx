// Bursts by any two of their dimensions.
import '../draw/canvas.css';
import { useMemo, useRef, useState } from 'preact/hooks';
import { usePack } from '../data/context';
import { labelsAt } from '../data/levels';
import { Legend } from '../draw/Legend';
import { inside, length, type Span } from '../draw/span';
import { count, plural } from '../format';
import { useKeyHelp, type Keys } from '../parts/keys';
import { Empty } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { SaveTools } from '../save/SaveTools';
import { coordinates, extent } from '../space/axis';
import { Caught } from '../space/Caught';
import { Density } from '../space/Density';
import { DimensionField } from '../space/DimensionField';
import { dimensionOf, usual, type Shown } from '../space/dimensions';
import { within, type Polygon } from '../space/lasso';
import { shuffled } from '../space/order';
import { Plot } from '../space/Plot';
import { useParam, useSelection } from '../store';

const KEYS: Keys = {
  title: 'Burst space',
  keys: [
    ['drag', 'draw a lasso round bursts'],
    ['w s', 'zoom in and out; wheel, over an axis for that axis alone'],
    ['← → ↑ ↓', 'move; a and d; Shift and drag'],
    ['0', 'show everything'],
    ['l', 'take all bursts in view, as a lasso does'],
    ['Esc', 'lift the lasso'],
    ['click', 'select the cluster of a burst; with Ctrl to add it'],
  ],
};

export function Space() {
  const pack = usePack();
  useKeyHelp(KEYS);
  const [usualX, usualY] = useMemo(() => usual(pack), [pack]);
  const [saidX, sayX] = useParam('x', usualX);
  const [saidY, sayY] = useParam('y', usualY);
  const dimX = useMemo(() => dimensionOf(pack, saidX) ?? dimensionOf(pack, usualX), [pack, saidX, usualX]);
  const dimY = useMemo(() => dimensionOf(pack, saidY) ?? dimensionOf(pack, usualY), [pack, saidY, usualY]);
  if (!dimX || !dimY || pack.json.points.count === 0) return <Empty>Nothing to draw: this page has no bursts.</Empty>;
  return <Drawn dimX={dimX} dimY={dimY} sayX={sayX} sayY={sayY} />;
}

function Drawn({ dimX, dimY, sayX, sayY }: { dimX: Shown; dimY: Shown; sayX: (said: string) => void; sayY: (said: string) => void }) {
  const pack = usePack();
  const selection = useSelection();
  const levels = useMemo(() => labelsAt(pack, selection.level), [pack, selection.level]);
  const [noise, setNoise] = useParam('noise', 'yes');
  const [said, say] = useParam('in', '');
  const [density, showDensity] = useParam('density', 'yes');
  const { clusters } = pack.json;
  const basins = (clusters?.refinement.basins.length ?? 0) > 0;
  const [lasso, setLasso] = useState<{ line: Polygon; of: string } | null>(null);
  const picture = useRef<HTMLDivElement>(null);
  const cluster = pack.column('points.cluster');
  const x = useMemo(() => {
    const at = coordinates(pack.column(dimX.column), dimX.scale);
    if (noise !== 'yes') at.forEach((_, i) => cluster[i]! < 1 && (at[i] = NaN));
    return at;
  }, [pack, dimX, noise]);
  const y = useMemo(() => coordinates(pack.column(dimY.column), dimY.scale), [pack, dimY]);
  const order = useMemo(() => shuffled(x, y), [x, y]);
  const whole = useMemo((): [Span, Span] => [extent(x, order), extent(y, order)], [x, y, order]);
  const view = useMemo((): [Span, Span] => inView(said, whole), [said, whole]);
  const setView = (a: Span, b: Span) => say(length(a) >= length(whole[0]) && length(b) >= length(whole[1]) ? '' : [a.from, a.to, b.from, b.to].join('~'));
  // A line belongs to the axes that it was drawn over.
  const axes = `${dimX.name}:${dimX.scale} ${dimY.name}:${dimY.scale}`;
  const line = lasso?.of === axes ? lasso.line : null;
  const rows = useMemo(() => (line ? within(line, x, y) : null), [line, x, y]);
  const inLasso = useMemo(() => {
    if (!rows) return null;
    const inside = new Uint8Array(x.length);
    for (const i of rows) inside[i] = 1;
    return inside;
  }, [rows]);
  const out = noise === 'yes' ? pack.json.points.count - order.length : x.reduce((n, v, i) => n + (cluster[i]! > 0 && Number.isNaN(v + y[i]!) ? 1 : 0), 0);
  // Another axis is shown whole.
  const change = (sayAxis: (axis: string) => void) => (axis: string) => {
    sayAxis(axis);
    say('');
  };
  return (
    <div class="space">
      <div class="canvas-bar">
        <DimensionField label="Across" dimension={dimX} say={change(sayX)} />
        <DimensionField label="Up" dimension={dimY} say={change(sayY)} />
        <label>
          <input type="checkbox" checked={noise === 'yes'} onChange={(e) => setNoise(e.currentTarget.checked ? 'yes' : 'no')} /> Bursts in no cluster
        </label>
        {basins ? (
          <label>
            <input type="checkbox" checked={density === 'yes'} onChange={(e) => showDensity(e.currentTarget.checked ? 'yes' : 'no')} /> Density
          </label>
        ) : null}
        <button type="button" disabled={said === ''} onClick={() => say('')} aria-keyshortcuts="0">
          Show everything
        </button>
        <span class="note">
          {count(order.length)} {pack.json.points.of > pack.json.points.count ? `of ${plural(pack.json.points.of, 'burst')}` : order.length === 1 ? 'burst' : 'bursts'}
          {out > 0 ? `; ${count(out)} ${out === 1 ? 'has' : 'have'} no place on these axes` : ''}
        </span>
        <span class="stretch" />
        <SaveTools name="burst-space" picture={picture} />
      </div>
      <Legend levels={levels} />
      <div class="space-main">
        <div class="space-picture" ref={picture}>
          <SizedBox class="space-box">
            {(size) => (
              <Plot
                size={size}
                dimensions={[dimX, dimY]}
                x={x}
                y={y}
                order={order}
                whole={whole}
                view={view}
                setView={setView}
                levels={levels}
                lasso={line}
                inLasso={inLasso}
                setLasso={(l) => setLasso(l && { line: l, of: axes })}
              />
            )}
          </SizedBox>
        </div>
        {rows ? <Caught rows={rows} lift={() => setLasso(null)} /> : null}
      </div>
      {clusters && basins && density === 'yes' ? <Density clusters={clusters} /> : null}
    </div>
  );
}

function inView(said: string, whole: [Span, Span]): [Span, Span] {
  const [a, b, c, d] = said.split('~').map(Number) as (number | undefined)[];
  if (said === '' || a === undefined || b === undefined || c === undefined || d === undefined || !(b > a) || !(d > c) || ![a, b, c, d].every(Number.isFinite)) return whole;
  return [inside({ from: a, to: b }, whole[0]), inside({ from: c, to: d }, whole[1])];
}
