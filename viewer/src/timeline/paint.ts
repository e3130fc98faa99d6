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
  hatch(context, raster, top, each * place.rowHeight, stripes(context, look.hatch), (code) => code === NO_DATA || code === LOST, 1);
  hatch(context, raster, top, each * place.rowHeight, stripes(context, look.ground), look.variant, WIDE);
  for (const kind of new Set([...known.keys()].map((code) => kindOf(plain(code))))) {
    if (kind > 0) hatch(context, raster, top, each * place.rowHeight, linesOver(context, kind, look.wait(kind)), (code) => kindOf(code) === kind, NARROW);
  }
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

// hatch draws a pattern over stretches of some codes that are so many pixels long: over what has no data, so that nobody
// takes it for a colour, over variants and over waits.
function hatch(context: CanvasRenderingContext2D, raster: Raster, top: number, height: number, pattern: CanvasPattern, of: (code: number) => boolean, wide: number) {
  const { width, lines, codes } = raster;
  context.fillStyle = pattern;
  for (let line = 0; line < lines; line++) {
    let begin = -1;
    for (let p = 0; p <= width; p++) {
      const hatched = p < width && of(plain(codes[line * width + p]!));
      if (hatched && begin < 0) begin = p;
      if (!hatched && begin >= 0) {
        if (p - begin >= wide) context.fillRect(begin, top + line * height, p - begin, height);
        begin = -1;
      }
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
  const tile = new OffscreenCanvas(TILE, TILE);
  const c = tile.getContext('2d')!;
  c.strokeStyle = colour;
  c.lineWidth = 1.5;
  c.stroke(new Path2D(linesOf(kind)));
  return context.createPattern(tile, 'repeat')!;
}
