// An error that keeps the server from starting: one line that says what is wrong and how to correct it.

/** The message is complete for a person at a terminal: no stack is shown with it. Secrets never stand in it. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}
