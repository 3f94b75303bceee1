// Progress of long commands: a single line on a terminal, occasional lines elsewhere.

import type { Output } from "../command-context.ts";

/** A phase of a command, and its progress. */
export type ProgressStep = {
  /** Such as `copying`. */
  readonly phase: string;
  readonly unit: string;
  readonly done: number;
  /** Undefined if unknown. */
  readonly total?: number | undefined;
};

export type Progress = Disposable & { report(step: ProgressStep): void };

const REDRAW_MS = 100;
/** Shorter phases are not logged. */
const LINE_MS = 10_000;
/** Percent between two lines, if the total is known. */
const LINE_STEP = 10;
const CLEAR = "\r\u001b[K";

/** Disposed when the command has finished, before it prints its result. */
export function createProgress(deps: {
  readonly stderr: Output;
  /** With output for programs, progress lines are left out; a terminal still shows them. */
  readonly isForPrograms?: boolean;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}): Progress {
  const { stderr, isForPrograms = false, now = () => performance.now() } = deps;
  const isTerminal = stderr.isTTY === true;
  const output = stderr.raw ?? stderr;
  let phase = "";
  let startedAt = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let reportedShare = 0;
  let isReported = false;
  let last: ProgressStep | undefined;

  const write = (step: ProgressStep): void => {
    const line = textOf(step, (now() - startedAt) / 1000);
    output.write(isTerminal ? `${CLEAR}${line}` : `${line}\n`);
    reportedAt = now();
    reportedShare = shareOf(step) ?? 0;
    isReported = true;
  };
  const isDue = (step: ProgressStep): boolean => {
    if (isTerminal) return now() - reportedAt >= REDRAW_MS;
    if (isForPrograms || now() - startedAt < LINE_MS) return false;
    return now() - reportedAt >= LINE_MS || (shareOf(step) ?? 0) >= reportedShare + LINE_STEP;
  };
  /** Logs the end of a phase that was announced. */
  const finish = (): void => {
    if (last !== undefined && isReported && !isTerminal) write(last);
    last = undefined;
    isReported = false;
  };
  return {
    report(step) {
      if (step.phase !== phase) {
        finish();
        phase = step.phase;
        startedAt = now();
        reportedAt = isTerminal ? Number.NEGATIVE_INFINITY : now();
        reportedShare = 0;
      }
      last = step;
      if (!isDue(step)) return;
      write(step);
      // Already logged: the end of the phase adds nothing.
      if (!isTerminal) last = undefined;
    },
    [Symbol.dispose]() {
      const wasShown = isTerminal && isReported;
      finish();
      if (wasShown) output.write(CLEAR);
    },
  };
}

const shareOf = ({ done, total }: ProgressStep): number | undefined =>
  total === undefined || total <= 0 ? undefined : Math.min(100, (100 * done) / total);

/** Such as `copying: 12,000 of 100,000 entries, 12 %, 3,400/s, 26 s left`. */
function textOf(step: ProgressStep, seconds: number): string {
  const { phase, unit, done, total } = step;
  const amount = (value: number): string => (unit === "bytes" ? bytes(value) : `${grouped(value)}`);
  const of = total === undefined ? "" : ` of ${amount(total)}`;
  const rate = seconds > 0 ? done / seconds : 0;
  const share = shareOf(step);
  const parts = [
    `${amount(done)}${of}${unit === "bytes" ? "" : ` ${unit}`}`,
    ...(share === undefined ? [] : [`${Math.floor(share)} %`]),
    ...(rate > 0 ? [`${amount(Math.round(rate))}/s`] : []),
    ...(rate > 0 && total !== undefined && total > done ? [`${duration((total - done) / rate)} left`] : []),
  ];
  return `${phase}: ${parts.join(", ")}`;
}

const grouped = (value: number): string => Math.round(value).toLocaleString("en-US");

const bytes = (value: number): string =>
  value < 1 << 20 ? `${Math.ceil(value / 1024)} KiB` : `${(value / (1 << 20)).toFixed(1)} MiB`;

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 90) return `${whole} s`;
  return whole < 5400 ? `${Math.round(whole / 60)} min` : `${Math.round(whole / 3600)} h`;
}
