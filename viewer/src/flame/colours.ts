// Colours of frames: a cluster has its own, MPI is grey, and what is round them is pale.
import type { Levels } from '../data/levels';
import { greyOf } from '../palette';
import { mixed, rgbOf, textOf } from '../rgb';
import type { Theme } from '../theme';
import type { Tree } from './model';
import type { Series } from './stacks';

const PAPER: Record<Theme, string> = { light: '#ffffff', dark: '#16181c' };
const INK: Record<Theme, string> = { light: '#1b1e23', dark: '#e6e8eb' };

// pale is a colour that is no cluster's, one for each number: hues turn by the golden angle, so that neighbours differ.
export function pale(number: number, theme: Theme): string {
  const hue = (210 + number * 137.508) % 360;
  const [saturation, light] = theme === 'dark' ? [0.28, 0.3] : [0.42, 0.84];
  const a = saturation * Math.min(light, 1 - light);
  const part = (k: number) => {
    const at = (k + hue / 30) % 12;
    return Math.round(255 * (light - a * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return textOf([part(0), part(8), part(4)]);
}

// shade is MPI's grey, darker for each of its functions.
export const shade = (number: number, theme: Theme) => textOf(mixed(rgbOf(INK[theme]), rgbOf(greyOf('mpi', theme)), Math.min(0.5, 0.11 * number)));

// faded is a colour of what was not looked for.
export const faded = (colour: string, theme: Theme) => textOf(mixed(rgbOf(colour), rgbOf(PAPER[theme]), 0.22));

// colourOfFrame is the same wherever a frame is drawn.
export function colourOfFrame(t: Tree, i: number, levels: Levels, theme: Theme): string {
  switch (t.type[i]) {
    case 'cluster':
      return levels.colour(levels.fromCluster.get(t.cluster[i]!) ?? t.cluster[i]!, theme);
    case 'mpi':
      return greyOf('mpi', theme);
    case 'paused':
    case 'unrecorded':
      return greyOf('dropped', theme);
    case 'others':
      return greyOf('others', theme);
    case 'program':
    case 'function':
      return pale(0, theme);
    default:
      return pale(t.turn[i]!, theme);
  }
}

export interface Coloured extends Series {
  readonly colour: string;
  readonly variant: boolean;
}

// coloured gives series of bars the colours of their frames; functions of MPI differ in their grey.
export function coloured(t: Tree, series: readonly Series[], levels: Levels, theme: Theme): Coloured[] {
  const mpi = series.filter((s) => t.type[s.frame] === 'mpi');
  return series.map((s) => ({
    ...s,
    colour: s.frame < 0 ? greyOf('others', theme) : t.type[s.frame] === 'mpi' ? shade(mpi.indexOf(s), theme) : colourOfFrame(t, s.frame, levels, theme),
    variant: t.type[s.frame] === 'cluster' && levels.variant(levels.fromCluster.get(t.cluster[s.frame]!) ?? t.cluster[s.frame]!),
  }));
}
