// `postern key list` and `postern key get`: print access keys.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ApiClient } from "@postern/client/api-client";
import { collectionPath, listAll } from "@postern/client/resource-client";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { LIST_FORMATS, type OutputFlags, withOutputOption, writeAs } from "../output-option.ts";
import { printFields, printTable, TABLE_MEDIA_TYPE } from "../print-table.ts";
import { accessKeysAddress, accessKeysOf, type OwnedAccessKey } from "./access-keys.ts";

export const createKeyListCommand = (context: CommandContext): Command =>
  withOutputOption(new Command("list").description("list your access keys"), LIST_FORMATS).action(
    (flags: ConnectionFlags & OutputFlags) =>
      withClient(flags, context, async (client, group) => {
        if (flags.output !== "table") {
          const { items } = await listAll(accessKeysOf(client, group));
          const names = items.map(({ metadata }) => metadata.name ?? "");
          // Objects of an API are JSON; their type describes each member.
          writeAs(flags, items as readonly KubeObject[] as JsonValue, context, names);
          return;
        }
        const text = await tableAt(client, collectionPath(accessKeysAddress(group)));
        if (text === "") context.stderr.write("no access keys\n");
        else context.stdout.write(text);
      }),
  );

export const createKeyGetCommand = (context: CommandContext): Command =>
  withOutputOption(
    new Command("get").description("print owner, scope and TTL of an access key").argument("<name>", "name of the key"),
    ["text", ...LIST_FORMATS],
  ).action((name: string, flags: ConnectionFlags & OutputFlags) =>
    withClient(flags, context, async (client, group) => {
      if (flags.output === "table") {
        const path = `${collectionPath(accessKeysAddress(group))}/${encodeURIComponent(name)}`;
        context.stdout.write(await tableAt(client, path));
        return;
      }
      const key = await accessKeysOf(client, group).get(name);
      // As above.
      if (writeAs(flags, key as KubeObject as JsonValue, context, [key.metadata.name ?? ""])) return;
      context.stdout.write(printFields(fieldsOf(key)));
    }),
  );

/** In the server's layout; "" if it is empty. */
const tableAt = async (client: ApiClient, path: string): Promise<string> =>
  printTable(await client.request({ method: "GET", path, accept: TABLE_MEDIA_TYPE }));

function fieldsOf({ metadata, spec = {}, status = {} }: OwnedAccessKey): readonly (readonly [string, string])[] {
  return [
    ["Name", metadata.name ?? ""],
    ["Display name", spec.displayName ?? ""],
    ["Description", spec.description ?? ""],
    ["Owner", ownerOf(spec)],
    ["Type", spec.type ?? ""],
    ["Disabled", spec.disabled === true ? "yes" : "no"],
    ["Scope", spec.scope === undefined ? "none: all permissions of its owner" : JSON.stringify(spec.scope)],
    ...(spec.rules === undefined ? [] : [["Rules", JSON.stringify(spec.rules)] as const]),
    ["Created", metadata.creationTimestamp ?? ""],
    ["Expires", status.expirationTimestamp ?? "never"],
    // In the grace period of its deletion.
    ...(metadata.deletionTimestamp == null ? [] : [["Deleted at", metadata.deletionTimestamp] as const]),
    ["Last used", status.lastActivity ?? "never"],
  ];
}

function ownerOf({ user, team, subject }: NonNullable<OwnedAccessKey["spec"]>): string {
  if (user !== undefined && user !== "") return `user ${user}`;
  if (team !== undefined && team !== "") return `team ${team}`;
  return subject ?? "";
}
