// `postern key create`: makes an access key and prints it.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { parseVirtualCluster, type VirtualClusterName } from "../virtual-cluster-name.ts";
import { accessKeysOf } from "./access-keys.ts";

type CreateFlags = ConnectionFlags & {
  readonly displayName?: string;
  readonly ttl?: number;
  readonly user?: string;
  readonly team?: string;
  readonly project?: readonly string[];
  readonly virtualCluster?: readonly VirtualClusterName[];
};

export const createKeyCreateCommand = (context: CommandContext): Command =>
  new Command("create")
    .description("create an access key and print it; it is never shown again")
    .argument("[name]", "name of the key; the server makes one up if absent")
    .option("--display-name <text>", "name that people see")
    .option("--ttl <duration>", "life, such as 90m, 12h or 30d", parseDurationSeconds)
    .option("--user <name>", "user the key is for, instead of yourself")
    .option("--team <name>", "team the key is for, instead of yourself")
    .option(
      "--project <name>",
      "limit the key to a project; may be repeated",
      collect((text) => text),
    )
    .option(
      "--virtual-cluster <project/name>",
      "limit the key to a virtual cluster; may be repeated",
      collect(parseVirtualCluster),
    )
    .action((name: string | undefined, flags: CreateFlags) =>
      withClient(flags, context, async (client, group) => {
        const created = await accessKeysOf(client, group).create(toAccessKey(`${group}/v1`, name, flags));
        context.stdout.write(`${created.spec?.key ?? ""}\n`);
        context.stderr.write(`access key ${created.metadata.name} created; keep it now, it is not shown again\n`);
      }),
    );

function toAccessKey(apiVersion: string, name: string | undefined, flags: CreateFlags): JsonObject {
  const { displayName, ttl, user, team, project, virtualCluster } = flags;
  const isScoped = project !== undefined || virtualCluster !== undefined;
  return {
    apiVersion,
    kind: "OwnedAccessKey",
    metadata: name === undefined ? {} : { name },
    spec: {
      displayName,
      ttl,
      user,
      team,
      type: "User",
      scope: isScoped
        ? { projects: project?.map((name) => ({ project: name })), virtualClusters: virtualCluster }
        : undefined,
    },
  };
}

const collect =
  <T>(parse: (text: string) => T) =>
  (text: string, before: readonly T[] = []): readonly T[] => [...before, parse(text)];
