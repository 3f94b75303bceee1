// Writes the log as JSON lines, with an allowlist of fields that contain no secrets.

import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import { type DestinationStream, pino, stdTimeFunctions } from "pino";
import type { LogFields, Logger, LogLevel } from "./logger.ts";

const ALLOWED: { readonly [field in keyof Required<LogFields>]: true } = {
  error: true,
  auditId: true,
  method: true,
  uri: true,
  verb: true,
  resource: true,
  namespace: true,
  name: true,
  status: true,
  durationMs: true,
  stallMs: true,
  processorMs: true,
  cause: true,
  requests: true,
  user: true,
  credential: true,
  sourceIp: true,
  userAgent: true,
  component: true,
  check: true,
  address: true,
  port: true,
  count: true,
  leftOut: true,
  revision: true,
};

/** How many errors behind an error are written. */
const MAX_CAUSES = 5;

export type LoggerOptions = {
  readonly level?: LogLevel | "silent";
  /** Default: standard error. */
  readonly destination?: DestinationStream;
};

/**
 * Writes JSON lines with the known fields alone, so that no object comes into the log as a whole. `level` is the least one that is written, by
 * default `info`.
 */
export function createLogger({ level = "info", destination }: LoggerOptions = {}): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: allowedFields },
  };
  return pino(options, destination ?? pino.destination(2));
}

function allowedFields(fields: object): { [field: string]: unknown } {
  const allowed: { [field: string]: unknown } = {};
  for (const [field, value] of Object.entries(fields)) {
    if (!Object.hasOwn(ALLOWED, field)) continue;
    if (field === "error") allowed[field] = describeError(value, MAX_CAUSES);
    else if (typeof value === "string") allowed[field] = redactCredentials(value);
    else if (typeof value === "number") allowed[field] = value;
  }
  return allowed;
}

const logged = new WeakSet<Error>();

/** Whether a line of a log of this process has the error, or names it as a cause. */
export const wasLogged = (error: Error): boolean => logged.has(error);

/** Name, text and stack; an error's other properties may hold anything. */
function describeError(error: unknown, causes: number): object {
  if (!(error instanceof Error)) return { name: typeof error, message: "not an Error" };
  logged.add(error);
  return {
    name: error.name,
    message: redactCredentials(error.message),
    ...(error.stack === undefined ? {} : { stack: redactCredentials(error.stack) }),
    ...(error.cause === undefined || causes === 0 ? {} : { cause: describeError(error.cause, causes - 1) }),
  };
}
