// Files and text that leave the page at the user's wish.
import { runName } from '../data/run';
import type { Pack } from '../data/pack';

// fileName names what is saved after the run and what it shows.
export function fileName(pack: Pack, what: string, extension: string): string {
  const clean = (s: string) => s.replace(/[^\p{L}\p{N}._+-]+/gu, '-').slice(0, 60);
  return `${clean(runName(pack))}-${clean(what)}.${extension}`;
}

export function saveFile(name: string, data: Blob): void {
  const url = URL.createObjectURL(data);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}
