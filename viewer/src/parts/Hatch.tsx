// A kind has a colour; a variant has that of its kind, and lines over it. A drawing that has some holds the pattern
// once, and lays a shape filled with HATCH over each.
export const HATCH = 'url(#variant)';

export function Hatch() {
  return (
    <defs>
      <pattern id="variant" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path class="variant-line" d="M0 0H1.6V5H0Z" />
      </pattern>
    </defs>
  );
}
