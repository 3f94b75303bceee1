// `postern key create`: makes an access key and prints it.

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { Command, InvalidArgumentError } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output-option.ts";
import { UsageError } from "../usage-error.ts";
import { parseVirtualCluster, type VirtualClusterName } from "../virtual-cluster-name.ts";
import { accessKeysOf } from "./access-keys.ts";

type CreateFlags = ConnectionFlags &
  OutputFlags & {
    readonly displayName?: string;
    readonly description?: string;
    readonly ttl?: number;
    readonly ttlAfterLastActivity?: boolean;
    readonly user?: string;
    readonly team?: string;
    readonly group?: readonly string[];
    readonly secretRef?: SecretName;
    readonly project?: readonly string[];
    readonly virtualCluster?: readonly VirtualClusterName[];
    readonly space?: readonly VirtualClusterName[];
    readonly cluster?: readonly string[];
    readonly role?: readonly string[];
    readonly verb?: readonly string[];
    readonly resource?: readonly string[];
    readonly namespace?: readonly string[];
  };

type SecretName = { readonly namespace: string; readonly name: string };

export const createKeyCreateCommand = (context: CommandContext): Command =>
  withOutputOption(
    new Command("create")
      .description("create an access key and print it; it is never shown again")
      .argument("[name]", "name of the key; the server makes one up if absent")
      .option("--display-name <text>", "name that people see")
      .option("--description <text>", "what the key is for")
      .option("--ttl <duration>", "TTL, such as 90m, 12h or 30d", parseDurationSeconds)
      .option("--ttl-after-last-activity", "the TTL counts from the last use of the key")
      .option("--user <name>", "user the key is for, instead of yourself")
      .option("--team <name>", "team the key is for, instead of yourself")
      .option("--group <name>", "additional group for requests made with the key; may be repeated", collect(asIs))
      .option(
        "--secret-ref <namespace/name>",
        "Secret that receives the value, now and after each rotation",
        parseSecret,
      )
      .option("--project <name>", "limit the key to a project; may be repeated", collect(asIs))
      .option(
        "--virtual-cluster <project/name>",
        "limit the key to a virtual cluster; may be repeated",
        collect(parseVirtualCluster),
      )
      .option("--space <project/name>", "limit the key to a space; may be repeated", collect(parseVirtualCluster))
      .option("--cluster <name>", "limit the key to a cluster; may be repeated", collect(asIs))
      .option("--role <name>", "limit the key to a role of access keys, such as platform-cli", collect(asIs))
      .option("--verb <verb,...>", "allow these verbs alone, such as get,list,watch", collectList)
      .option("--resource <resource,...>", "allow these resources alone: pods, pods/log, deployments.apps", collectList)
      .option("--namespace <name,...>", "allow these namespaces alone", collectList),
  ).action((name: string | undefined, flags: CreateFlags) =>
    withClient(flags, context, async (client, group) => {
      const created = await accessKeysOf(client, group).create(toAccessKey(`${group}/v1`, name, flags));
      // Objects of an API are JSON; their type says so member by member.
      if (!writeAs(flags, created as KubeObject as JsonValue, context)) {
        context.stdout.write(`${created.spec?.key ?? ""}\n`);
      }
      context.stderr.write(`access key ${created.metadata.name} created; keep it now, it is not shown again\n`);
    }),
  );

function toAccessKey(apiVersion: string, name: string | undefined, flags: CreateFlags): JsonObject {
  const { displayName, description, ttl, ttlAfterLastActivity, user, team, group, secretRef } = flags;
  if (ttlAfterLastActivity === true && ttl === undefined) {
    throw new UsageError("--ttl-after-last-activity needs a --ttl to count");
  }
  return {
    apiVersion,
    kind: "OwnedAccessKey",
    metadata: name === undefined ? {} : { name },
    spec: {
      displayName,
      description,
      ttl,
      ttlAfterLastActivity,
      user,
      team,
      groups: group,
      secretRef,
      type: "User",
      scope: scopeOf(flags),
      rules: ruleOf(flags),
    },
  };
}

function scopeOf({ project, virtualCluster, space, cluster, role }: CreateFlags): JsonObject | undefined {
  const scope = {
    projects: project?.map((name) => ({ project: name })),
    virtualClusters: virtualCluster,
    spaces: space?.map(({ project, virtualCluster: name }) => ({ project, space: name })),
    clusters: cluster?.map((name) => ({ cluster: name })),
    roles: role?.map((name) => ({ role: name })),
  };
  return Object.values(scope).every((list) => list === undefined) ? undefined : scope;
}

/** One rule of all that the flags say, as `kubectl create role` makes one. */
function ruleOf({ verb, resource, namespace }: CreateFlags): JsonObject[] | undefined {
  if (verb === undefined && resource === undefined && namespace === undefined) return undefined;
  const groups = new Map<string, string[]>();
  for (const text of resource ?? []) {
    const { group, name } = parseResource(text);
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  return [
    { verbs: verb, resources: [...groups].map(([group, resources]) => ({ group, resources })), namespaces: namespace },
  ];
}

/** `deployments.apps/scale` is the subresource scale of deployments in the group apps. */
function parseResource(text: string): { readonly group: string; readonly name: string } {
  const [resource = "", ...subresource] = text.split("/");
  const [plural = "", ...group] = resource.split(".");
  return { group: group.join("."), name: [plural, ...subresource].join("/") };
}

function parseSecret(text: string): SecretName {
  const [namespace = "", name = "", ...rest] = text.split("/");
  if (namespace === "" || name === "" || rest.length > 0) throw new InvalidArgumentError("Write namespace/name.");
  return { namespace, name };
}

const asIs = (text: string): string => text;

const collect =
  <T>(parse: (text: string) => T) =>
  (text: string, before: readonly T[] = []): readonly T[] => [...before, parse(text)];

const collectList = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...text.split(","),
];
