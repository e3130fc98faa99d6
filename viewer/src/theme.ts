// Dark and light: what the system says, unless the user has switched.
import { onPaper } from './shell/paper';
import { Signal, useSignal } from './state/signal';

export type Choice = 'system' | 'light' | 'dark';
export type Theme = 'light' | 'dark';

const KEY = 'moriens-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

export const choice = new Signal<Choice>(remembered());
const theme = new Signal<Theme>(effective());

export function useTheme(): Theme {
  return useSignal(theme);
}

export function nowTheme(): Theme {
  return theme.value;
}

export function setChoice(next: Choice): void {
  choice.value = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser may give a page from disk no storage: the choice lasts as long as the page.
  }
  apply();
}

export function followTheme(): void {
  dark.addEventListener('change', apply);
  onPaper.subscribe(apply);
  apply();
}

function apply(): void {
  const now = effective();
  document.documentElement.dataset['theme'] = now;
  theme.value = now;
}

function effective(): Theme {
  if (onPaper.value) return 'light'; // paper is white
  if (choice.value !== 'system') return choice.value;
  return dark.matches ? 'dark' : 'light';
}

function remembered(): Choice {
  try {
    const said = localStorage.getItem(KEY);
    if (said === 'light' || said === 'dark') return said;
  } catch {
    // As above.
  }
  return 'system';
}
