// `postern complete-names`: prints the names that completion scripts offer. Without a platform there are none, which is no error for a shell.

import type { ApiClient } from "@postern/client/api-client";
import { loadKubeconfig } from "@postern/client/load-kubeconfig";
import { createResourceClient } from "@postern/client/resource-client";
import { Argument, Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "../connection-options.ts";
import { listPlatforms } from "../login/platforms.ts";
import { DEFAULT_NAMESPACE_PREFIX } from "../serve/namespace-prefix-option.ts";
import { NAME_KINDS, type NameKind } from "./command-tree.ts";

/** A shell cannot show more. */
const MOST_NAMES = 500;

export const createCompleteNamesCommand = (context: CommandContext): Command =>
  withConnectionOptions(new Command("complete-names"))
    .description("print names for completion scripts, of the platform that the flags name")
    .addArgument(new Argument("<kind>").choices(NAME_KINDS))
    .action(async (kind: NameKind, flags: ConnectionFlags) => {
      const names = await namesOf(kind, flags, context).catch(() => []);
      // A name that is no word would be several, or a part of the script; one that begins with a hyphen, an option.
      for (const name of names) if (/^[\w./:@][\w./:@-]*$/.test(name)) context.stdout.write(`${name}\n`);
    });

async function namesOf(kind: NameKind, flags: ConnectionFlags, context: CommandContext): Promise<readonly string[]> {
  const { environment } = context;
  if (kind === "logins") return (await listPlatforms(environment)).map(({ name }) => name);
  if (kind === "contexts") {
    const { kubeconfig: path } = flags;
    return [...(await loadKubeconfig({ environment, ...(path === undefined ? {} : { path }) })).contexts.keys()];
  }
  const quiet = { ...context, stderr: { write: () => true } };
  return await withClient(flags, quiet, (client, group) => platformNames(kind, client, group));
}

const RESOURCES = {
  keys: "ownedaccesskeys",
  "virtual-clusters": "virtualclusterinstances",
  spaces: "spaceinstances",
  clusters: "clusters",
  projects: "projects",
  generators: "kubeconfiggenerators",
} as const;

async function platformNames(
  kind: keyof typeof RESOURCES,
  client: ApiClient,
  group: string,
): Promise<readonly string[]> {
  const resource = createResourceClient(client, { group, version: "v1", resource: RESOURCES[kind] });
  const { items } = await resource.list({ limit: MOST_NAMES });
  return items.map(({ metadata: { namespace = "", name = "" } }) =>
    namespace.startsWith(DEFAULT_NAMESPACE_PREFIX)
      ? `${namespace.slice(DEFAULT_NAMESPACE_PREFIX.length)}/${name}`
      : name,
  );
}
