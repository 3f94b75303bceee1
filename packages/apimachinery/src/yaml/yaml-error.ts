// The refusal of a text that is not YAML or goes past a limit.

/** The message begins with `yaml: ` and may be shown to the client. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}
