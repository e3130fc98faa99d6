// Colours as numbers.
export type RGB = readonly [red: number, green: number, blue: number]; // 0-255, sRGB

// rgbOf takes "#rrggbb", or "#rgb", to which a minified style sheet shortens it.
export function rgbOf(colour: string): RGB {
  const digits = colour.slice(1);
  const n = parseInt(digits.length === 3 ? digits.replace(/./g, '$&$&') : digits, 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

// textOf gives "#rrggbb".
export const textOf = (colour: RGB) => `#${colour.map((v) => v.toString(16).padStart(2, '0')).join('')}`;

// mixed lays a share of a colour, 0-1, over a ground.
export function mixed(colour: RGB, ground: RGB, share: number): RGB {
  const mix = (v: number, under: number) => Math.round(v * share + under * (1 - share));
  return [mix(colour[0], ground[0]), mix(colour[1], ground[1]), mix(colour[2], ground[2])];
}

// wordOf gives a colour as a pixel of ImageData, on a little endian machine, which all that run browsers are.
export function wordOf([r, g, b]: RGB, alpha = 255): number {
  return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
