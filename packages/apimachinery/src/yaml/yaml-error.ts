// The error for text that is not YAML, or that exceeds a limit.

/** The message begins with `yaml: ` and may be shown to the client. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}
