// The kubeconfig generators of a project, for the commands below `postern generator`.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceAddress, type ResourceClient } from "@postern/client/resource-client";
import type { Command } from "commander";
import { withNamespacePrefixOption } from "../namespace-prefix-option.ts";

export type ProjectFlags = { readonly project: string; readonly namespacePrefix: string };

const DEFAULT_PROJECT = "default";

export const withProjectOption = (command: Command): Command =>
  withNamespacePrefixOption(command.option("--project <name>", "project of the generator", DEFAULT_PROJECT));

export const generatorsAddress = (group: string, { project, namespacePrefix }: ProjectFlags): ResourceAddress => ({
  ...{ group, version: "v1", resource: "kubeconfiggenerators" },
  namespace: `${namespacePrefix}${project}`,
});

/** The server's schema describes the objects. */
export const generatorsOf = (
  client: ApiClient,
  group: string,
  flags: ProjectFlags,
): ResourceClient<KubeconfigGenerator> =>
  createResourceClient<KubeconfigGenerator>(client, generatorsAddress(group, flags));
