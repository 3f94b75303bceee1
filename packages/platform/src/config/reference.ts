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
          ? option.defaultText
          : `\`${option.defaultText}\``,
      `${option.description}.`,
    ].map((cell) => cell.replaceAll("|", "\\|")),
  );
  return [
    "# Configuration",
    "",
    "<!-- Written by tools/generate-config-reference.ts from packages/platform/src/config/options; do not edit. -->",
    "",
    "Every option can be given as a flag of `postern serve`, as an environment variable, or in a YAML file named by",
    `\`--config\` or \`${CONFIG_ENVIRONMENT_NAME}\`. A flag outweighs the environment, the environment the file, and the file the`,
    "default. Unknown names are refused in all three.",
    "",
    "In the file an option stands under its key, with dots as nesting; its flag name at the top level works as well:",
    "",
    "```yaml",
    "bindAddress: 0.0.0.0",
    "externalHostname: postern.example.com",
    "platform:",
    "  domain: example.com",
    "audit-log-maxsize: 200",
    "```",
    "",
    "Relative file names count from the directory the server is started in.",
    "",
    "| Flag | Environment | Key | Default | Meaning |",
    "|---|---|---|---|---|",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
    "",
  ].join("\n");
}
