// Generates the reference of the configuration from the catalogue.

import { CATALOGUE_ENTRIES, CONFIG_ENVIRONMENT_NAME } from "./catalogue.ts";

/** A Markdown page with every option. */
export function renderReference(): string {
  const rows = CATALOGUE_ENTRIES.map(({ path, environmentName, option }) =>
    [
      `\`--${option.flag}${option.placeholder === "" ? "" : ` ${option.placeholder}`}\``,
      `\`${environmentName}\``,
      `\`${path}\``,
      option.defaultText === ""
        ? ""
        : /[ (]/.test(option.defaultText)
          ? textOf(option.defaultText)
          : `\`${option.defaultText}\``,
      textOf(`${option.description}.`),
    ].map((cell) => cell.replaceAll("|", "\\|")),
  );
  return [
    "# Configuration",
    "",
    "<!-- Written by tools/generate-config-reference.ts from packages/platform/src/foundation/config/options; do not edit. -->",
    "",
    "Set an option as a flag of `postern serve`, as an environment variable, or in a YAML file that `--config` or",
    `\`${CONFIG_ENVIRONMENT_NAME}\` names. Flags take precedence over environment variables, and these over the file. Unknown names are`,
    "refused in all three; variables of commands, such as `POSTERN_URL`, are left alone.",
    "",
    "In the file, dots in a key are nesting. Flag names work at the top level, too:",
    "",
    "```yaml",
    "bindAddress: 0.0.0.0",
    "externalHostname: postern.example.com",
    "platform:",
    "  domain: example.com",
    "audit-log-maxsize: 200",
    "```",
    "",
    "Relative paths are relative to the directory in which the server is started.",
    "",
    "| Flag | Environment | Key | Default | Meaning |",
    "|---|---|---|---|---|",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
    "",
  ].join("\n");
}

/** Outside of code, `<file>` would be an element of HTML, which no reader sees. */
const textOf = (text: string): string => text.replaceAll(/`[^`]*`|</g, (part) => (part === "<" ? "\\<" : part));
