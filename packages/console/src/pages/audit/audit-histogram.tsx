// The found requests over time. A part of the time is chosen in it, with the pointer or the keyboard, and searched alone.

import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { AuditCounts } from "../../api/audit-search.ts";
import { Plot } from "../../components/plots/plot.tsx";
import { highestOf } from "../../components/plots/plot-scale.ts";
import { dayText, shortTime, timeOfDay } from "../../format/ages.ts";
import { counted, t } from "../../texts/text.tsx";

const DAY_MS = 86_400_000;
const TICKS = 5;

/** From one bar to another, both included. */
type Range = { readonly anchor: number; readonly end: number };

export function AuditHistogram(props: {
  readonly counts: AuditCounts;
  /** Whether only changes were searched for. */
  readonly isOfChanges: boolean;
  /** RFC 3339. */
  readonly onSelect: (since: string, until: string) => void;
}) {
  const { counts, isOfChanges, onSelect } = props;
  const { requests, refused } = counts;
  const from = Date.parse(counts.from);
  const step = (Date.parse(counts.until) - from) / requests.length;
  const timeAt = (part: number): number => Math.round(from + part * step);
  const [range, setRange] = useState<Range>();
  const [focused, setFocused] = useState(requests.length - 1);
  const isDragged = useRef(false);
  const box = useRef<HTMLFieldSetElement>(null);
  const most = Math.max(highestOf(requests), 1);
  const total = (list: readonly number[]): number => list.reduce((sum, each) => sum + each, 0);
  const words = { requests: total(requests), refused: total(refused) };
  const tickOf = (at: number): string => (step * requests.length > 2 * DAY_MS ? dayText(at) : timeOfDay(at));

  const select = ({ anchor, end }: Range): void => {
    setRange(undefined);
    onSelect(
      new Date(timeAt(Math.min(anchor, end))).toISOString(),
      new Date(timeAt(Math.max(anchor, end) + 1)).toISOString(),
    );
  };
  const partAt = ({ clientX }: PointerEvent): number => {
    const { left = 0, width = 1 } = box.current?.getBoundingClientRect() ?? {};
    return Math.min(Math.max(Math.floor(((clientX - left) / width) * requests.length), 0), requests.length - 1);
  };
  const onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    isDragged.current = true;
    // Not in every browser, and of no use without a pointer that moves.
    box.current?.setPointerCapture?.(event.pointerId);
    setRange({ anchor: partAt(event), end: partAt(event) });
  };
  const onMove = (event: PointerEvent): void => {
    if (isDragged.current && range !== undefined) setRange({ ...range, end: partAt(event) });
  };
  const onUp = (event: PointerEvent): void => {
    if (!isDragged.current || range === undefined) return;
    isDragged.current = false;
    select({ ...range, end: partAt(event) });
  };
  const onKey = (event: KeyboardEvent): void => {
    const last = requests.length - 1;
    const to = {
      ArrowLeft: Math.max(focused - 1, 0),
      ArrowRight: Math.min(focused + 1, last),
      Home: 0,
      End: last,
    }[event.key];
    if (to !== undefined) {
      setRange(event.shiftKey ? { anchor: range?.anchor ?? focused, end: to } : undefined);
      setFocused(to);
      box.current?.querySelectorAll("button")[to]?.focus();
    } else if (event.key === "Enter" || event.key === " ") select(range ?? { anchor: focused, end: focused });
    else if (event.key === "Escape") setRange(undefined);
    else return;
    event.preventDefault();
  };
  const isIn = (part: number): boolean =>
    range !== undefined && part >= Math.min(range.anchor, range.end) && part <= Math.max(range.anchor, range.end);
  return (
    <Plot
      title={t("audit.plot")}
      isSection
      sum={counted(isOfChanges ? "audit.sum.changes" : "home.requests.sum", words.requests, words)}
      hint={t("audit.plot.hint")}
      table={() => ({
        columns: [t("audit.plot.from"), t("home.requests"), t("home.refused")],
        rows: requests.map((count, part) => [shortTime(timeAt(part)), count, refused[part] ?? 0]),
      })}
    >
      <fieldset
        className="histogram"
        ref={box}
        aria-label={t("home.requests.words", words)}
        onPointerDown={onDown}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onKeyDown={onKey}
      >
        {requests.map((count, part) => (
          <button
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a time stay in their order
            key={part}
            type="button"
            tabIndex={part === focused ? 0 : -1}
            className={isIn(part) ? "chosen" : undefined}
            aria-label={t("audit.plot.part", {
              from: shortTime(timeAt(part)),
              until: shortTime(timeAt(part + 1)),
              requests: count,
              refused: refused[part] ?? 0,
            })}
            title={t("audit.plot.part", {
              from: shortTime(timeAt(part)),
              until: shortTime(timeAt(part + 1)),
              requests: count,
              refused: refused[part] ?? 0,
            })}
            onFocus={() => setFocused(part)}
          >
            <span style={{ height: count === 0 ? "1px" : `${Math.max((count / most) * 100, 4)}%` }}>
              <span style={{ height: `${((refused[part] ?? 0) / Math.max(count, 1)) * 100}%` }} />
            </span>
          </button>
        ))}
      </fieldset>
      <div className="plot-ticks" aria-hidden="true">
        {Array.from({ length: TICKS }, (_, tick) => from + (step * requests.length * tick) / (TICKS - 1)).map((at) => (
          <span key={at}>{tickOf(at)}</span>
        ))}
      </div>
    </Plot>
  );
}
