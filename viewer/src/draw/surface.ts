// Pictures on a canvas: once a frame, as sharp as the screen.
import { useEffect, useState } from 'preact/hooks';
import { onPaper } from '../shell/paper';
import { useSignal } from '../state/signal';

const PRINTED = 3; // pixels of a printed picture to one of the page, of which an inch has 96

// usePixelRatio is how many pixels of the screen, or of what is printed, one of the page has: it changes when the page
// moves to another screen or is zoomed.
export function usePixelRatio(): number {
  const [ratio, setRatio] = useState(window.devicePixelRatio);
  useEffect(() => {
    const query = window.matchMedia(`(resolution: ${ratio}dppx)`);
    const change = () => setRatio(window.devicePixelRatio);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, [ratio]);
  return useSignal(onPaper) ? PRINTED : ratio;
}

// nextFrame calls draw before the next picture of the screen, or at once where the page is about to be printed. The
// function that it gives takes that back.
export function nextFrame(draw: (now: number) => void): () => void {
  if (onPaper.value) {
    draw(performance.now());
    return () => undefined;
  }
  const frame = requestAnimationFrame(draw);
  return () => cancelAnimationFrame(frame);
}

// useFrame calls draw before the next picture, once for all changes until then.
export function useFrame(draw: () => void, changes: readonly unknown[]) {
  useEffect(() => nextFrame(draw), changes);
}

// sized gives an empty context of a canvas that has width × height pixels. The browser is to keep the pixels where the
// script puts them.
export function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new Error('the browser draws no pictures');
  if (canvas.width === width && canvas.height === height) context.clearRect(0, 0, width, height);
  else {
    canvas.width = width;
    canvas.height = height;
  }
  return context;
}

// css gives a colour of the style sheet, by its variable.
export const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
