// A duration as the AGE column prints it: two units at most, coarser the longer it is.
// Source: k8s.io/apimachinery/pkg/util/duration/duration.go

const SECONDS_PER_MINUTE = 60;
const SECONDS_PER_HOUR = 3600;

/** `8s`, `5m`, `3h4m`, `2d3h`, `2y1d`. Up to two seconds in the future are "0s", more is `<invalid>`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / SECONDS_PER_MINUTE);
  if (minutes < 10) return twoUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(seconds / SECONDS_PER_HOUR);
  if (hours < 8) return twoUnits(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return twoUnits(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  if (years < 8) return twoUnits(years, "y", days % 365, "d");
  return `${years}y`;
}

const twoUnits = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
