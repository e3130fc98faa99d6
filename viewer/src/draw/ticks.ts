// Where an axis has its marks, and what they say.
import { format } from 'd3-format';
import { scaleLinear, scaleLog } from 'd3-scale';
import { length, type Span } from './span';

export interface Tick {
  at: number; // in the axis' coordinate
  label: string; // empty: a mark without a number, for the others would not leave it room
}

interface Ticks {
  ticks: Tick[];
  base: string; // what the numbers count from where they would be too long, or empty
}

const units: [ns: number, name: string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];

const unitOf = (ns: number) => units.find(([size]) => Math.abs(ns) >= size) ?? units[3]!;
const short = format('~g');
const decimal = format('.6~r');
const suffixed = format('.4~s');

// amount writes a value of an axis briefly: times with their unit, other numbers with k, M, G where they are large.
export function amount(value: number, unit: string): string {
  if (unit === 'ns') {
    if (value === 0) return '0 s';
    const [size, name] = unitOf(value * 1.000001);
    return `${decimal(value / size)} ${name}`;
  }
  const large = Math.abs(value);
  if (large >= 1e3) return suffixed(value);
  return large !== 0 && large < 1e-3 ? short(Number(value.toPrecision(4))) : decimal(value);
}

// timeTicks marks a stretch of the run, in ns. Deep inside of a long run the numbers count from a round time nearby.
export function timeTicks(span: Span, pixels: number): Ticks {
  const [size, name] = unitOf(length(span) / 2);
  const coarse = size * 1000;
  const base = Math.abs(span.to) >= 100 * coarse ? Math.floor(span.from / coarse) * coarse : 0;
  const scale = scaleLinear([(span.from - base) / size, (span.to - base) / size], [0, pixels]);
  const marks = scale.ticks(Math.max(2, pixels / 110));
  const label = scale.tickFormat(marks.length);
  return {
    ticks: marks.map((v) => ({ at: v * size + base, label: `${base ? '+' : ''}${label(v)} ${name}` })),
    base: base ? amount(base, 'ns') : '',
  };
}

// linearTicks and logTicks mark an axis of burst space; `room` is the least distance of two numbers, pixels.
export function linearTicks(span: Span, pixels: number, room: number, unit: string): Tick[] {
  const [size] = unit === 'ns' ? unitOf(Math.max(Math.abs(span.from), Math.abs(span.to))) : [1];
  const marks = scaleLinear([span.from / size, span.to / size], [0, pixels]).ticks(Math.max(2, pixels / room / 1.3));
  return marks.map((v) => ({ at: v * size, label: amount(v * size, unit) }));
}

// The axis' coordinate is the natural logarithm.
export function logTicks(span: Span, pixels: number, room: number, unit: string): Tick[] {
  const marks = scaleLog([Math.exp(span.from), Math.exp(span.to)], [0, pixels]).ticks(Math.max(2, pixels / room));
  const ticks = marks.map((v) => ({ at: Math.log(v), label: '', value: v }));
  const taken: number[] = [];
  const leading = (v: number) => Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9));
  for (const wanted of [[1], [5], [2], [3, 7], [4, 6, 8, 9]]) {
    for (const tick of ticks) {
      const x = ((tick.at - span.from) / length(span)) * pixels;
      if (!wanted.includes(leading(tick.value)) || taken.some((t) => Math.abs(t - x) < room)) continue;
      taken.push(x);
      tick.label = amount(tick.value, unit);
    }
  }
  return ticks.map(({ at, label }) => ({ at, label }));
}
