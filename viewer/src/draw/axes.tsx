import { length, type Span } from './span';
import type { Tick } from './ticks';

// Axis is drawn over a canvas as text, which is sharp at every scale and can be saved as SVG. `along` gives the pixel
// of a coordinate.
export function Axis({ side, ticks, span, pixels, title }: { side: 'bottom' | 'left'; ticks: Tick[]; span: Span; pixels: number; title: string }) {
  const along = (at: number) => (side === 'bottom' ? (at - span.from) / length(span) : 1 - (at - span.from) / length(span)) * pixels;
  const shown = ticks.filter((t) => t.at >= span.from && t.at <= span.to);
  return (
    <g class="axis">
      <line x2={side === 'bottom' ? pixels : 0} y2={side === 'bottom' ? 0 : pixels} />
      {shown.map((t) =>
        side === 'bottom' ? (
          <g key={t.at} transform={`translate(${along(t.at)},0)`}>
            <line y2={t.label ? 6 : 3} />
            <text y={18} text-anchor="middle">
              {t.label}
            </text>
          </g>
        ) : (
          <g key={t.at} transform={`translate(0,${along(t.at)})`}>
            <line x2={t.label ? -6 : -3} />
            <text x={-9} dy="0.32em" text-anchor="end">
              {t.label}
            </text>
          </g>
        ),
      )}
      {side === 'bottom' ? (
        <text class="title" x={pixels / 2} y={38} text-anchor="middle">
          {title}
        </text>
      ) : (
        <text class="title" transform={`translate(-62,${pixels / 2}) rotate(-90)`} text-anchor="middle">
          {title}
        </text>
      )}
    </g>
  );
}

// Grid is drawn under a canvas: a line at each mark with a number.
export function Grid({ x, y, inX, inY, width, height }: { x: Tick[]; y: Tick[]; inX: Span; inY: Span; width: number; height: number }) {
  const shown = (ticks: Tick[], span: Span) => ticks.filter((t) => t.label && t.at >= span.from && t.at <= span.to).map((t) => (t.at - span.from) / length(span));
  return (
    <g class="grid">
      {shown(x, inX).map((part) => (
        <line key={part} x1={part * width} x2={part * width} y2={height} />
      ))}
      {shown(y, inY).map((part) => (
        <line key={part} y1={(1 - part) * height} y2={(1 - part) * height} x2={width} />
      ))}
    </g>
  );
}
