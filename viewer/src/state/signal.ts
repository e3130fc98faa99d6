// A value that components read: they are drawn again when it changes.
import { useLayoutEffect, useState } from 'preact/hooks';

export class Signal<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set value(next: T) {
    if (Object.is(next, this.#value)) return;
    this.#value = next;
    for (const listener of [...this.#listeners]) listener(next);
  }

  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export function useSignal<T>(signal: Signal<T>): T {
  const [, redraw] = useState(0);
  const seen = signal.value;
  useLayoutEffect(() => {
    const look = () => redraw((n) => n + 1);
    // It may have changed between drawing and here.
    if (!Object.is(signal.value, seen)) look();
    return signal.subscribe(look);
  }, [signal]);
  return seen;
}
