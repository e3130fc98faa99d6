// Colours of clusters and of what is none. A cluster has the colour that clusters.json gives it, that of its kind, the
// same as in every other picture of the run; on a dark page dark colours are raised in lightness, by one rule, and keep
// their hue.
import { FILTERED, MISSING } from './data/clusters';
import { mixed, rgbOf, textOf, type RGB } from './rgb';
import { nowTheme, type Theme } from './theme';

// Waits are in MPI's grey under lines: one colour for messages, one for collectives, one for start and end.
const waits: Record<Theme, readonly [message: string, collective: string, edge: string]> = {
  light: ['#8a4b00', '#5a3a9e', '#4f5660'],
  dark: ['#e9b765', '#bca8f5', '#a5acb6'],
};

type Grey = 'mpi' | 'noise' | 'others' | 'filtered' | 'missing' | 'dropped' | 'lost';

const greys: Record<Theme, Record<Grey, string>> = {
  light: { mpi: '#e4e4e4', noise: '#6b6b6b', others: '#969696', filtered: '#c2c2c2', missing: '#2b2b2b', dropped: '#f4f1e8', lost: '#f6d5cd' },
  dark: { mpi: '#33363b', noise: '#9a9a9a', others: '#7a7d82', filtered: '#5b5e63', missing: '#e6e6e6', dropped: '#25241f', lost: '#552a21' },
};

export function greyOf(what: Grey, theme: Theme = nowTheme()): string {
  return greys[theme][what];
}

// waitColour gives the colour of the lines over waits of a kind.
export function waitColour(kind: number, theme: Theme = nowTheme()): string {
  return waits[theme][kind <= 3 ? 0 : kind <= 9 ? 1 : 2];
}

const TINT = 0.34; // of the lines' colour: stretches too narrow for lines have it too

// waitGround gives the colour below the lines.
export function waitGround(kind: number, theme: Theme = nowTheme()): string {
  return textOf(mixed(rgbOf(waitColour(kind, theme)), rgbOf(greyOf('mpi', theme)), TINT));
}

// The colours of clusters by id, set when a pack is opened and when a run in progress reports its clusters.
let given = new Map<number, string>();
let variants = new Set<number>();

export function takeColours(clusters: readonly { readonly id: number; readonly colour: string; readonly variant_of?: number }[]): void {
  variants = new Set(clusters.filter((c) => (c.variant_of ?? 0) > 0).map((c) => c.id));
  given = new Map(clusters.filter((c) => /^#[0-9a-f]{6}$/i.test(c.colour)).map((c) => [c.id, c.colour]));
}

// colourOf gives the colour of a cluster by id, "#rrggbb"; below 1 those of noise, filtered and missing data.
export function colourOf(id: number, theme: Theme = nowTheme()): string {
  if (id === FILTERED) return greyOf('filtered', theme);
  if (id === MISSING) return greyOf('missing', theme);
  if (id < 1) return greyOf('noise', theme);
  const light = given.get(id) ?? spare(id);
  return onTheme(light, theme);
}

// isVariant says of a cluster that it is a variant of another: it has the colour of its kind, and is hatched.
export function isVariant(id: number): boolean {
  return variants.has(id);
}

// onTheme gives a colour of a light page as it is on the page now.
export function onTheme(colour: string, theme: Theme): string {
  return theme === 'dark' ? raise(colour) : colour;
}

// The first colours of trace/palette: of a live page whose clusters.json is not there yet, and of nodes that are no
// cluster.
export const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#d55e00', '#56b4e9', '#cc79a7', '#660088', '#aa00ff', '#0000ff', '#880000', '#88dd88', '#8877ee', '#6600dd', '#005544', '#cc11aa', '#554477'];

function spare(id: number): string {
  return PALETTE[(id - 1) % PALETTE.length] ?? '#0072b2';
}

// inkOn gives black or white, whichever is easier to read on a colour (WCAG 2 contrast).
export function inkOn(colour: string): string {
  const [r, g, b] = rgbOf(colour).map((v) => linear(v / 255)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}

// raise maps OKLab lightness 0..0.65 to 0.5..0.65: it keeps the order of lightness, and with it the differences.
const raised = new Map<string, string>();

function raise(colour: string): string {
  let to = raised.get(colour);
  if (to === undefined) {
    const [l, a, b] = oklab(rgbOf(colour));
    to = l >= 0.65 ? colour : hexOf(l * (0.15 / 0.65) + 0.5, a, b);
    raised.set(colour, to);
  }
  return to;
}

const linear = (v: number) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const gamma = (v: number) => (v <= 0.0031308 ? v * 12.92 : 1.055 * v ** (1 / 2.4) - 0.055);

// Ottosson, "A perceptual color space for image processing", 2020.
function oklab(colour: RGB): [number, number, number] {
  const [r, g, b] = colour.map((v) => linear(v / 255)) as [number, number, number];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

// hexOf takes chroma away until the colour is one that a screen has.
function hexOf(lightness: number, a: number, b: number): string {
  for (let chroma = 1; ; chroma -= 0.05) {
    const rgb = fromOklab(lightness, a * Math.max(chroma, 0), b * Math.max(chroma, 0));
    if (chroma <= 0 || rgb.every((v) => v >= -0.001 && v <= 1.001)) {
      return textOf(rgb.map((v) => Math.round(255 * Math.min(1, Math.max(0, v)))) as [number, number, number]);
    }
  }
}

function fromOklab(lightness: number, a: number, b: number): number[] {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map(gamma);
}
