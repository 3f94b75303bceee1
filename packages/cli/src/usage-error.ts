// An error that the user can fix with another command line.

/** The message is one line, and complete. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
