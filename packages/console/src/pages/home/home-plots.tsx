// Plots of what happened lately, each with its figures as a table, and in words.

import { Link } from "@tanstack/react-router";
import { Section } from "../../components/page-head.tsx";
import { BarPlot } from "../../components/plots/bar-plot.tsx";
import { LinePlot } from "../../components/plots/line-plot.tsx";
import { Plot } from "../../components/plots/plot.tsx";
import { highestOf, sumsOf } from "../../components/plots/plot-scale.ts";
import { Time } from "../../components/time.tsx";
import { timeOfDay } from "../../format/ages.ts";
import { counted, numberText, t } from "../../texts/text.tsx";
import { changeLines } from "./change-words.ts";
import { CountedKeyName } from "./counted-key-name.tsx";
import { AGES, type KeyCounts, WEEKS } from "./key-counts.ts";
import type { Activity, Change, CountedKey } from "./use-activity.ts";

const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;
/** Fewer minutes are drawn with as much room as these would take. */
const FEWEST_MINUTES = 30;
const TICKS = 6;

export function HomePlots({
  counts,
  activity,
}: {
  readonly counts: KeyCounts;
  readonly activity: Activity | undefined;
}) {
  return (
    <>
      {activity !== undefined && (
        <Section title={t("home.activity")} lead={t("home.activity.lead")}>
          <div className="plots">
            <Requests activity={activity} />
            <Watches activity={activity} />
            <MostUsed keys={activity.used} />
            <Changes changes={activity.changes} />
          </div>
        </Section>
      )}
      {counts.valid > 0 && (
        <Section title={t("home.keys")} lead={t("home.keys.lead")}>
          <div className="plots">
            <KeyEnds ends={counts.ends} />
            <KeyAges ages={counts.ages} />
          </div>
        </Section>
      )}
    </>
  );
}

const total = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);

/** Minutes from before the server started count as none. */
function padded(counts: readonly number[]): readonly number[] {
  const missing = Math.max(0, FEWEST_MINUTES - counts.length);
  return missing === 0 ? counts : [...Array.from({ length: missing }, () => 0), ...counts];
}

/** The first minute that is drawn, in milliseconds. */
const drawnFrom = ({ from, requests }: Activity): number =>
  Date.parse(from) - Math.max(0, FEWEST_MINUTES - requests.length) * MINUTE_MS;

function ticksOf(activity: Activity): readonly string[] {
  const from = drawnFrom(activity);
  const minutes = Math.max(activity.requests.length, FEWEST_MINUTES);
  return Array.from({ length: TICKS }, (_, at) => timeOfDay(from + ((minutes - 1) * MINUTE_MS * at) / (TICKS - 1)));
}

/** A row for each hour since `from`, with one sum for each of `series`. */
function hourRows(activity: Activity, sum: (hour: number) => readonly number[]): readonly [string, ...number[]][] {
  const hours = Math.ceil(activity.requests.length / HOUR_MINUTES);
  return Array.from({ length: hours }, (_, hour) => [
    timeOfDay(Date.parse(activity.from) + hour * HOUR_MINUTES * MINUTE_MS),
    ...sum(hour),
  ]);
}

function Requests({ activity }: { readonly activity: Activity }) {
  const { requests, refused, failed } = activity;
  const lines = [
    { tone: "accent", label: t("home.requests"), values: padded(requests) },
    { tone: "bad", label: t("home.refused"), values: padded(refused) },
    ...(total(failed) > 0 ? [{ tone: "warn", label: t("home.failed"), values: padded(failed) } as const] : []),
  ] as const;
  const words = { requests: total(requests), refused: total(refused) };
  return (
    <Plot
      title={t("home.requests.title")}
      sum={counted("home.requests.sum", words.requests, words)}
      table={() => {
        const sums = [requests, refused, failed].map((counts) => sumsOf(counts, HOUR_MINUTES));
        return {
          columns: [t("home.hour"), t("home.requests"), t("home.refused"), t("home.failed")],
          rows: hourRows(activity, (hour) => sums.map((counts) => counts[hour] ?? 0)),
        };
      }}
    >
      <LinePlot label={t("home.requests.words", words)} lines={lines} ticks={ticksOf(activity)} />
    </Plot>
  );
}

