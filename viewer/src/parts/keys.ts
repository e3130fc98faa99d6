// Keys of views, for the help: a view that is shown says what it listens to.
import { useEffect } from 'preact/hooks';

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
