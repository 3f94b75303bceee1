// The kubeconfig generators of a project, for the commands below `postern generator`.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceAddress, type ResourceClient } from "@postern/client/resource-client";
import type { Command } from "commander";
import { withNamespacePrefixOption } from "../serve/namespace-prefix-option.ts";
import { UsageError } from "../usage-error.ts";

export type ProjectFlags = { readonly project: string; readonly namespacePrefix: string };

const DEFAULT_PROJECT = "default";

export const withProjectOption = (command: Command): Command =>
  withNamespacePrefixOption(command.option("--project <name>", "project of the generator", DEFAULT_PROJECT));

export const generatorsAddress = (group: string, { project, namespacePrefix }: ProjectFlags): ResourceAddress => ({
  group,
  version: "v1",
  resource: "kubeconfiggenerators",
  namespace: `${namespacePrefix}${project}`,
});

/** The project may be written in front of the name, as completion does. Throws UsageError. */
export function namedGenerator<T extends ProjectFlags>(
  given: string,
  flags: T,
): { readonly name: string; readonly flags: T } {
  const [first = "", second, ...rest] = given.split("/");
  if (second === undefined) return { name: given, flags };
  if (first === "" || second === "" || rest.length > 0)
    throw new UsageError(`${given} is no generator: write its name, or <project>/<name>`);
  if (flags.project !== DEFAULT_PROJECT && flags.project !== first)
    throw new UsageError(`${given} names another project than --project ${flags.project}`);
  return { name: second, flags: { ...flags, project: first } };
}

/** The server's schema describes the objects. */
export const generatorsOf = (
  client: ApiClient,
  group: string,
  flags: ProjectFlags,
): ResourceClient<KubeconfigGenerator> =>
  createResourceClient<KubeconfigGenerator>(client, generatorsAddress(group, flags));
