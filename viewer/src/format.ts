// Numbers as people read them: four figures at most where the value is measured, all of them where it is counted.
// What is not defined is "–".
import { FILTERED, MISSING, NOISE } from './data/clusters';

const NONE = '–';
const THIN = '\u202f'; // narrow, and no line break in it

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

// From here on numbers have a power of ten: nothing that is measured is so large, but what a damaged file says may be.
const HUGE = 1e16;

// figures gives a number to so many significant figures, without zeros at its end.
function figures(v: number, n: number): string {
  if (Math.abs(v) >= HUGE) return v.toExponential(n - 1);
  const digits = v === 0 ? 0 : n - 1 - Math.floor(Math.log10(Math.abs(v)));
  return v.toLocaleString('en-US', { maximumFractionDigits: Math.min(20, Math.max(0, digits)) });
}

export function count(v: number): string {
  if (!Number.isFinite(v)) return NONE;
  return Math.abs(v) < HUGE ? whole.format(v) : v.toExponential(2);
}

// ns gives a time in the unit in which it has one to three figures before the point.
export function ns(v: number): string {
  if (!Number.isFinite(v)) return NONE;
  if (v === 0) return `0${THIN}s`;
  const a = Math.abs(v);
  if (a < 999.5) return `${figures(v, 3)}${THIN}ns`;
  if (a < 999.5e3) return `${figures(v / 1e3, 3)}${THIN}µs`;
  if (a < 999.5e6) return `${figures(v / 1e6, 3)}${THIN}ms`;
  return `${figures(v / 1e9, a < 1e12 ? 3 : 4)}${THIN}s`;
}

export function seconds(v: number): string {
  return ns(v * 1e9);
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes(v: number): string {
  if (!Number.isFinite(v)) return NONE;
  let i = 0;
  let shown = v;
  while (Math.abs(shown) >= 999.5 && i < units.length - 1) {
    shown /= 1024;
    i++;
  }
  return `${i === 0 ? count(shown) : figures(shown, 3)}${THIN}${units[i] ?? ''}`;
}

// percent takes a share, 0-1.
export function percent(v: number): string {
  if (!Number.isFinite(v)) return NONE;
  const p = v * 100;
  if (p === 0) return `0${THIN}%`;
  if (Math.abs(p) < 0.01) return `${p < 0 ? '>-' : '<'}0.01${THIN}%`;
  return `${figures(p, Math.abs(p) < 1 ? 2 : 3)}${THIN}%`;
}

const prefixes: readonly [number, string][] = [
  [1e18, 'E'],
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

// quantity gives a value with a prefix of the SI, for counters and the like: "1.23 M", "4.5 GHz".
export function quantity(v: number, unit = ''): string {
  if (!Number.isFinite(v)) return NONE;
  if (unit === 'ns') return ns(v);
  if (unit === 'bytes' || unit === 'B') return bytes(v);
  // A unit that is a word stands apart from the prefix.
  const tail = (p: string) => (p || unit ? `${THIN}${p}${p && unit.length > 3 ? THIN : ''}${unit}` : '');
  if (v === 0) return `0${tail('')}`;
  const a = Math.abs(v);
  const [by, name] = prefixes.find(([by]) => a >= by * 0.9995) ?? [1, ''];
  if (a < 0.001) return `${v.toExponential(2)}${tail('')}`;
  return `${figures(v / by, 3)}${tail(name)}`;
}

export function ratio(v: number): string {
  return Number.isFinite(v) ? figures(v, 3) : NONE;
}

export function score(v: number): string {
  return Number.isFinite(v) ? v.toFixed(2).replace(/^-(?=0\.00$)/, '') : NONE;
}

export function cluster(id: number): string {
  if (id === NOISE) return 'noise';
  if (id === FILTERED) return 'filtered';
  if (id === MISSING) return 'missing data';
  return `cluster ${id}`;
}

// plural gives "1 rank", "2 ranks".
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// list joins words as people do: "a, b and c".
export function list(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

// against says how a value differs from another: in per cent while that is easy to read, else as a factor.
export function against(v: number, from: number): string {
  const r = v / from;
  if (!Number.isFinite(r) || from === 0) return NONE;
  if (r > 3 || r < 1 / 3) return `× ${ratio(r)}`;
  if (Math.abs(r - 1) < 1e-4) return 'the same'; // to a hundredth of a per cent
  return `${r > 1 ? '+' : '−'}${percent(Math.abs(r - 1))}`;
}
