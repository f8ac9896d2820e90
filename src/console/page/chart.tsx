import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatDuration } from '../model/format.js';
import { HISTORY_MS, type Series } from '../model/history.js';
import { linePath, linear, ticks } from '../model/scale.js';

/** A line of a chart. Lines of a chart have the colours of their order. */
export interface Line {
  readonly label: string;
  readonly values: Series;
}

interface ChartProps {
  readonly title: string;
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number | undefined) => string;
  /** What its round values are multiples of. */
  readonly base?: 10 | 1024;
  readonly children?: ComponentChildren;
}

const [WIDTH, HEIGHT] = [360, 170];
const FRAME = { left: 56, right: 8, top: 8, bottom: 22 };

/** A chart of a page that was just opened is not empty but for its right edge. */
const LEAST_SPAN_MS = 60_000;

/**
 * Lines over the last ten minutes, or as long as the page has been open. The caption has the values in words: now, or under the pointer.
 */
export function Chart({ title, times, lines, format, base = 10, children }: ChartProps) {
  const [hovered, setHovered] = useState<number>();
  const now = times.at(-1) ?? 0;
  const span = Math.min(HISTORY_MS, Math.max(LEAST_SPAN_MS, now - (times[0] ?? now)));
  const x = linear([now - span, now], [FRAME.left, WIDTH - FRAME.right]);
  const most = Math.max(...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const marks = ticks(most, 4, base);
  const y = linear([0, marks.at(-1) ?? 1], [HEIGHT - FRAME.bottom, FRAME.top]);
  const at = hovered === undefined || hovered >= times.length ? times.length - 1 : hovered;

  const hover = (event: PointerEvent & { readonly currentTarget: SVGElement }): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const place = ((event.clientX - left) / width) * WIDTH;
    const distances = times.map((time) => Math.abs(x(time) - place));
    setHovered(distances.indexOf(Math.min(...distances)));
  };

  return (
    <figure class="card chart">
      <figcaption>
        <div>
          <h2>{title}</h2>
          {children}
        </div>
        <Legend lines={lines} at={at} format={format} />
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${title} over the last ten minutes`}
        onPointerMove={hover}
        onPointerLeave={() => setHovered(undefined)}
      >
        <ValueAxis marks={marks} y={y} format={format} />
        <TimeAxis now={now} span={span} x={x} />
        {lines.map(({ label, values }, number) => (
          <path key={label} class={`line s${number}`} d={linePath(times, values, x, y)} />
        ))}
        {hovered !== undefined && <Pointer time={times[at] ?? now} now={now} x={x} />}
      </svg>
    </figure>
  );
}

/** What each line is, with its value. */
function Legend({ lines, at, format }: Pick<ChartProps, 'lines' | 'format'> & { at: number }) {
  return (
    <dl class="legend">
      {lines.map(({ label, values }, number) => (
        <div key={label}>
          <dt class={`key s${number}`}>{label}</dt>
          <dd>{format(values[at])}</dd>
        </div>
      ))}
    </dl>
  );
}

type Scale = (value: number) => number;

interface ValueAxisProps extends Pick<ChartProps, 'format'> {
  readonly marks: readonly number[];
  readonly y: Scale;
}

function ValueAxis({ marks, y, format }: ValueAxisProps) {
  return (
    <g class="axis">
      {marks.map((mark) => (
        <g key={mark}>
          <line x1={FRAME.left} x2={WIDTH - FRAME.right} y1={y(mark)} y2={y(mark)} />
          <text x={FRAME.left - 6} y={y(mark)} dy="0.32em" text-anchor="end">
            {format(mark)}
          </text>
        </g>
      ))}
    </g>
  );
}

interface TimeAxisProps {
  readonly now: number;
  readonly span: number;
  readonly x: Scale;
}

function TimeAxis({ now, span, x }: TimeAxisProps) {
  const [start, middle, end] = [span, span / 2, 0].map((ago) => x(now - ago));
  return (
    <g class="axis">
      <text x={start} y={HEIGHT - 6} text-anchor="start">
        {formatDuration(span / 1000)} ago
      </text>
      <text x={middle} y={HEIGHT - 6} text-anchor="middle">
        {formatDuration(span / 2000)}
      </text>
      <text x={end} y={HEIGHT - 6} text-anchor="end">
        now
      </text>
    </g>
  );
}

function Pointer({ time, now, x }: { readonly time: number; readonly now: number; x: Scale }) {
  const place = x(time);
  const isLeft = place < WIDTH / 2;
  return (
    <g class="pointer">
      <line x1={place} x2={place} y1={FRAME.top} y2={HEIGHT - FRAME.bottom} />
      <text x={place + (isLeft ? 5 : -5)} y={FRAME.top + 8} text-anchor={isLeft ? 'start' : 'end'}>
        {formatDuration((now - time) / 1000)} ago
      </text>
    </g>
  );
}
