import type { Position } from '../model/positions.js';
import { linear } from '../model/scale.js';

/** How large a picture is, in pixels of the page. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** What is drawn, in the coordinates of the picture. */
export interface Drawing {
  readonly positions: readonly Position[];
  /** The colour of each position, a number. */
  readonly groupOf: readonly number[] | undefined;
  readonly selected: Position | undefined;
  readonly neighbours: readonly Position[];
}

const PADDING = 24;
const RADIUS = 3.5;
const NEIGHBOUR_RADIUS = 5;
const SELECTED_RADIUS = 7;

/** From the coordinates of a projection to those of a picture, with the same scale both ways. */
export function fitting(
  positions: readonly Position[],
  { width, height }: Size,
): (position: Position) => Position {
  const [left, right] = range(positions.map(([x]) => x));
  const [low, high] = range(positions.map(([, y]) => y));
  const scale = Math.min(
    (width - 2 * PADDING) / (right - left || 1),
    (height - 2 * PADDING) / (high - low || 1),
  );
  const x = around(width / 2, (left + right) / 2, scale);
  const y = around(height / 2, (low + high) / 2, -scale);
  return ([a, b]) => [x(a), y(b)];
}

function around(middle: number, centre: number, scale: number): (value: number) => number {
  return linear([centre, centre + 1], [middle, middle + scale]);
}

function range(values: readonly number[]): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return values.length === 0 ? [0, 0] : [least, most];
}

/** Draws points, the neighbours of the one that is selected, and a line to each of them. */
export function draw(canvas: HTMLCanvasElement, { width, height }: Size, drawing: Drawing): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const ratio = window.devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  const colour = coloursOf(canvas);
  const { positions, groupOf, selected, neighbours } = drawing;

  context.globalAlpha = selected === undefined ? 0.8 : 0.4;
  for (const [at, position] of positions.entries()) {
    context.fillStyle = colour(`--series-${groupOf?.[at] ?? 0}`);
    disc(context, position, RADIUS);
  }
  context.globalAlpha = 1;
  if (selected === undefined) return;

  context.strokeStyle = colour('--muted');
  for (const position of neighbours) {
    context.beginPath();
    context.moveTo(...selected);
    context.lineTo(...position);
    context.stroke();
  }
  context.strokeStyle = colour('--card');
  context.lineWidth = 1.5;
  context.fillStyle = colour('--text');
  for (const position of neighbours) ringed(context, position, NEIGHBOUR_RADIUS);
  context.strokeStyle = colour('--text');
  context.lineWidth = 3;
  context.fillStyle = colour('--accent');
  ringed(context, selected, SELECTED_RADIUS);
}

/** The colours of the style sheet, which knows whether it is dark. */
function coloursOf(element: Element): (name: string) => string {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name);
}

function disc(context: CanvasRenderingContext2D, [x, y]: Position, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function ringed(context: CanvasRenderingContext2D, position: Position, radius: number): void {
  disc(context, position, radius);
  context.stroke();
}
