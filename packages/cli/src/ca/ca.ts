// `postern ca`: certificate authorities, and their rotation in two phases.

import { ROTATION_ACTIONS, type RotationAction } from "@postern/api/certificate-authority";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConfirmFlags, confirm, withYesOption } from "../confirm.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "../connection-options.ts";
import { withNotes } from "../help/help.ts";
import { listAt, objectAt, textAt } from "../output/json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { plainText } from "../output/plain-text.ts";
import { cellText, printRows } from "../output/print-table.ts";
import { withNamespacePrefixOption } from "../serve/namespace-prefix-option.ts";
import { UsageError } from "../usage-error.ts";
import { parseVirtualCluster, type VirtualClusterName } from "../virtual-cluster-name.ts";

type RotateFlags = ConnectionFlags &
  OutputFlags &
  ConfirmFlags & {
    readonly virtualCluster?: VirtualClusterName;
    readonly space?: VirtualClusterName;
    readonly namespacePrefix: string;
    readonly prepare?: boolean;
    readonly complete?: boolean;
    readonly abort?: boolean;
    readonly status?: boolean;
  };

const STEPS = ["prepare", "complete", "abort", "status"] as const;

export function createCaCommand(context: CommandContext): Command {
  const step = (name: (typeof STEPS)[number], description: string): Option =>
    new Option(`--${name}`, description).conflicts(STEPS.filter((other) => other !== name));
  const rotate = new Command("rotate")
    .description(
      "rotate the CA of the platform, or the CA and the ServiceAccount key of a virtual cluster or space, in two phases",
    )
    .addOption(
      new Option("--virtual-cluster <project/name>", "those of a virtual cluster")
        .argParser(parseVirtualCluster)
        .conflicts("space"),
    )
    .option("--space <project/name>", "those of a space on the built-in cluster", parseVirtualCluster)
    .addOption(step("prepare", "create a new CA; the earlier one stays trusted"))
    .addOption(step("complete", "remove the earlier CA: what it signed is refused; asks first on a terminal"))
    .addOption(step("abort", "remove the new CA: what it signed is refused; asks first on a terminal"))
    .addOption(step("status", "show the phase, and what still depends on the earlier CA"))
    .action((flags: RotateFlags) => withClient(flags, context, (client, group) => run(flags, client, group, context)));
  const described = withNotes(
    rotate,
    "Between the phases, get new kubeconfigs and tokens everywhere. --status lists what has not been replaced.",
  );
  return new Command("ca")
    .description("certificate authorities, and their rotation")
    .addCommand(withConnectionOptions(withNamespacePrefixOption(withOutputOption(withYesOption(described)))));
}

async function run(flags: RotateFlags, client: ApiClient, group: string, context: CommandContext): Promise<void> {
  const step = STEPS.find((each) => flags[each] === true);
  if (step === undefined) throw new UsageError("choose a step: --prepare, --complete, --abort or --status");
  const authority = authorityOf(flags, client, group);
  if (step === "status") return show(await authority.read(), flags, context);
  if (step !== "prepare")
    await confirm(async () => questionOf(step, await authority.read(), placeOf(flags)), flags, context);
  const action = ROTATION_ACTIONS.find((each) => each.toLowerCase() === step);
  if (action !== undefined) show(await authority.take(action), flags, context);
}

type Authority = { read(): Promise<JsonObject>; take(action: RotationAction): Promise<JsonObject> };

function authorityOf(
  { virtualCluster, space, namespacePrefix }: RotateFlags,
  client: ApiClient,
  group: string,
): Authority {
  const place = virtualCluster ?? space;
  if (place === undefined) return ofPlatform(client);
  const resource = virtualCluster === undefined ? "spaceinstances" : "virtualclusterinstances";
  const namespace = `${namespacePrefix}${place.project}`;
  return ofInstance({ group, version: "v1", resource, namespace }, place.virtualCluster, client);
}

const PLATFORM_PATH = "/certificateauthority";

function ofPlatform(client: ApiClient): Authority {
  const ask = async (call: { readonly method: "GET" | "POST"; readonly body?: JsonObject }): Promise<JsonObject> => {
    const answer = await client.request({ ...call, path: PLATFORM_PATH });
    return isJsonObject(answer) ? answer : {};
  };
  return { read: () => ask({ method: "GET" }), take: (action) => ask({ method: "POST", body: { action } }) };
}

