// The time profile: how the time of all threads divides between clusters and MPI, over the time of the run.
import { useRef, useState } from 'preact/hooks';
import { Axis } from '../draw/axes';
import '../draw/canvas.css';
import { linearTicks, timeTicks } from '../draw/ticks';
import { ns, percent } from '../format';
import { Hatch, HATCH } from '../parts/Hatch';
import { hideTip, showTip } from '../parts/tooltip';

export interface Series {
  readonly name: string;
  readonly colour: string;
  readonly variant?: boolean;
  readonly seconds: Float64Array; // of all threads, in each bin
}

export interface Profile {
  readonly fromNS: number;
  readonly binNS: number;
  readonly bins: number;
  readonly series: readonly Series[]; // from the bottom up
}

const [LEFT, BOTTOM, TOP] = [72, 42, 6];

// Stack draws it; pick, if given, takes the stretch of time that was dragged over. The axis is in threads: what a bin
// has, by its length.
export function Stack({ profile, width, height, chosen, pick }: { profile: Profile; width: number; height: number; chosen?: readonly [number | null, number | null]; pick?: (fromNS: number, toNS: number) => void }) {
  const begun = useRef<number | null>(null);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const { fromNS, binNS, bins, series } = profile;
  const [w, tall] = [Math.max(10, width - LEFT - 22), Math.max(10, height - BOTTOM - TOP)];
  const span = { from: fromNS, to: fromNS + bins * binNS };
  const threads = (seconds: number) => (seconds * 1e9) / binNS;
  // Never more columns than pixels.
  const per = Math.max(1, Math.floor(bins / w));
  const columns = Math.ceil(bins / per);
  const base = new Float64Array(columns);
  const layers = series.map((s) => {
    const low = base.slice();
    for (let c = 0; c < columns; c++) {
      let sum = 0;
      const end = Math.min(bins, (c + 1) * per);
      for (let b = c * per; b < end; b++) sum += s.seconds[b] ?? 0;
      base[c] = (base[c] ?? 0) + threads(sum) / (end - c * per);
    }
    return { s, low, high: base.slice() };
  });
  // A little below a whole number of threads is that number: the axis then names it.
  const high = Math.max(...base, 0) || 1;
  const most = Math.ceil(high) - high < 0.02 * high ? Math.ceil(high) : high;
  const y = { from: 0, to: most };
  const at = (v: number) => tall * (1 - v / most);
  const x = (c: number) => (Math.min(bins, c * per) / bins) * w;
  const band = (low: Float64Array, high: Float64Array) => {
    let [up, down] = ['', ''];
    for (let c = 0; c < columns; c++) {
      up += `${c ? 'L' : 'M'}${x(c)},${at(high[c] ?? 0)}H${x(c + 1)}`;
      down = `L${x(c + 1)},${at(low[c] ?? 0)}H${x(c)}${down}`;
    }
    return `${up}${down}Z`;
  };
  const timeAt = (e: MouseEvent) => {
    const box = (e.currentTarget as Element).getBoundingClientRect();
    return span.from + Math.min(1, Math.max(0, (e.clientX - box.left - LEFT) / w)) * (span.to - span.from);
  };
  const tell = (e: MouseEvent) => {
    const t = timeAt(e);
    const bin = Math.min(bins - 1, Math.floor((t - fromNS) / binNS));
    const all = series.reduce((sum, s) => sum + (s.seconds[bin] ?? 0), 0);
    const rows = [...series]
      .sort((a, b) => (b.seconds[bin] ?? 0) - (a.seconds[bin] ?? 0))
      .filter((s) => (s.seconds[bin] ?? 0) > 0)
      .slice(0, 8);
    showTip({ x: e.clientX, y: e.clientY, title: ns(fromNS + bin * binNS), rows: rows.map((s) => [s.name, percent((s.seconds[bin] ?? 0) / all)] as const) });
  };
  const mark = drag ?? (chosen && (chosen[0] !== null || chosen[1] !== null) ? ([chosen[0] ?? span.from, chosen[1] ?? span.to] as const) : null);
  const px = (t: number) => ((Math.min(span.to, Math.max(span.from, t)) - span.from) / (span.to - span.from)) * w;
  return (
    <svg
      width={width}
      height={height}
      class={`chart ${pick ? 'pickable' : ''}`}
      onPointerDown={(e) => {
        if (!pick || e.button !== 0) return;
        begun.current = timeAt(e);
        e.currentTarget.setPointerCapture(e.pointerId);
      }}
      onPointerMove={(e) => {
        tell(e);
        if (begun.current !== null) setDrag([begun.current, timeAt(e)]);
      }}
      onPointerUp={() => {
        const range = drag && [...drag].sort((a, b) => a - b);
        begun.current = null;
        setDrag(null);
        if (pick && range && px(range[1] ?? 0) - px(range[0] ?? 0) > 3) pick(Math.round(range[0] ?? 0), Math.round(range[1] ?? 0));
      }}
      onPointerCancel={() => {
        begun.current = null;
        setDrag(null);
      }}
      onPointerLeave={hideTip}
    >
      <g transform={`translate(${LEFT},${TOP})`}>
        <Hatch />
        {layers.map(({ s, low, high }) => (
          <g key={s.name}>
            <path d={band(low, high)} fill={s.colour} data-series={s.name} />
            {s.variant ? <path d={band(low, high)} fill={HATCH} /> : null}
          </g>
        ))}
        {mark ? <rect class="drag" x={Math.min(px(mark[0]), px(mark[1]))} width={Math.max(1, Math.abs(px(mark[1]) - px(mark[0])))} height={tall} /> : null}
        <Axis side="left" ticks={linearTicks(y, tall, 24, '')} span={y} pixels={tall} title="threads" />
        <g transform={`translate(0,${tall})`}>
          <Axis side="bottom" ticks={timeTicks(span, w).ticks} span={span} pixels={w} title="time" />
        </g>
      </g>
    </svg>
  );
}
