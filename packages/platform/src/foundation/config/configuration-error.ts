// An error that keeps the server from starting: one line with the cause and the fix.

/** The message is complete for a person at a terminal: no stack is shown with it. Secrets never stand in it. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}
