// The end of a key on a day that a person chooses, as the TTL that the API wants, and in words.

import { dateText, relativeTime } from "../../../format/ages.ts";
import { t } from "../../../texts/text.tsx";

/** The choice of a day in place of a duration. */
export const ON_A_DAY = "day";

/** `day`: `2026-12-24`. The seconds from `from` (milliseconds) to the end of that day in the browser's time zone; 0 where it is over, or no day. */
export function secondsUntil(day: string, from: number): number {
  const [year, month, date] = day.split("-").map(Number);
  if (!year || !month || !date) return 0;
  const end = new Date(year, month - 1, date + 1).getTime();
  return Math.max(0, Math.floor((end - from) / 1_000));
}

/** The TTL as the API has it. `from`: when it begins, in milliseconds. */
export const ttlOf = ({ ttl, day }: { readonly ttl: string; readonly day: string }, from: number): string =>
  ttl === ON_A_DAY ? String(secondsUntil(day, from)) : ttl;

/** As a field for days has it: `2026-12-24`. */
export function dayOf(at: number): string {
  const day = new Date(at);
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}

/** The day on which a duration is over. `begin`: of an existing key; absent: `now`. */
export function endText(
  { ttl, restarts }: { readonly ttl: string; readonly restarts: boolean },
  now: number,
  begin?: number,
): string {
  const seconds = Number(ttl);
  if (ttl === ON_A_DAY || Number.isNaN(seconds) || seconds === 0 || restarts) return t("new.life.hint");
  const end = (begin ?? now) + seconds * 1_000;
  const words = { date: dateText(end), from: relativeTime(end, now) };
  return begin === undefined ? t("new.life.until", words) : t("new.life.counted", words);
}
