// Values over time as lines in one box: the first is filled.

import { numberText } from "../../texts/text.tsx";
import { highestOf, pointsOf, roundUp } from "./plot-scale.ts";

const WIDTH = 600;
const HEIGHT = 100;

export type Line = {
  readonly tone: "accent" | "bad" | "warn";
  readonly label: string;
  readonly values: readonly number[];
};

/** `label`: the plot in words. `ticks`: texts below, at equal distances from the first value to the last. */
export function LinePlot(props: {
  readonly label: string;
  readonly lines: readonly Line[];
  readonly ticks: readonly string[];
}) {
  const { label, lines, ticks } = props;
  const end = roundUp(Math.max(...lines.map(({ values }) => highestOf(values))));
  return (
    <div className="plot-box">
      <span className="plot-end" aria-hidden="true">
        {numberText(end)}
      </span>
      <svg className="plot-drawing" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img">
        <title>{label}</title>
        <path className="plot-grid" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
        {lines.map(({ tone, label: name, values }, at) => {
          const points = pointsOf(values, end, WIDTH, HEIGHT);
          return (
            <g key={name} className={`plot-line ${tone}`}>
              {at === 0 && values.length > 0 && (
                <polygon points={`${firstX(points)},${HEIGHT} ${points} ${lastX(points)},${HEIGHT}`} />
              )}
              {highestOf(values) > 0 && <polyline points={points} />}
            </g>
          );
        })}
      </svg>
      <div className="plot-ticks" aria-hidden="true">
        {ticks.map((tick) => (
          <span key={tick}>{tick}</span>
        ))}
      </div>
      {lines.length > 1 && (
        <ul className="plot-legend" aria-hidden="true">
          {lines.map(({ tone, label: name }) => (
            <li key={name} className={tone}>
              {name}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const firstX = (points: string): string => points.slice(0, points.indexOf(","));
const lastX = (points: string): string => points.slice(points.lastIndexOf(" ") + 1, points.lastIndexOf(","));
