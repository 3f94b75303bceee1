// An error that another command line can fix.

/** The message is one line, complete for that person. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
