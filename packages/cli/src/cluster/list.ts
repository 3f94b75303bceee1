// `postern cluster list`: prints the clusters, with their agents.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { collectionPath } from "@postern/client/resource-client";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { LIST_FORMATS, type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { printTable, TABLE_MEDIA_TYPE } from "../output/print-table.ts";
import { clustersAddress, clustersOf } from "./clusters.ts";

export const createClusterListCommand = (context: CommandContext): Command =>
  withOutputOption(
    new Command("list").description("list the clusters, and whether their agents are connected"),
    LIST_FORMATS,
  ).action((flags: ConnectionFlags & OutputFlags) =>
    withClient(flags, context, async (client, group) => {
      if (flags.output === "table") {
        const path = collectionPath(clustersAddress(group));
        const table = await client.request({ method: "GET", path, accept: TABLE_MEDIA_TYPE });
        // The agent and its distance are columns for wide output.
        const text = printTable(table, { isWide: true });
        if (text === "") context.stderr.write("no clusters\n");
        else context.stdout.write(text);
        return;
      }
      const { items } = await clustersOf(client, group).list();
      // Objects of an API are JSON; their type describes each member.
      const names = items.map(({ metadata }) => metadata.name ?? "");
      writeAs(flags, items as readonly object[] as JsonValue, context, names);
    }),
  );
