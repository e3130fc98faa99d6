// A box that tells what is in it how many pixels there are.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Size {
  readonly width: number;
  readonly height: number;
}

interface Props {
  readonly class?: string;
  readonly children: (size: Size) => ComponentChildren;
}

// A sheet of paper has so many pixels across, as style.css lays it: what is wider is made smaller.
const PAPER = 960;

export function SizedBox({ class: name, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const look = () => setSize({ width: Math.floor(el.clientWidth), height: Math.floor(el.clientHeight) });
    const observer = new ResizeObserver(look);
    observer.observe(el);
    look();
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={box} class={`sized ${name ?? ''}`} style={{ '--on-paper': size ? Math.min(1, PAPER / size.width) : 1 }}>
      {size && size.width > 0 && size.height > 0 ? children(size) : null}
    </div>
  );
}
