// Numbers of a few classes as bars beside each other.

import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { barHeights, highestOf } from "./plot-scale.ts";

const HEIGHT = 100;
/** Width of a bar, and of its part of the drawing. */
const BAR = 8;
const PART = 10;

export type Bar = {
  readonly label: string;
  /** Below the bar; empty where there is no room for all labels. */
  readonly tick: string;
  readonly count: number;
  readonly tone?: "accent" | "bad" | "warn" | "muted";
  /** The part of the count that is drawn as bad. */
  readonly bad?: number;
  /** The page with what the bar counts, and the link to it in words. */
  readonly link?: { readonly to: string; readonly search: { readonly [name: string]: string }; readonly words: string };
};

/** From 1,000 on, a number would reach over the next bar on a phone. The table has it exactly. */
const rounded = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 1 });
const shortNumber = (count: number): string => (count < 1_000 ? String(count) : rounded.format(count));

/** `label`: the plot in words. */
export function BarPlot({ label, bars }: { readonly label: string; readonly bars: readonly Bar[] }) {
  const end = Math.max(highestOf(bars.map(({ count }) => count)), 1);
  return (
    <div className="plot-box">
      <div className="bar-counts" aria-hidden="true">
        {bars.map(({ label: name, count }) => (
          <span key={name}>{count === 0 ? "" : shortNumber(count)}</span>
        ))}
      </div>
      <svg
        className="plot-drawing"
        viewBox={`0 0 ${bars.length * PART} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
      >
        <title>{label}</title>
        {bars.map(({ label: name, count, tone = "accent", bad = 0 }, at) => {
          const { all: height, bad: ofBad } = barHeights(count, bad, end, HEIGHT);
          const place = { x: at * PART + (PART - BAR) / 2, width: BAR };
          return (
            <Fragment key={name}>
              <rect
                className={`plot-bar ${count === 0 ? "none" : tone}`}
                y={HEIGHT - height}
                height={height}
                {...place}
              />
              {bad > 0 && <rect className="plot-bar bad" y={HEIGHT - ofBad} height={ofBad} {...place} />}
            </Fragment>
          );
        })}
      </svg>
      <div className="bar-ticks">
        {bars.map(({ label: name, tick, link }) =>
          link === undefined ? (
            <span key={name} aria-hidden="true">
              {tick}
            </span>
          ) : (
            <Link key={name} to={link.to} search={link.search} aria-label={link.words} title={link.words}>
              {tick}
            </Link>
          ),
        )}
      </div>
    </div>
  );
}
