// A titled part of a view, with what can be done with it at the right of its title.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Props {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly tools?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Panel({ title, note, tools, class: name, children }: Props) {
  const id = useId();
  return (
    <section class={`panel ${name ?? ''}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {note ? <span class="note">{note}</span> : null}
        {tools ? <div class="panel-tools">{tools}</div> : null}
      </div>
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
