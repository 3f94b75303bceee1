// Schedules of CronJobs: the next time after a given one, in the time zone of the CronJob.
// Source: github.com/robfig/cron (parser.go, spec.go)

export type CronSchedule = {
  /** The first time after `after`, in milliseconds of the day's clock. Undefined: there is none within five years. */
  next(after: number): number | undefined;
};

type Field = { readonly min: number; readonly max: number; readonly names?: readonly string[] };
const MINUTE: Field = { min: 0, max: 59 };
const HOUR: Field = { min: 0, max: 23 };
const DAY: Field = { min: 1, max: 31 };
const MONTH: Field = {
  min: 1,
  max: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAY: Field = { min: 0, max: 6, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

const DESCRIPTORS: { readonly [name: string]: string } = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const UNITS: { readonly [unit: string]: number } = { ns: 1e-6, us: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Days that are looked at: a schedule may name one that no year has. */
const MOST_DAYS = 5 * 366;

/** Undefined where it is not a schedule. Without a zone its times are those of UTC. */
export function parseCron(schedule: string, timeZone?: string): CronSchedule | undefined {
  const every = /^@every ((?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+)$/.exec(schedule)?.[1];
  if (every !== undefined) return constantDelay(every);
  const fields = (DESCRIPTORS[schedule] ?? schedule).trim().split(/\s+/);
  const kinds = [MINUTE, HOUR, DAY, MONTH, WEEKDAY];
  const sets = kinds.map((kind, index) => parseField(fields[index] ?? "", kind));
  const [minutes, hours, days, months, weekdays] = sets;
  if (!minutes || !hours || !days || !months || !weekdays || fields.length !== kinds.length) return undefined;
  const offsetAt = offsetsOf(timeZone);
  if (offsetAt === undefined) return undefined;
  const isAny = (field = "") => /^[*?]/.test(field);
  const eitherDay = !isAny(fields[2]) && !isAny(fields[4]);
  return spec({ minutes, hours, days, months, weekdays, eitherDay }, offsetAt);
}

function constantDelay(text: string): CronSchedule {
  const parts = text.split(/(?<=[a-z])(?=\d)/);
  const unitOf = (part: string): string => part.replace(/^[\d.]*/, "");
  const total = parts.reduce((sum, part) => sum + Number.parseFloat(part) * (UNITS[unitOf(part)] ?? 0), 0);
  const delay = Math.max(1_000, Math.floor(total / 1_000) * 1_000);
  return { next: (after) => Math.floor(after / 1_000) * 1_000 + delay };
}

/** The values that a field allows. */
function parseField(text: string, { min, max, names = [] }: Field): ReadonlySet<number> | undefined {
  const values = new Set<number>();
  const numberOf = (part: string): number => {
    const named = names.indexOf(part.toLowerCase());
    return named >= 0 ? named + min : /^\d+$/.test(part) ? Number(part) : Number.NaN;
  };
  for (const range of text.split(",")) {
    const [span = "", step] = range.split("/");
    const [low = "", high] = span.split("-");
    const isAll = low === "*" || low === "?";
    const start = isAll ? min : numberOf(low);
    const end = isAll || (high === undefined && step !== undefined) ? max : numberOf(high ?? low);
    const by = step === undefined ? 1 : Number(step);
    if (!(start >= min && end <= max && start <= end && by >= 1)) return undefined;
    for (let value = start; value <= end; value += by) values.add(value);
  }
  return values;
}

type Fields = {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Days of the month and of the week are both named: one of them has to match. */
  readonly eitherDay: boolean;
};

/** Times on the clock of the zone are worked with as if they were those of UTC. */
function spec(fields: Fields, offsetAt: (time: number) => number): CronSchedule {
  const { minutes, hours, days, months, weekdays, eitherDay } = fields;
  const isDay = (date: Date): boolean => {
    const [inMonth, inWeek] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
    return months.has(date.getUTCMonth() + 1) && (eitherDay ? inMonth || inWeek : inMonth && inWeek);
  };
  return {
    next(after) {
      const from = Math.floor(after / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
      const first = from + offsetAt(from);
      let day = Math.floor(first / DAY_MS) * DAY_MS;
      for (let count = 0; count < MOST_DAYS; count++, day += DAY_MS) {
        if (!isDay(new Date(day))) continue;
        for (const hour of hours) {
          if (day + (hour + 1) * HOUR_MS <= first) continue;
          for (const minute of minutes) {
            const time = atWallTime(day + hour * HOUR_MS + minute * MINUTE_MS, from, offsetAt);
            if (time !== undefined) return time;
          }
        }
      }
      return undefined;
    },
  };
}

/** When the clock of the zone shows this, at `from` or later. Undefined: before that, or never, since the clock is put forward over it. */
function atWallTime(wall: number, from: number, offsetAt: (time: number) => number): number | undefined {
  const guesses = [wall - offsetAt(wall - DAY_MS), wall - offsetAt(wall + DAY_MS)].toSorted((a, b) => a - b);
  return guesses.find((time) => time >= from && time + offsetAt(time) === wall);
}

/** Milliseconds by which the clock of a zone is before that of UTC; undefined where the zone is not known. */
function offsetsOf(timeZone: string | undefined): ((time: number) => number) | undefined {
  if (timeZone === undefined || timeZone === "UTC" || timeZone === "Etc/UTC") return () => 0;
  let format: Intl.DateTimeFormat;
  try {
    const numeric = "numeric";
    format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    });
  } catch {
    // A RangeError is how Node says that it does not know the zone.
    return undefined;
  }
  return (time) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1_000) * 1_000;
  };
}

/** The last time in (`after`, `until`]; undefined if there is none. */
export function lastTime(schedule: CronSchedule, after: number, until: number): number | undefined {
  const isBetween = (time: number | undefined): time is number => time !== undefined && time <= until;
  let found = schedule.next(after);
  if (!isBetween(found)) return undefined;
  // There is a time after `low`, and none after `high`.
  let low = found;
  let high = until;
  const second = schedule.next(low);
  if (!isBetween(second)) return found;
  while (high - low > 1_000) {
    const middle = Math.floor((low + high) / 2);
    const time = schedule.next(middle);
    if (isBetween(time)) {
      found = time;
      low = time;
    } else high = middle;
  }
  const last = schedule.next(low);
  return isBetween(last) ? last : found;
}
