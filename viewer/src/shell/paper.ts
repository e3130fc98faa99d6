// Printing: the page is laid out again for a sheet, and is as wide as that whatever the screen is. A browser draws no
// frame between announcing that it will print and printing, so all of it happens at once.
import { options } from 'preact';
import { Signal } from '../state/signal';

export const onPaper = new Signal(false);

export function followPrinting(): void {
  addEventListener('beforeprint', () => lay(true));
  addEventListener('afterprint', () => lay(false));
}

function lay(paper: boolean): void {
  document.documentElement.toggleAttribute('data-paper', paper);
  // What components do after the next frame they do as soon as they are drawn.
  if (paper) options.requestAnimationFrame = queueMicrotask;
  else delete options.requestAnimationFrame;
  onPaper.value = paper;
}
