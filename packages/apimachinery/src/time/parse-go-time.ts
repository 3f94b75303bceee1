// Parses times in the two layouts of Kubernetes as Go does, with Go's error messages.
// Source: time (Parse), k8s.io/apimachinery/pkg/apis/meta/v1/{time,micro_time}.go

type GoTime =
  | {
      /** In UTC, as Kubernetes writes it: to the second, or to the microsecond. */
      readonly text: string;
    }
  | { readonly fault: string };

type Precision = "second" | "microsecond";

const LAYOUTS: { readonly [precision in Precision]: string } = {
  second: "2006-01-02T15:04:05Z07:00",
  microsecond: "2006-01-02T15:04:05.000000Z07:00",
};

/** Text that a part of the layout takes, and the range of the number in it. */
type Part = {
  readonly layout: string;
  readonly pattern: RegExp;
  readonly range?: readonly [least: number, most: number, what: string];
};

const DATE_AND_TIME: readonly Part[] = [
  { layout: "2006", pattern: /^\d{4}/ },
  { layout: "-", pattern: /^-/ },
  { layout: "01", pattern: /^\d{2}/, range: [1, 12, "month"] },
  { layout: "-", pattern: /^-/ },
  { layout: "02", pattern: /^\d{2}/ },
  { layout: "T", pattern: /^T/ },
  { layout: "15", pattern: /^\d{1,2}/, range: [0, 23, "hour"] },
  { layout: ":", pattern: /^:/ },
  { layout: "04", pattern: /^\d{2}/, range: [0, 59, "minute"] },
  { layout: ":", pattern: /^:/ },
  { layout: "05", pattern: /^\d{2}/, range: [0, 59, "second"] },
];
const MICROSECONDS: Part = { layout: ".000000", pattern: /^[.,]\d{6}/ };
/** Taken also where the layout has no place for it. */
const FRACTION: Part = { layout: "", pattern: /^(?:[.,]\d+)?/ };
const ZONE: Part = { layout: "Z07:00", pattern: /^(?:Z|[+-]\d{2}:\d{2})/ };

export function parseGoTime(text: string, precision: Precision): GoTime {
  const faultOf = (why: string): GoTime => ({ fault: `parsing time ${JSON.stringify(text)}${why}` });
  const values: string[] = [];
  let rest = text;
  for (const { layout, pattern, range } of [...DATE_AND_TIME, precision === "second" ? FRACTION : MICROSECONDS, ZONE]) {
    const found = pattern.exec(rest)?.[0];
    if (found === undefined) {
      return faultOf(
        ` as ${JSON.stringify(LAYOUTS[precision])}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(layout)}`,
      );
    }
    if (range !== undefined && (Number(found) < range[0] || Number(found) > range[1])) {
      return faultOf(`: ${range[2]} out of range`);
    }
    values.push(found);
    rest = rest.slice(found.length);
  }
  if (rest !== "") return faultOf(`: extra text: ${JSON.stringify(rest)}`);
  const [year = "", , month = "", , day = "", , hour = "", , minute = "", , second = "", fraction = "", zone = ""] =
    values;
  if (Number(day) < 1 || Number(day) > daysIn(Number(year), Number(month))) return faultOf(": day out of range");
  const [offsetHours = 0, offsetMinutes = 0] = zone === "Z" ? [] : zone.slice(1).split(":").map(Number);
  if (offsetHours > 24) return faultOf(": time zone offset hour out of range");
  if (offsetMinutes > 60) return faultOf(": time zone offset minute out of range");
  const time = new Date(`${year}-${month}-${day}T${hour.padStart(2, "0")}:${minute}:${second}Z`);
  const offset = (offsetHours * 60 + offsetMinutes) * (zone.startsWith("-") ? -1 : 1);
  const inUtc = new Date(time.getTime() - offset * 60_000).toISOString().slice(0, 19);
  return { text: `${inUtc}${precision === "second" ? "" : `.${fraction.slice(1)}`}Z` };
}

const daysIn = (year: number, month: number): number =>
  new Date(Date.UTC(year < 100 ? year + 400 : year, month, 0)).getUTCDate();
