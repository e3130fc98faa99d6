// Colours the raster and puts it, and what lies over it, on a canvas.
import { kindOf, LOST, NO_DATA, NOTHING } from '../data/codes';
import type { Span } from '../draw/span';
import { linesOf, TILE } from '../draw/waits';
import { mixed, rgbOf, wordOf } from '../rgb';
import { COARSE, plain, UNLIT, type Raster } from './raster';

interface Look {
  colour: (code: number) => string;
  ground: string; // behind everything, "#rrggbb"
  hatch: string;
  variant: (code: number) => boolean;
  wait: (kind: number) => string; // the lines of a kind
}

const PALE = 0.45; // how much of its colour a cell of the overview keeps where bursts would be much finer
const FROM = 2; // pixels of a cell up to which it keeps all of it, and from which
const TO = 10; // no more than that

// keptOf says how much of its colour a cell keeps that is so many pixels wide.
export const keptOf = (pixels: number) => Math.min(1, Math.max(PALE, 1 - ((1 - PALE) * (pixels - FROM)) / (TO - FROM)));
const DIM = 0.18;

export interface Place {
  rowHeight: number; // of a thread, device pixels
  rows: Span;
}

export function paintRaster(context: CanvasRenderingContext2D, raster: Raster, place: Place, look: Look, kept: number) {
  const { width, lines, codes, each } = raster;
  if (width === 0 || lines === 0) return;
  const image = new OffscreenCanvas(width, lines);
  const picture = image.getContext('2d', { willReadFrequently: true })!;
  const pixels = picture.createImageData(width, lines);
  const words = new Uint32Array(pixels.data.buffer);
  const known = new Map<number, number>();
  let [before, word] = [-1, 0];
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code !== before) {
      before = code;
      word = known.get(code) ?? -1;
      if (word < 0) known.set(code, (word = pixelOf(code, look, kept)));
    }
    words[i] = word;
  }
  picture.putImageData(pixels, 0, 0);
  const top = (raster.first - place.rows.from) * place.rowHeight;
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, width, lines, 0, top, width, lines * each * place.rowHeight);
  const height = each * place.rowHeight;
  hatch(context, raster, top, height, [stripes(context, look.hatch)], (code) => (code === NO_DATA || code === LOST ? 1 : 0), 1);
  hatch(context, raster, top, height, [stripes(context, look.ground)], (code) => (look.variant(code) ? 1 : 0), WIDE);
  const kinds = [...new Set([...known.keys()].map((code) => kindOf(plain(code))))].filter((kind) => kind > 0);
  if (kinds.length > 0) hatch(context, raster, top, height, kinds.map((kind) => linesOver(context, kind, look.wait(kind))), (code) => kinds.indexOf(kindOf(code)) + 1, NARROW);
  if (place.rowHeight >= 6) {
    context.fillStyle = look.ground;
    const gap = Math.max(1, Math.round(place.rowHeight / 14));
    for (let line = 0; line <= lines; line++) context.fillRect(0, Math.round(top + line * place.rowHeight) - gap, width, gap);
  }
}

function pixelOf(code: number, look: Look, kept: number): number {
  if (plain(code) === NOTHING) return 0;
  let share = code & UNLIT ? DIM : 1;
  if (code & COARSE) share *= kept;
  return wordOf(mixed(rgbOf(look.colour(plain(code))), rgbOf(look.ground), share));
}

// Narrower stretches of a variant have the colour of its kind alone: lines would make another one of it.
const WIDE = 5;

// Waits have the colour of their lines below them too, so that short ones are seen.
const NARROW = 3;

// hatch draws patterns over stretches that are so many pixels long, of codes of which `of` gives the number of a pattern,
// from 1, not 0: over what has no data, so that nobody takes it for a colour, over variants and over waits.
function hatch(context: CanvasRenderingContext2D, raster: Raster, top: number, height: number, patterns: readonly CanvasPattern[], of: (code: number) => number, wide: number) {
  const { width, lines, codes } = raster;
  const numbers = new Map<number, number>();
  const numberOf = (code: number) => {
    let n = numbers.get(code);
    if (n === undefined) numbers.set(code, (n = of(plain(code))));
    return n;
  };
  for (let line = 0; line < lines; line++) {
    let [begin, drawn, code, number] = [0, 0, -1, 0];
    for (let p = 0; p <= width; p++) {
      if (p === width) number = 0;
      else if (codes[line * width + p] !== code) number = numberOf((code = codes[line * width + p]!));
      if (number === drawn) continue;
      if (drawn > 0 && p - begin >= wide) {
        context.fillStyle = patterns[drawn - 1]!;
        context.fillRect(begin, top + line * height, p - begin, height);
      }
      [begin, drawn] = [p, number];
    }
  }
}

function stripes(context: CanvasRenderingContext2D, colour: string): CanvasPattern {
  const tile = new OffscreenCanvas(8, 8);
  const c = tile.getContext('2d')!;
  c.strokeStyle = colour;
  c.lineWidth = 1.5;
  for (const x of [-8, 0, 8]) {
    c.moveTo(x, 8);
    c.lineTo(x + 8, 0);
  }
  c.stroke();
  return context.createPattern(tile, 'repeat')!;
}

function linesOver(context: CanvasRenderingContext2D, kind: number, colour: string): CanvasPattern {
  return context.createPattern(tileOf(kind, colour).canvas, 'repeat')!;
}

function tileOf(kind: number, colour: string, below?: string): OffscreenCanvasRenderingContext2D {
  const c = new OffscreenCanvas(TILE, TILE).getContext('2d', { willReadFrequently: below !== undefined })!;
  if (below !== undefined) {
    c.fillStyle = below;
    c.fillRect(0, 0, TILE, TILE);
  }
  c.strokeStyle = colour;
  c.lineWidth = 1.5;
  c.stroke(new Path2D(linesOf(kind)));
  return c;
}

// tileWords gives the pixels of a tile of a kind of wait, line by line, with what is below its lines.
export function tileWords(kind: number, colour: string, below: string): Uint32Array {
  return new Uint32Array(tileOf(kind, colour, below).getImageData(0, 0, TILE, TILE).data.buffer);
}
