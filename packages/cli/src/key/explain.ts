// `postern key explain`: whether an access key may do something, and what it was used for.

import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { listAt, objectAt } from "../output/json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { printFields } from "../output/print-table.ts";
import { UsageError } from "../usage-error.ts";
import { accessKeysOf } from "./access-keys.ts";

type ExplainFlags = ConnectionFlags & OutputFlags & { readonly path?: string; readonly method?: string };

export const createKeyExplainCommand = (context: CommandContext): Command =>
  withOutputOption(
    new Command("explain")
      .description("explain what an access key may do and why not, and suggest the narrowest scope for its use so far")
      .argument("<name>", "name of the key")
      .option("--path <path>", "path of a request to check, such as /apis (default: only show how the key was used)")
      .option("--method <method>", "HTTP method of that request (default: GET)"),
  ).action((name: string, flags: ExplainFlags) => {
    const { path, method } = flags;
    if (method !== undefined && path === undefined) throw new UsageError("--method requires --path");
    return withClient(flags, context, async (client, group) => {
      const answer = await accessKeysOf(client, group).createSubresource(name, "explain", {
        kind: "OwnedAccessKeyExplanation",
        spec: { path, method },
      });
      const status = objectAt(answer, "status");
      if (writeAs(flags, status, context)) return;
      context.stdout.write(
        printFields([...state(status), ...judgement(status), ...remedies(status), ...usage(status)]),
      );
    });
  });

type Fields = readonly (readonly [string, string])[];

const state = ({ refusal }: JsonObject): Fields => [["Key", refusal === undefined ? "good" : `refused: ${refusal}`]];

const remedies = (status: JsonObject): Fields =>
  listAt(status, "remedies").map((remedy): [string, string] => ["Remedy", String(remedy)]);

function judgement(status: JsonObject): Fields {
  const { allowed, request } = status;
  if (allowed === undefined) return [];
  return [
    ["Request", String(request ?? "")],
    ["Allowed", allowed === true ? "yes" : "no"],
    ...listAt(status, "steps").map((step): [string, string] => {
      const { step: name, passed, reason } = isJsonObject(step) ? step : {};
      const why = reason === undefined || reason === "" ? "" : `: ${reason}`;
      return [`  ${name}`, `${passed === true ? "allowed" : "refused"}${why}`];
    }),
  ];
}

/** An empty scope counts, too: for a key that was only used for what every valid key may do. */
const EMPTY = "{}, because no recorded usage needs a scope";

function usage(status: JsonObject): Fields {
  const { usedSince, leastScope, isUsageComplete } = status;
  const seen = `since ${usedSince}${isUsageComplete === false ? "; the key was used for more than the server records" : ""}`;
  return [
    ["Usage recorded", seen],
    [
      "Narrowest scope",
      isJsonObject(leastScope) && Object.keys(leastScope).length > 0 ? JSON.stringify(leastScope) : EMPTY,
    ],
    ...listAt(status, "beyondScopes").map((use): [string, string] => ["Needs rules", String(use)]),
    ...listAt(status, "uses").flatMap((use) => (isJsonObject(use) ? [usedFor(use)] : [])),
  ];
}

/** Such as `get, list pods/log in virtual cluster shop/dev`. */
function usedFor(use: JsonObject): [string, string] {
  const { apiGroup, resource } = use;
  const group = apiGroup === "" ? "" : `.${apiGroup}`;
  const target = Object.entries(objectAt(use, "target")).map(([list, entries]) => {
    const [entry] = isJsonArray(entries) ? entries : [];
    const names = isJsonObject(entry) ? Object.values(entry).join("/") : "";
    return ` in ${TARGETS[list] ?? list} ${names}`;
  });
  return ["Used for", `${listAt(use, "verbs").join(", ")} ${resource}${group}${target.join("")}`];
}

const TARGETS: { readonly [list: string]: string } = {
  virtualClusters: "virtual cluster",
  spaces: "space",
  clusters: "cluster",
};
