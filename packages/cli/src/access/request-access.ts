// `postern access request`: asks for access, and waits for its approval.

import { setTimeout as pause } from "node:timers/promises";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { type OutputFlags, writeAs } from "../output/output-option.ts";
import { plainText } from "../output/plain-text.ts";
import { UsageError } from "../usage-error.ts";
import { parseVirtualCluster, type VirtualClusterName } from "../virtual-cluster-name.ts";
import { accessRequestsOf, asRequest, stateText } from "./access-requests.ts";

type RequestFlags = ConnectionFlags &
  OutputFlags & {
    readonly policy?: string;
    readonly projectPolicy?: string;
    readonly project?: string;
    readonly virtualCluster?: VirtualClusterName;
    readonly cluster?: string;
    readonly role?: string;
    readonly duration?: number;
    readonly reason?: string;
    readonly emergency?: boolean;
    readonly wait?: boolean;
  };

/** The server answers at once; people take minutes. */
const POLL_MS = 1_000;

export const createRequestCommand = (context: CommandContext): Command =>
  new Command("request")
    .description("ask for a role for a limited time; a refusal of kubectl prints the flags that it needs")
    .addOption(new Option("--policy <name>", "policy of the platform to ask by").conflicts("projectPolicy"))
    .option("--project-policy <name>", "policy of the project to ask by")
    .addOption(new Option("--project <name>", "project to get the role in").conflicts(["virtualCluster", "cluster"]))
    .addOption(
      new Option("--virtual-cluster <project/name>", "virtual cluster to get the role in")
        .argParser(parseVirtualCluster)
        .conflicts("cluster"),
    )
    .option("--cluster <name>", "connected cluster to use")
    .option("--role <name>", "ClusterRole in the project or in the virtual cluster")
    .option("--duration <duration>", "how long, such as 1h (default: the maximum of the policy)", parseDurationSeconds)
    .option("--reason <text>", "why, for the approvers and the audit log")
    .option("--emergency", "take the access at once, if the policy allows it; approvers review it afterwards")
    .option("--wait", "wait until the request is approved; exits with an error if it is not")
    .action((flags: RequestFlags) => requestAccess(flags, context));

const requestAccess = (flags: RequestFlags, context: CommandContext): Promise<void> =>
  withClient(flags, context, async (client, group) => {
    const spec = specOf(flags);
    const requests = accessRequestsOf(client, group);
    const object = {
      apiVersion: `${group}/v1`,
      kind: "AccessRequest",
      metadata: { generateName: "access-" },
      spec,
    };
    let request = await requests.create(object);
    const { name = "" } = request.metadata;
    if (flags.wait === true && phaseOf(request) === "Pending") {
      context.stderr.write(`${plainText(stateText(request))}\n`);
      while (phaseOf(request) === "Pending") {
        await pause(POLL_MS);
        request = await requests.get(name);
      }
    }
    if (!writeAs(flags, { name, ...statusOf(request) }, context))
      context.stdout.write(`${plainText(stateText(request))}\n`);
    if (flags.wait === true && phaseOf(request) !== "Approved") throw new UsageError(plainText(stateText(request)));
  });

const phaseOf = (object: KubeObject): string => asRequest(object).status?.phase ?? "Pending";

function statusOf(object: KubeObject): JsonObject {
  const { phase = "Pending", expirationTimestamp, message } = asRequest(object).status ?? {};
  return {
    phase,
    ...(expirationTimestamp ? { expirationTimestamp } : {}),
    ...(message === undefined ? {} : { message }),
  };
}

/** Throws UsageError where policy or target are missing. */
function specOf(flags: RequestFlags): JsonObject {
  const { policy, projectPolicy, project, virtualCluster, cluster, role, duration, reason, emergency } = flags;
  const name = policy ?? projectPolicy;
  if (name === undefined) throw new UsageError("name the policy with --policy or --project-policy");
  const target: JsonObject | undefined =
    virtualCluster !== undefined
      ? { ...virtualCluster }
      : project !== undefined
        ? { project }
        : cluster === undefined
          ? undefined
          : { cluster };
  if (target === undefined) throw new UsageError("name the target with --project, --virtual-cluster or --cluster");
  return {
    policy: { kind: policy === undefined ? "AccessPolicy" : "ClusterAccessPolicy", name },
    target,
    ...(role === undefined ? {} : { role }),
    ...(duration === undefined ? {} : { durationSeconds: duration }),
    ...(reason === undefined ? {} : { reason }),
    ...(emergency === true ? { emergency } : {}),
  };
}