function Watches({ activity }: { readonly activity: Activity }) {
  const { watches, openWatches } = activity;
  const most = highestOf(watches);
  return (
    <Plot
      title={t("home.watches.title")}
      sum={t("home.watches.sum", { count: openWatches })}
      table={() => ({
        columns: [t("home.hour"), t("home.watches.most")],
        rows: hourRows(activity, (hour) => [highestOf(watches.slice(hour * HOUR_MINUTES, (hour + 1) * HOUR_MINUTES))]),
      })}
    >
      <LinePlot
        label={t("home.watches.words", { count: openWatches, most })}
        lines={[{ tone: "accent", label: t("home.watches.title"), values: padded(watches) }]}
        ticks={ticksOf(activity)}
      />
    </Plot>
  );
}

const USED = 8;

function MostUsed({ keys }: { readonly keys: readonly CountedKey[] }) {
  const shown = keys.slice(0, USED);
  const [first] = shown;
  return (
    <article className="card plot">
      <h3>{t("home.used")}</h3>
      {first === undefined && <p className="muted">{t("home.used.none")}</p>}
      <ol className="ranking">
        {shown.map((key) => (
          <li key={key.id}>
            <span className="ranking-name">
              <CountedKeyName of={key} />
            </span>
            <meter min={0} max={first?.count ?? 1} value={key.count} aria-label={counted("home.used.of", key.count)} />
            <span className="ranking-count">{numberText(key.count)}</span>
          </li>
        ))}
      </ol>
    </article>
  );
}

const CHANGES = 10;

function Changes({ changes }: { readonly changes: readonly Change[] }) {
  const lines = changeLines(changes);
  return (
    <article className="card plot">
      <h3>{t("home.changes")}</h3>
      {lines.length === 0 && <p className="muted">{t("home.changes.none")}</p>}
      <ul className="changes">
        {lines.slice(0, CHANGES).map(({ id, at, user, words }) => (
          <li key={id}>
            <span>
              <strong>{user}</strong> {words}
            </span>
            <span className="muted">
              <Time at={at} otherwise="" />
            </span>
          </li>
        ))}
      </ul>
      <Link to="/audit">{t("home.changes.all")}</Link>
    </article>
  );
}

/** The weeks that a phone has room for. */
const TICKED_WEEKS: ReadonlySet<number> = new Set([1, 4, 8, 12]);

function KeyEnds({ ends }: { readonly ends: KeyCounts["ends"] }) {
  const bars = ends.map((count, at) => {
    if (at === WEEKS) return { label: t("home.ends.later"), tick: t("home.ends.later.short"), count } as const;
    if (at === WEEKS + 1)
      return { label: t("key.neverExpires"), tick: t("home.ends.never.short"), count, tone: "warn" } as const;
    const tone = at === 0 ? ("bad" as const) : ("accent" as const);
    return {
      label: t("home.ends.week", { week: at + 1 }),
      tick: TICKED_WEEKS.has(at + 1) ? `${at + 1}` : "",
      count,
      tone,
    };
  });
  return (
    <Plot title={t("home.ends")} hint={t("home.ends.hint")} table={() => tableOf(t("field.expires"), bars)}>
      <BarPlot label={t("home.ends.words", { soon: ends[0] ?? 0, never: ends[WEEKS + 1] ?? 0 })} bars={bars} />
    </Plot>
  );
}

function KeyAges({ ages }: { readonly ages: KeyCounts["ages"] }) {
  const bars = ages.map((count, at) => {
    const days = AGES[at];
    const label = days === undefined ? t("home.ages.older") : counted("home.ages.days", days);
    return { label, tick: days === undefined ? t("home.ages.older.short") : t("home.ages.short", { days }), count };
  });
  return (
    <Plot title={t("home.ages")} hint={t("home.ages.hint")} table={() => tableOf(t("home.ages.column"), bars)}>
      <BarPlot label={t("home.ages.words", { older: ages.at(-1) ?? 0 })} bars={bars} />
    </Plot>
  );
}

const tableOf = (first: string, bars: readonly { readonly label: string; readonly count: number }[]) => ({
  columns: [first, t("keys.title")],
  rows: bars.map(({ label, count }) => [label, count] as [string, number]),
});
