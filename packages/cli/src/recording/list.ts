// `postern recording list`: the recordings of the server that answers.

import { RECORDINGS_PATH, type SessionRecordingItem, type SessionRecordingList } from "@postern/api/session-recording";
import type { ApiClient } from "@postern/client/api-client";
import { Command, InvalidArgumentError } from "commander";
import { parseTime } from "../audit/audit-search.ts";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { withNotes } from "../help/help.ts";
import { LIST_FORMATS, type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { printRows } from "../output/print-table.ts";

type ListFlags = ConnectionFlags &
  OutputFlags & {
    readonly user?: string;
    readonly project?: string;
    readonly pod?: string;
    readonly since?: number;
    readonly until?: number;
    readonly limit: number;
  };

const DEFAULT_LIMIT = 500;
/** As servers limit one list. */
const MAX_PAGE = 5_000;
const MAX_LIMIT = 1_000_000;

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
        .option("--until <time>", "sessions that began before then", parseTime)
        .option("--limit <number>", "at most so many recordings", parseLimit, DEFAULT_LIMIT),
      "Of several servers with a directory each, the one that answers lists its own recordings.",
    ),
    LIST_FORMATS,
  ).action((flags: ListFlags) =>
    withClient(flags, context, async (client) => {
      const { user, project, pod } = flags;
      const query = { user, project, pod, since: isoTime(flags.since), until: isoTime(flags.until) };
      const { items, isWhole } = await listRecordings(client, query, flags.limit);
      if (!isWhole)
        context.stderr.write(`only the newest ${items.length} recordings; --limit and --until show older ones\n`);
      const names = items.map(({ name }) => name);
      if (writeAs(flags, items, context, names)) return;
      if (items.length === 0) context.stderr.write("no recordings\n");
      else
        context.stdout.write(
          printRows(["Name", "User", "Pod", "Command", "Start", "Duration", "State"], items.map(rowOf)),
        );
    }),
  );

type Query = { readonly [parameter: string]: string | undefined };

/** The newest `limit`, in as many requests as that takes. */
async function listRecordings(client: ApiClient, query: Query, limit: number) {
  const items: SessionRecordingItem[] = [];
  let next: string | undefined;
  do {
    const page = { ...query, continue: next, limit: String(Math.min(limit - items.length, MAX_PAGE)) };
    // The server writes its own type.
    const list = (await client.request({ method: "GET", path: RECORDINGS_PATH, query: page })) as SessionRecordingList;
    items.push(...list.items);
    next = list.continue;
  } while (next !== undefined && items.length < limit);
  return { items, isWhole: next === undefined };
}

function parseLimit(text: string): number {
  const limit = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw new InvalidArgumentError(`Write a number from 1 to ${MAX_LIMIT}.`);
  return limit;
}

const isoTime = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString();

const MAX_COMMAND = 40;

function rowOf(item: SessionRecordingItem): readonly string[] {
  const { name, user, project, instance, cluster, namespace, pod, subresource, command, startTime } = item;
  const where = [project, instance === "" ? cluster : instance, namespace, pod].filter((part) => part !== "");
  const words = subresource === "attach" ? "<attach>" : command.join(" ");
  const shown = words.length > MAX_COMMAND ? `${words.slice(0, MAX_COMMAND)}…` : words;
  return [name, user, where.join("/"), shown, startTime, `${item.durationSeconds}s`, item.state];
}
