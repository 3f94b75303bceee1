// `postern generator list` and `get`: print kubeconfig generators, and the credential of each virtual cluster of one.

import type { GeneratedCluster, KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { collectionPath } from "@postern/client/resource-client";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { LIST_FORMATS, type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { cellText, printFields, printRows, printTable, TABLE_MEDIA_TYPE } from "../output/print-table.ts";
import { generatorsAddress, generatorsOf, namedGenerator, type ProjectFlags, withProjectOption } from "./generators.ts";

type Flags = ConnectionFlags & OutputFlags & ProjectFlags;

export const createGeneratorListCommand = (context: CommandContext): Command =>
  withProjectOption(
    withOutputOption(new Command("list").description("list the kubeconfig generators of a project"), LIST_FORMATS),
  ).action((flags: Flags) =>
    withClient(flags, context, async (client, group) => {
      if (flags.output === "table") {
        const path = collectionPath(generatorsAddress(group, flags));
        const text = printTable(await client.request({ method: "GET", path, accept: TABLE_MEDIA_TYPE }));
        if (text === "") context.stderr.write(`no kubeconfig generators in project ${flags.project}\n`);
        else context.stdout.write(text);
        return;
      }
      const { items } = await generatorsOf(client, group, flags).list();
      const names = items.map(({ metadata }) => metadata.name ?? "");
      // Objects of an API are JSON; their type describes each member.
      writeAs(flags, items as readonly object[] as JsonValue, context, names);
    }),
  );

export const createGeneratorGetCommand = (context: CommandContext): Command =>
  withProjectOption(
    withOutputOption(
      new Command("get")
        .description("show a kubeconfig generator, and the state of each virtual cluster")
        .argument("<name>", "name of the generator, or <project>/<name>"),
    ),
  ).action((given: string, options: Flags) => {
    const { name, flags } = namedGenerator(given, options);
    return withClient(flags, context, async (client, group) => {
      const generator = await generatorsOf(client, group, flags).get(name);
      if (writeAs(flags, generator as object as JsonValue, context)) return;
      const { clusters = [] } = generator.status ?? {};
      context.stdout.write(printFields(fieldsOf(generator)));
      if (clusters.length > 0) context.stdout.write(`\n${printRows(HEADINGS, clusters.map(rowOf))}`);
    });
  });

function fieldsOf({ metadata, spec, status = {} }: KubeconfigGenerator): readonly (readonly [string, string])[] {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return [
    ["name", metadata.name ?? ""],
    ["secret", `${metadata.namespace ?? ""}/${spec.secretRef.name}`],
    ["format", spec.format ?? "Kubeconfig"],
    ["role", spec.role ?? ""],
    ["creator", status.creator?.name ?? ""],
    ["access key", status.accessKey ?? ""],
    ["state", ready?.status === "True" ? "Ready" : (ready?.reason ?? "Pending")],
    ["message", ready?.message ?? ""],
  ];
}

const HEADINGS = ["virtual cluster", "state", "secret", "access key", "expires"];

function rowOf({ name, secret, accessKey, expirationTimestamp, conditions = [] }: GeneratedCluster): readonly string[] {
  const ready = conditions.find(({ type }) => type === "Ready");
  const state = ready?.status === "True" ? "Ready" : (ready?.reason ?? "Pending");
  return [name, state, secret, accessKey, expirationTimestamp].map((value) => cellText(value ?? ""));
}
