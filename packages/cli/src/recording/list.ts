// `postern recording list`: the recordings of the server that answers.

import { RECORDINGS_PATH, type SessionRecordingItem } from "@postern/api/session-recording";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { Command } from "commander";
import { parseTime } from "../audit/audit-search.ts";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { withNotes } from "../help/help.ts";
import { listAt } from "../json-members.ts";
import { LIST_FORMATS, type OutputFlags, withOutputOption, writeAs } from "../output-option.ts";
import { printRows } from "../print-table.ts";

type ListFlags = ConnectionFlags &
  OutputFlags & {
    readonly user?: string;
    readonly project?: string;
    readonly pod?: string;
    readonly since?: number;
    readonly until?: number;
  };

export const createRecordingListCommand = (context: CommandContext): Command =>
  withOutputOption(
    withNotes(
      new Command("list")
        .description("list recordings, the newest first")
        .option("--user <name>", "sessions of this user")
        .option("--project <name>", "sessions in virtual clusters and spaces of this project")
        .option("--pod <name>", "sessions in pods of this name")
        .option(
          "--since <time>",
          "sessions that began since then: a duration such as 24h, or a time such as 2026-01-31T08:00:00Z",
          parseTime,
        )
        .option("--until <time>", "sessions that began before then", parseTime),
      "Of several servers with a directory each, the one that answers lists its own recordings.",
    ),
    LIST_FORMATS,
  ).action((flags: ListFlags) =>
    withClient(flags, context, async (client) => {
      const { user, project, pod } = flags;
      const query = { user, project, pod, since: isoTime(flags.since), until: isoTime(flags.until) };
      const found = await client.request({ method: "GET", path: RECORDINGS_PATH, query });
      // The server writes its own type.
      const items = listAt(found, "items") as unknown as readonly SessionRecordingItem[];
      if (isJsonObject(found) && found["isTruncated"] === true)
        context.stderr.write(`only the newest ${items.length} recordings; --until shows older ones\n`);
      if (
        writeAs(
          flags,
          listAt(found, "items"),
          context,
          items.map(({ name }) => name),
        )
      )
        return;
      if (items.length === 0) context.stderr.write("no recordings\n");
      else context.stdout.write(printRows(["Name", "User", "Pod", "Command", "Start", "Duration"], items.map(rowOf)));
    }),
  );

const isoTime = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString();

const MAX_COMMAND = 40;

function rowOf(item: SessionRecordingItem): readonly string[] {
  const { name, user, project, instance, cluster, namespace, pod, subresource, command, startTime } = item;
  const where = [project, instance === "" ? cluster : instance, namespace, pod].filter((part) => part !== "");
  const words = subresource === "attach" ? "<attach>" : command.join(" ");
  const shown = words.length > MAX_COMMAND ? `${words.slice(0, MAX_COMMAND)}…` : words;
  return [name, user, where.join("/"), shown, startTime, `${item.durationSeconds}s${item.complete ? "" : "+"}`];
}
