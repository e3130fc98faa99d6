// Keys: what the page and its views do at one, and what the help says of them.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

export interface Keys {
  readonly title: string;
  readonly keys: readonly (readonly [key: string, does: string])[];
}

const shown = new Set<Keys>();

// useKeyHelp lists keys in the help while the component is there. keys must be a constant.
export function useKeyHelp(keys: Keys): void {
  useEffect(() => {
    shown.add(keys);
    return () => {
      shown.delete(keys);
    };
  }, [keys]);
}

export function keysOf(): readonly Keys[] {
  return [...shown];
}

// useKeys calls press for keys that no other component has taken while the component is there. If it returns true, the
// key is taken. It does not get keys that are typed into a field, keys with Ctrl, Alt or Meta, and those of a dialog,
// except in the dialog's owner. With first it gets them before the others.
export function useKeys(press: (e: KeyboardEvent) => boolean, { first = false, dialogs = false } = {}): void {
  const now = useRef(press);
  now.current = press;
  // With the component, not with the next frame: who sees it may press a key.
  useLayoutEffect(() => {
    const hear = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || isTyping(e.target)) return;
      if (!dialogs && e.target instanceof Element && e.target.closest('dialog')) return;
      if (now.current(e)) e.preventDefault();
    };
    addEventListener('keydown', hear, first);
    return () => removeEventListener('keydown', hear, first);
  }, [first, dialogs]);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName));
}
