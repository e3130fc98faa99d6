// What a shade of a bar means.
export function Key({ kind, name }: { kind: string; name: string }) {
  return (
    <span class="key">
      <svg width="10" height="10" aria-hidden="true">
        <rect class={kind} width="10" height="10" />
      </svg>{' '}
      {name}
    </span>
  );
}
