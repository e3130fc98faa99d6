import { useSignal } from '../state/signal';
import { choice, setChoice, type Choice } from '../theme';

const next: Record<Choice, Choice> = { system: 'light', light: 'dark', dark: 'system' };
const said: Record<Choice, string> = { system: 'as the system', light: 'light', dark: 'dark' };

export function ThemeSwitch() {
  const now = useSignal(choice);
  const label = `Colours: ${said[now]}. Switch to ${said[next[now]]}`;
  return (
    <button type="button" class="icon" title={label} aria-label={label} onClick={() => setChoice(next[now])}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="8" cy="8" r="6.5" fill={now === 'dark' ? 'currentColor' : 'none'} stroke="currentColor" stroke-width="1.3" />
        {now === 'system' ? <path d="M8 1.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" /> : null}
      </svg>
    </button>
  );
}
