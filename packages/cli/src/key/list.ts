// `postern key list` and `postern key get`: print access keys.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ApiClient, Query } from "@postern/client/api-client";
import { collectionPath } from "@postern/client/resource-client";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { listAt, objectAt, textAt } from "../output/json-members.ts";
import {
  LIST_FORMATS,
  type OutputFlags,
  type OutputFormat,
  withOutputOption,
  writeAs,
} from "../output/output-option.ts";
import { printFields, printTable, TABLE_MEDIA_TYPE } from "../output/print-table.ts";
import { accessKeysAddress, accessKeysOf, ownerOf } from "./access-keys.ts";
import { FULL_SCOPE, ruleWords, scopeWords } from "./scope-words.ts";

type ListFlags = ConnectionFlags &
  OutputFlags & {
    readonly state?: string;
    readonly owner?: string;
    readonly cluster?: string;
    readonly unusedFor?: number;
    readonly all?: boolean;
  };

const FORMATS: readonly OutputFormat[] = ["table", "wide", "json", "yaml", "name"];
const PAGE = 500;

export const createKeyListCommand = (context: CommandContext): Command =>
  withOutputOption(
    new Command("list")
      .description("list your access keys, without those of kubeconfigs")
      .option(
        "--state <state,...>",
        "only keys with one of these in the column STATUS, such as Ready or Disabled,Expired",
      )
      .option("--owner <name>", "only keys of this owner: alice, user/alice or team/web")
      .option(
        "--cluster <name>",
        "only keys whose scope names this virtual cluster (<project>/<name>), its project, or this cluster",
      )
      .option("--unused-for <duration>", "only keys without use for so long, such as 30d", parseDurationSeconds)
      .option("--all", "also keys that were created for kubeconfigs"),
    FORMATS,
  ).action((flags: ListFlags) =>
    withClient(flags, context, async (client, group) => {
      const { columns, rows } = await listRows(client, collectionPath(accessKeysAddress(group)));
      const wanted = rows.filter((row) => matches(row, columns, flags, Date.now()));
      const shown = flags.all === true ? wanted : wanted.filter(({ key }) => !isOfKubeconfig(key));
      const keys = shown.map(({ key }) => key);
      // Objects of an API are JSON; their type describes each member.
      const objects = keys as readonly KubeObject[] as JsonValue;
      if (
        writeAs(
          flags,
          objects,
          context,
          keys.map(({ metadata }) => metadata.name ?? ""),
        )
      )
        return;
      const table = { columnDefinitions: columns, rows: shown.map(({ row }) => row) };
      const text = printTable(table, { isWide: flags.output === "wide" });
      if (text === "")
        context.stderr.write(`no ${hasFilter(flags) ? "such " : ""}access keys${otherStates(rows, columns, flags)}\n`);
      else context.stdout.write(text);
      const hidden = wanted.length - shown.length;
      if (hidden > 0)
        context.stderr.write(`${hidden === 1 ? "1 key" : `${hidden} keys`} of kubeconfigs left out; --all shows all\n`);
    }),
  );

type KeyRow = { readonly row: JsonObject; readonly key: OwnedAccessKey };
type KeyRows = { readonly columns: readonly JsonValue[]; readonly rows: readonly KeyRow[] };

/** In the layout of the server, with the objects. */
async function listRows(client: ApiClient, path: string): Promise<KeyRows> {
  let columns: readonly JsonValue[] = [];
  const rows: KeyRow[] = [];
  let next: string | undefined = "";
  while (next !== undefined) {
    const query: Query = { includeObject: "Object", limit: String(PAGE), ...(next === "" ? {} : { continue: next }) };
    const page: JsonValue = (await client.request({ method: "GET", path, query, accept: TABLE_MEDIA_TYPE })) ?? {};
    if (columns.length === 0) columns = listAt(page, "columnDefinitions");
    // The schema of the server describes the objects of its rows.
    for (const row of listAt(page, "rows"))
      if (isJsonObject(row)) rows.push({ row, key: withMetadata(objectAt(row, "object")) });
    next = textAt(objectAt(page, "metadata"), "continue") || undefined;
  }
  return { columns, rows };
}

const withMetadata = (object: JsonObject): OwnedAccessKey =>
  ({ ...object, metadata: objectAt(object, "metadata") }) as OwnedAccessKey;

const hasFilter = ({ state, owner, cluster, unusedFor }: ListFlags): boolean =>
  [state, owner, cluster, unusedFor].some((filter) => filter !== undefined);

function matches(
  { row, key }: KeyRow,
  columns: readonly JsonValue[],
  { state, owner, cluster, unusedFor }: ListFlags,
  now: number,
): boolean {
  if (state !== undefined && !state.toLowerCase().split(",").includes(stateOf(row, columns).toLowerCase()))
    return false;
  if (owner !== undefined && !isOwnedBy(key, owner)) return false;
  if (cluster !== undefined && !names(key, cluster)) return false;
  return unusedFor === undefined || lastUse(key) <= now - unusedFor * 1000;
}

