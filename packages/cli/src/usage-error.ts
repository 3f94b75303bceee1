// What a person can mend by another command line.

/** The message is one line, complete for that person. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
