// `--namespace-prefix`: the prefix of project namespaces.

import type { Command } from "commander";

export const DEFAULT_NAMESPACE_PREFIX = "p-";

export const withNamespacePrefixOption = (command: Command): Command =>
  command.option("--namespace-prefix <prefix>", "prefix of project namespaces", DEFAULT_NAMESPACE_PREFIX);