/** The states that there are, if none is a wanted one: it may be mistyped. */
function otherStates(rows: readonly KeyRow[], columns: readonly JsonValue[], { state }: ListFlags): string {
  const isWanted = (found: string): boolean => state?.toLowerCase().split(",").includes(found.toLowerCase()) ?? true;
  const found = [...new Set(rows.map(({ row }) => stateOf(row, columns)))].sort();
  if (found.length === 0 || found.some(isWanted)) return "";
  return `: STATUS is ${found.join(" or ")}`;
}

/** As the column shows it. */
function stateOf(row: JsonObject, columns: readonly JsonValue[]): string {
  const at = columns.findIndex((column) => textAt(column, "name") === "Status");
  return String(listAt(row, "cells")[at] ?? "");
}

const isOwnedBy = ({ spec }: OwnedAccessKey, owner: string): boolean =>
  (["user", "team", "subject"] as const).some((kind) => {
    const name = spec?.[kind];
    return name !== undefined && name !== "" && (owner === name || owner === `${kind}/${name}`);
  });

/** A key without a scope names no cluster. */
function names({ spec }: OwnedAccessKey, cluster: string): boolean {
  const [project = "", name, ...rest] = cluster.split("/");
  const entries = (list: string): readonly JsonValue[] => listAt(spec?.scope, list);
  const isNamed = (entry: JsonValue, member: string, wanted: string): boolean =>
    [wanted, "*"].includes(textAt(entry, member));
  if (name === undefined) return entries("clusters").some((entry) => isNamed(entry, "cluster", cluster));
  if (rest.length > 0) return false;
  return (
    entries("projects").some((entry) => isNamed(entry, "project", project)) ||
    [...entries("virtualClusters"), ...entries("spaces")].some(
      (entry) =>
        isNamed(entry, "project", project) && (isNamed(entry, "virtualCluster", name) || isNamed(entry, "space", name)),
    )
  );
}

/** Last use, or the creation of an unused key. Milliseconds since the epoch. */
const lastUse = ({ metadata, status }: OwnedAccessKey): number =>
  Date.parse(status?.lastActivity ?? metadata.creationTimestamp ?? "");

/** Like the server names them: after the only virtual cluster in their scope. */
function isOfKubeconfig({ metadata, spec }: OwnedAccessKey): boolean {
  const [only, ...others] = listAt(spec?.scope, "virtualClusters");
  const [project, name] = [textAt(only ?? {}, "project"), textAt(only ?? {}, "virtualCluster")];
  // One may be there several times, with other labels.
  const isSame = others.every(
    (entry) => textAt(entry, "project") === project && textAt(entry, "virtualCluster") === name,
  );
  if (spec?.type !== "Other" || only === undefined || !isSame) return false;
  return metadata.generateName === `${project}-${name}-`;
}

export const createKeyGetCommand = (context: CommandContext): Command =>
  withOutputOption(
    new Command("get").description("print owner, scope and TTL of an access key").argument("<name>", "name of the key"),
    ["text", "wide", ...LIST_FORMATS],
  ).action((name: string, flags: ConnectionFlags & OutputFlags) =>
    withClient(flags, context, async (client, group) => {
      if (flags.output === "table" || flags.output === "wide") {
        const path = `${collectionPath(accessKeysAddress(group))}/${encodeURIComponent(name)}`;
        const table = await client.request({ method: "GET", path, accept: TABLE_MEDIA_TYPE });
        context.stdout.write(printTable(table, { isWide: flags.output === "wide" }));
        return;
      }
      const key = await accessKeysOf(client, group).get(name);
      // As above.
      if (writeAs(flags, key as KubeObject as JsonValue, context, [key.metadata.name ?? ""])) return;
      context.stdout.write(printFields(fieldsOf(key)));
    }),
  );

function fieldsOf({ metadata, spec = {}, status = {} }: OwnedAccessKey): readonly (readonly [string, string])[] {
  return [
    ["Name", metadata.name ?? ""],
    ["Display name", spec.displayName ?? ""],
    ["Description", spec.description ?? ""],
    ["Owner", ownerOf(spec)],
    ["Type", spec.type ?? ""],
    ["Disabled", spec.disabled === true ? "yes" : "no"],
    ["Scope", spec.scope === undefined ? FULL_SCOPE : scopeWords(spec.scope)],
    ...(spec.rules === undefined ? [] : [["Rules", spec.rules.map(ruleWords).join("; ")] as const]),
    ["Created", metadata.creationTimestamp ?? ""],
    ["Expires", status.expirationTimestamp ?? "never"],
    // In the grace period of its deletion.
    ...(metadata.deletionTimestamp == null ? [] : [["Deleted at", metadata.deletionTimestamp] as const]),
    ["Last used", status.lastActivity ?? "never"],
  ];
}