function ofInstance(address: ResourceAddress, name: string, client: ApiClient): Authority {
  const resource = createResourceClient(client, address);
  return {
    read: async () => objectAt(await resource.getSubresource(name, "certificateauthority"), "status"),
    async take(action) {
      const answer = await resource.createSubresource(name, "certificateauthority", {
        kind: "CertificateAuthority",
        spec: { action },
      });
      return objectAt(answer, "status");
    },
  };
}

/** As a question says whose CA it is. */
function placeOf({ virtualCluster, space }: RotateFlags): string {
  if (virtualCluster !== undefined)
    return `the virtual cluster ${virtualCluster.project}/${virtualCluster.virtualCluster}`;
  return space === undefined ? "the platform" : `the space ${space.project}/${space.virtualCluster}`;
}

function questionOf(step: "complete" | "abort", status: JsonObject, place: string): string {
  if (status["phase"] !== "Prepared")
    throw new UsageError(`no rotation of the CA of ${place} is prepared: --${step} follows --prepare`);
  const nameOf = (member: string): string => textAt(status[member], "name");
  const { certificates, accessKeys, tokenSecrets } = countsOf(status);
  const [signing, previous, prepared] = [nameOf("signing"), nameOf("previous"), nameOf("prepared")];
  if (prepared !== "") {
    return step === "abort"
      ? `Remove the new CA of ${place}, ${prepared}? Kubeconfigs go on with the other one.`
      : `Remove the earlier CA of ${place}, ${signing}? Kubeconfigs from before the preparation trust no server any more: ${certificates}, and ${accessKeys} with tokens in use.`;
  }
  if (step === "abort") return `Remove the new CA of ${place}, ${signing}? What it signed is refused at once.`;
  return `Remove the earlier CA of ${place}, ${previous}? Refused from then on: ${certificates}, ${tokenSecrets}, and tokens that were requested before the preparation.`;
}

function show(status: JsonObject, flags: OutputFlags, context: CommandContext): void {
  if (writeAs(flags, status, context)) return;
  const { stdout } = context;
  stdout.write(`${plainText(summaryOf(status))}\n`);
  const items = listAt(objectAt(status, "outdated"), "items");
  if (items.length > 0) stdout.write(printRows(HEADINGS, items.map(rowOf)));
}

function summaryOf(status: JsonObject): string {
  const [signing, previous] = [objectAt(status, "signing"), objectAt(status, "previous")];
  const { certificates, accessKeys, tokenSecrets, used } = countsOf(status);
  const until = `${textAt(signing, "name")} signs, until ${textAt(signing, "expirationTimestamp")}`;
  const phase = textAt(status, "phase");
  const prepared = textAt(status["prepared"], "name");
  if (prepared !== "") {
    return `Prepared: the earlier CA ${until}; new kubeconfigs trust the new CA ${prepared} as well; from before: ${certificates}, and ${accessKeys} with tokens in use; used since: ${used}`;
  }
  if (phase === "Prepared") {
    return `Prepared: the new CA ${until}; the earlier CA ${textAt(previous, "name")} is trusted for ${certificates} and ${tokenSecrets}; certificates used since: ${used}`;
  }
  const completed = textAt(status, "completionTimestamp");
  return `${phase}: the CA ${until}${completed === "" ? "" : `; rotated at ${completed}`}`;
}

/** `1 certificate`, `2 kubeconfigs`, `0 token Secrets`. */
function countsOf(status: JsonObject) {
  const { certificates, accessKeys, tokenSecrets, used = 0 } = objectAt(status, "outdated");
  const counted = (count: JsonValue | undefined, noun: string): string =>
    `${count ?? 0} ${noun}${count === 1 ? "" : "s"}`;
  return {
    certificates: counted(certificates, "certificate"),
    accessKeys: counted(accessKeys, "kubeconfig"),
    tokenSecrets: counted(tokenSecrets, "token Secret"),
    used,
  };
}

const HEADINGS = ["depends on the earlier CA", "kind", "subject", "owner", "expires", "last used", "from", "client"];

const rowOf = (item: JsonValue): readonly string[] => {
  const from = objectAt(item, "lastUsedFrom");
  const cells = ["id", "kind", "subject", "owner", "expirationTimestamp", "lastActivity"].map((at) => textAt(item, at));
  return [...cells, textAt(from, "address"), textAt(from, "userAgent")].map((text) => cellText(text));
};
