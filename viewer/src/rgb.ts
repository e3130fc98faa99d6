// Colours as numbers.
export type RGB = readonly [red: number, green: number, blue: number]; // 0-255, sRGB

// rgbOf takes "#rrggbb", or "#rgb", to which a minified style sheet shortens it.
export function rgbOf(colour: string): RGB {
  const digits = colour.slice(1);
  const n = parseInt(digits.length === 3 ? digits.replace(/./g, '$&$&') : digits, 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}
