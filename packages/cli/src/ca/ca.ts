// `postern ca`: certificate authorities, and their rotation in two phases.

import { ROTATION_ACTIONS, type RotationAction } from "@postern/api/certificate-authority";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient } from "@postern/client/resource-client";
import { Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConfirmFlags, confirm, withYesOption } from "../confirm.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "../connection-options.ts";
import { withNotes } from "../help/help.ts";
import { listAt, objectAt, textAt } from "../json-members.ts";
import { withNamespacePrefixOption } from "../namespace-prefix-option.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output-option.ts";
import { plainText } from "../plain-text.ts";
import { cellText, printRows } from "../print-table.ts";
import { UsageError } from "../usage-error.ts";
import { parseVirtualCluster, type VirtualClusterName } from "../virtual-cluster-name.ts";

type RotateFlags = ConnectionFlags &
  OutputFlags &
  ConfirmFlags & {
    readonly virtualCluster: VirtualClusterName;
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
    .description("rotate the CA and the ServiceAccount key of a virtual cluster, in two phases")
    .requiredOption("--virtual-cluster <project/name>", "the virtual cluster", parseVirtualCluster)
    .addOption(step("prepare", "create a new CA, which signs from now on; the earlier one stays trusted"))
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
  const { project, virtualCluster: name } = flags.virtualCluster;
  const step = STEPS.find((each) => flags[each] === true);
  if (step === undefined) throw new UsageError("choose a step: --prepare, --complete, --abort or --status");
  const namespace = `${flags.namespacePrefix}${project}`;
  const resource = createResourceClient(client, {
    group,
    version: "v1",
    resource: "virtualclusterinstances",
    namespace,
  });
  const read = async () => objectAt(await resource.getSubresource(name, "certificateauthority"), "status");
  if (step === "status") return show(await read(), flags, context);
  if (step !== "prepare") await confirm(async () => questionOf(step, await read()), flags, context);
  const answer = await resource.createSubresource(name, "certificateauthority", {
    apiVersion: `${group}/v1`,
    kind: "CertificateAuthority",
    metadata: {},
    spec: { action: actionOf(step) },
  });
  show(objectAt(answer, "status"), flags, context);
}

const actionOf = (step: string): RotationAction | undefined =>
  ROTATION_ACTIONS.find((action) => action.toLowerCase() === step);

function questionOf(step: "complete" | "abort", status: JsonObject): string {
  const [signing, previous] = [textAt(status["signing"], "name"), textAt(status["previous"], "name")];
  if (step === "abort") return `Remove the CA ${signing}? What it signed is refused at once.`;
  const { certificates = 0, tokenSecrets = 0 } = objectAt(status, "outdated");
  return `Remove the CA ${previous}? ${certificates} certificates and ${tokenSecrets} token Secrets depend on it, and tokens that were requested before the preparation.`;
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
  const { certificates = 0, tokenSecrets = 0 } = objectAt(status, "outdated");
  const until = `${textAt(signing, "name")} signs, until ${textAt(signing, "expirationTimestamp")}`;
  const phase = textAt(status, "phase");
  if (phase === "Prepared") {
    return `Prepared: ${until}; ${textAt(previous, "name")} is trusted by ${certificates} certificates and ${tokenSecrets} token Secrets`;
  }
  const completed = textAt(status, "completionTimestamp");
  return `${phase}: ${until}${completed === "" ? "" : `; rotated at ${completed}`}`;
}

const HEADINGS = ["depends on the earlier CA", "kind", "subject", "owner", "expires"];

const rowOf = (item: JsonValue): readonly string[] =>
  ["id", "kind", "subject", "owner", "expirationTimestamp"].map((member) => cellText(textAt(item, member)));
