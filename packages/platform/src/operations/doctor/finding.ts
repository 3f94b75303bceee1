// A finding of the doctor.

export type Finding = {
  /** Name of the check, such as `certificate`. */
  readonly check: string;
  /** An error keeps the installation from working, or will; a warning should be looked at; skipped could not be known. */
  readonly status: "ok" | "warning" | "error" | "skipped";
  /** A sentence without a period. It contains no secrets. */
  readonly message: string;
  /** Remedy, as an order; absent where there is nothing to do. */
  readonly remedy?: string;
};

export const AS_SERVER_USER = "run the doctor as the user that runs the server";

/** `remedy`, unless the file with this error is of another user: there is nothing to restore or to move away then. */
export const remedyOf = (code: string | undefined, remedy: string): string =>
  code === "EACCES" || code === "EPERM" ? AS_SERVER_USER : remedy;

export const ok = (check: string, message: string): Finding => ({ check, status: "ok", message });
export const skipped = (check: string, message: string, remedy?: string): Finding => ({
  check,
  status: "skipped",
  message,
  ...(remedy === undefined ? {} : { remedy }),
});
export const warning = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: "warning",
  message,
  remedy,
});
export const fault = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: "error",
  message,
  remedy,
});
