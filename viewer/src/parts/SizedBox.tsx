// A box that passes its size in pixels to its content.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { onPaper } from '../shell/paper';
import { useSignal } from '../state/signal';

export interface Size {
  readonly width: number;
  readonly height: number;
}

interface Props {
  readonly class?: string;
  readonly children: (size: Size) => ComponentChildren;
}

export function SizedBox({ class: name, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  const paper = useSignal(onPaper);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const look = () => setSize({ width: Math.floor(el.clientWidth), height: Math.floor(el.clientHeight) });
    const observer = new ResizeObserver(look);
    observer.observe(el);
    look();
    return () => observer.disconnect();
  }, [paper]); // an observer is called with the next frame, and paper has none
  return (
    <div ref={box} class={`sized ${name ?? ''}`}>
      {size && size.width > 0 && size.height > 0 ? children(size) : null}
    </div>
  );
}
