// The port through which the server writes its log.

/** Fields of a line beside its text. Only the fields of this type are ever written: a secret has no field to be in. */
export type LogFields = {
  readonly error?: unknown;
  readonly auditId?: string;
  readonly method?: string;
  /** Without the values of unknown query parameters: see `safeRequestUri`. */
  readonly uri?: string;
  readonly verb?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly status?: number;
  readonly durationMs?: number;
  readonly user?: string;
  /** The public handle of the credential. */
  readonly credential?: string;
  readonly sourceIp?: string;
  readonly userAgent?: string;
  readonly component?: string;
  readonly check?: string;
  readonly address?: string;
  readonly port?: number;
  readonly count?: number;
  /** Lines of the same reason that were not written before this one. */
  readonly leftOut?: number;
  readonly revision?: number;
  readonly stallMs?: number;
  readonly processorMs?: number;
  readonly cause?: string;
  /** Verbs and kinds, each with its audit ID. */
  readonly requests?: string;
};

/** Takes the lines of the log. Pass your own to `createApiServer` to send them elsewhere. */
export type Logger = {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** Whether lines of this level go anywhere, so that costly fields need not be built. */
  isLevelEnabled(level: LogLevel): boolean;
};

export type LogLevel = "debug" | "info" | "warn" | "error";

const ignore = (): void => undefined;

export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  isLevelEnabled: () => false,
};
