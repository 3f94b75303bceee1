// `postern key`: creates, lists and revokes the caller's access keys.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ApiClient } from "@postern/client/api-client";
import { collectionPath, createResourceClient } from "@postern/client/resource-client";
import { Command, InvalidArgumentError } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "./connection-options.ts";
import { parseDurationSeconds } from "./duration-seconds.ts";
import { printTable, TABLE_MEDIA_TYPE } from "./print-table.ts";

type OwnedAccessKey = KubeObject & { readonly spec?: { readonly key?: string } };
type VirtualClusterScope = { readonly project: string; readonly virtualCluster: string };
type CreateFlags = ConnectionFlags & {
  readonly displayName?: string;
  readonly ttl?: number;
  readonly user?: string;
  readonly team?: string;
  readonly project?: readonly string[];
  readonly virtualCluster?: readonly VirtualClusterScope[];
};

export function createKeyCommand(context: CommandContext): Command {
  const key = new Command("key").description("manage your access keys");

  const create = new Command("create")
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
      collect(parseScope),
    )
    .action((name: string | undefined, flags: CreateFlags) =>
      withClient(flags, context, async (client, group) => {
        const created = await keysOf(client, group).create(toAccessKey(`${group}/v1`, name, flags));
        context.stdout.write(`${created.spec?.key ?? ""}\n`);
        context.stderr.write(`access key ${created.metadata.name} created; keep it now, it is not shown again\n`);
      }),
    );

  const list = new Command("list").description("list your access keys").action((flags: ConnectionFlags) =>
    withClient(flags, context, async (client, group) => {
      const table = await client.request({
        method: "GET",
        path: collectionPath(addressOf(group)),
        accept: TABLE_MEDIA_TYPE,
      });
      const text = printTable(table);
      if (text === "") context.stderr.write("no access keys\n");
      else context.stdout.write(text);
    }),
  );

  const revoke = new Command("revoke")
    .description("delete access keys; they stop working at once")
    .argument("<name...>", "names of the keys")
    .action((names: readonly string[], flags: ConnectionFlags) =>
      withClient(flags, context, async (client, group) => {
        for (const name of names) {
          await keysOf(client, group).delete(name);
          context.stdout.write(`access key ${name} revoked\n`);
        }
      }),
    );

  for (const command of [create, list, revoke]) key.addCommand(withConnectionOptions(command));
  return key;
}

const addressOf = (group: string) => ({ group, version: "v1", resource: "ownedaccesskeys" });
const keysOf = (client: ApiClient, group: string) => createResourceClient<OwnedAccessKey>(client, addressOf(group));

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

function parseScope(text: string): VirtualClusterScope {
  const [project = "", virtualCluster = "", ...rest] = text.split("/");
  if (project === "" || virtualCluster === "" || rest.length > 0) {
    throw new InvalidArgumentError("Write project/name, such as default/demo.");
  }
  return { project, virtualCluster };
}

const collect =
  <T>(parse: (text: string) => T) =>
  (text: string, before: readonly T[] = []): readonly T[] => [...before, parse(text)];
