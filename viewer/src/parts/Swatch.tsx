import { linesOf } from '../draw/waits';
import { colourOf, isVariant, waitColour, waitGround } from '../palette';
import { useTheme } from '../theme';

// A Swatch is the colour of a cluster; what it is must be said beside it.
export function Swatch({ id }: { id: number }) {
  return <Patch fill={colourOf(id, useTheme())} variant={isVariant(id)} />;
}

// A Patch is any colour, under lines where these say that data are missing, or that it is of a variant.
export function Patch({ fill, hatched, variant }: { fill: string; hatched?: boolean; variant?: boolean }) {
  return (
    <svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
      <rect width="10" height="10" rx="2" fill={fill} />
      {hatched || variant ? <path class={variant ? 'hatch variant' : 'hatch'} d="M0 5L5 0M0 10L10 0M5 10L10 5" /> : null}
    </svg>
  );
}

// A WaitPatch is how the timeline draws a kind of wait.
export function WaitPatch({ kind }: { kind: number }) {
  const theme = useTheme();
  return (
    <svg class="swatch" viewBox="0 0 16 10" width="16" height="10" aria-hidden="true">
      <rect width="16" height="10" fill={waitGround(kind, theme)} />
      {[0, 8].map((x) => (
        <svg key={x} x={x} width="8" height="8" y="1" viewBox="0 0 8 8">
          <path d={linesOf(kind)} stroke={waitColour(kind, theme)} stroke-width="1.5" fill="none" />
        </svg>
      ))}
    </svg>
  );
}
