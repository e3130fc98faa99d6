// One tooltip for the whole page, at the pointer or at what has the focus. Rows are a label and a value with its unit.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Signal, useSignal } from '../state/signal';
import { Swatch } from './Swatch';

export interface Tip {
  readonly x: number; // of the page's window, px
  readonly y: number;
  readonly title?: string;
  readonly cluster?: number; // whose colour stands before the title
  readonly rows?: readonly (readonly [label: string, value: string])[];
  readonly says?: readonly string[]; // sentences below
}

const tip = new Signal<Tip | null>(null);

export function showTip(next: Tip): void {
  tip.value = next;
}

export function hideTip(): void {
  tip.value = null;
}

const GAP = 14;

export function TooltipLayer() {
  const now = useSignal(tip);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el || !now) return;
    const { width, height } = el.getBoundingClientRect();
    const x = now.x + GAP + width > innerWidth ? now.x - GAP - width : now.x + GAP;
    const y = now.y + GAP + height > innerHeight ? now.y - GAP - height : now.y + GAP;
    el.style.left = `${Math.max(4, x)}px`;
    el.style.top = `${Math.max(4, y)}px`;
  });
  if (!now) return null;
  return (
    <div ref={box} class="tip" role="tooltip">
      {now.title ? (
        <p>
          {now.cluster === undefined ? null : <Swatch id={now.cluster} />} {now.title}
        </p>
      ) : null}
      {now.rows?.length ? (
        <dl>
          {now.rows.map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      ) : null}
      {now.says?.map((text) => (
        <p key={text} class="says">
          {text}
        </p>
      ))}
    </div>
  );
}
