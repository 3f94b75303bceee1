// `postern credentials`: lists and revokes access keys and certificates, and gets one for kubectl.

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { Command, Option } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type ConfirmFlags, confirm, namedList, withYesOption } from "./confirm.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "./connection-options.ts";
import { createCredentialCommand } from "./kubeconfig/credential.ts";
import { listAt, objectAt, textAt } from "./output/json-members.ts";
import { LIST_FORMATS, type OutputFlags, withOutputOption, writeAs } from "./output/output-option.ts";
import { plainText } from "./output/plain-text.ts";
import { cellText, printRows } from "./output/print-table.ts";
import { withNamespacePrefixOption } from "./serve/namespace-prefix-option.ts";
import { UsageError } from "./usage-error.ts";
import { parseVirtualCluster, type VirtualClusterName } from "./virtual-cluster-name.ts";
import { askWhoAmI, keyInUse } from "./whoami.ts";

type SubjectFlags = ConnectionFlags & {
  readonly user?: string;
  readonly team?: string;
  readonly key?: string;
  readonly virtualCluster?: VirtualClusterName;
  readonly namespacePrefix: string;
};

export function createCredentialsCommand(context: CommandContext): Command {
  const list = new Command("list")
    .description("list credentials, each after the one it was created with")
    .action((flags: SubjectFlags & OutputFlags) =>
      withClient(flags, context, async (client, group) => {
        const { address, name } = await ledgerOf(flags, client, group);
        const ledger = await createResourceClient(client, address).getSubresource(name, "credentials");
        const credentials = listAt(objectAt(ledger, "status"), "credentials");
        const ids = credentials.map((credential) => textAt(credential, "id"));
        if (writeAs(flags, credentials, context, ids)) return;
        if (credentials.length === 0) context.stderr.write("no credentials\n");
        else context.stdout.write(printRows(HEADINGS, credentials.map(rowOf)));
      }),
    );

  const revoke = new Command("revoke")
    .description(
      "revoke credentials: keys are disabled with all credentials created with them, certificates are refused",
    )
    .argument("[id...]", "IDs, as printed by `postern credentials list`")
    .option(
      "--all",
      "all of them, such as those of a user who keeps the permissions; new ones can be had by signing in, and by trust rules",
    )
    .action(async (given: readonly string[], flags: SubjectFlags & OutputFlags & ConfirmFlags & AllFlag) => {
      const { all = false } = flags;
      if (all === given.length > 0) throw new UsageError("name the IDs of credentials, or --all");
      const what = given.length === 1 ? "the credential" : "the credentials";
      const question = all ? `Revoke all credentials ${ofWhom(flags)}` : `Revoke ${what} ${namedList(given)}`;
      await withClient(flags, context, async (client, group) => {
        const { address, name } = await ledgerOf(flags, client, group);
        const resource = createResourceClient(client, address);
        const before = credentialsIn(await resource.getSubresource(name, "credentials"));
        const isRevocable = (credential: JsonValue): boolean => textAt(credential, "enforcedBy") !== "Cluster";
        const ids = all ? before.filter(isRevocable).map((credential) => textAt(credential, "id")) : given;
        const made = withDescendants(ids, before);
        const asked = async (): Promise<string> => {
          const used = await keyInUse(client, group);
          const isOwn = before.some(
            (each) =>
              textAt(each, "kind") === "AccessKey" && textAt(each, "name") === used && made.has(textAt(each, "id")),
          );
          const warning = isOwn ? ` The access key ${used} that this command uses is one of them.` : "";
          return `${question}, and all that were created with ${all ? "them" : "it"}?${warning}`;
        };
        await confirm(asked, flags, context);
        const ledger = await resource.createSubresource(name, "credentials", {
          kind: "CredentialLedger",
          spec: all ? { all } : { revoke: [...ids] },
        });
        if (!writeAs(flags, ledger ?? {}, context, ids)) {
          for (const id of ids) context.stdout.write(`credential ${plainText(id)} revoked\n`);
          if (ids.length === 0) context.stderr.write("no credentials\n");
        }
        const left = credentialsIn(ledger).filter(
          (credential) => !isRevocable(credential) && (all || made.has(textAt(credential, "id"))),
        );
        if (left.length > 0) throw new RevocationError(left);
      });
    });

  const credentials = new Command("credentials").description("list, revoke and get access keys and certificates");
  for (const command of [
    withOutputOption(list, LIST_FORMATS),
    withOutputOption(withYesOption(revoke), ["text", "json", "yaml", "name"]),
  ]) {
    credentials.addCommand(withConnectionOptions(withSubjectOptions(command)));
  }
  return credentials.addCommand(createCredentialCommand("get", context));
}

type AllFlag = { readonly all?: boolean };

const ofWhom = ({ user, team, key, virtualCluster }: SubjectFlags): string => {
  if (user !== undefined) return `of the user ${namedList([user])}`;
  if (team !== undefined) return `of the team ${namedList([team])}`;
  if (key !== undefined) return `of the access key ${namedList([key])}`;
  return virtualCluster === undefined
    ? "of your own"
    : `of the virtual cluster ${namedList([`${virtualCluster.project}/${virtualCluster.virtualCluster}`])}`;
};

/** Certificates that were created with what was revoked, and that clusters still accept. */
class RevocationError extends Error {
  override readonly name = "RevocationError";

  constructor(certificates: readonly JsonValue[]) {
    const which = certificates.map(
      (credential) =>
        `${textAt(credential, "id")} (${textAt(credential, "virtualCluster")}) is valid until ${textAt(credential, "expirationTimestamp")} in the cluster itself`,
    );
    super(
      `${which.join("; ")}: the platform cannot revoke it. Remove the permissions of ${textAt(certificates[0] ?? {}, "subject")} there, or replace the client CA of the cluster`,
    );
  }
}

const credentialsIn = (ledger: JsonValue): readonly JsonValue[] => listAt(objectAt(ledger, "status"), "credentials");

/** The IDs, and those of all that was created with these credentials, directly or in several steps. */
function withDescendants(ids: readonly string[], credentials: readonly JsonValue[]): ReadonlySet<string> {
  const found = new Set(ids);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const credential of credentials)
      if (listAt(credential, "parents").some((parent) => found.has(String(parent))))
        found.add(textAt(credential, "id"));
  }
  return found;
}

function withSubjectOptions(command: Command): Command {
  const others = ["user", "team", "key", "virtualCluster"];
  const subject = (flags: string, description: string): Option => {
    const option = new Option(flags, description);
    return option.conflicts(others.filter((other) => other !== option.attributeName()));
  };
  command
    .addOption(subject("--user <name>", "those of a user, instead of your own"))
    .addOption(subject("--team <name>", "those of a team"))
    .addOption(subject("--key <name>", "an access key and all credentials created with it"))
    .addOption(
      subject("--virtual-cluster <project/name>", "those with access to a virtual cluster").argParser(
        parseVirtualCluster,
      ),
    );
  return withNamespacePrefixOption(command);
}

type Ledger = { readonly address: ResourceAddress; readonly name: string };

/** The object below which credentials are listed; the caller itself without a flag. */
async function ledgerOf(flags: SubjectFlags, client: ApiClient, group: string): Promise<Ledger> {
  const { user, team, key, virtualCluster, namespacePrefix } = flags;
  const below = (resource: string, name: string, namespace?: string): Ledger => ({
    address: { group, version: "v1", resource, ...(namespace === undefined ? {} : { namespace }) },
    name,
  });
  if (user !== undefined) return below("users", user);
  if (team !== undefined) return below("teams", team);
  if (key !== undefined) return below("ownedaccesskeys", key);
  if (virtualCluster !== undefined) {
    const namespace = `${namespacePrefix}${virtualCluster.project}`;
    return below("virtualclusterinstances", virtualCluster.virtualCluster, namespace);
  }
  const status = await askWhoAmI(client, group);
  const me = objectAt(status, "user")["name"];
  if (typeof me === "string") return below("users", me);
  const ours = objectAt(status, "team")["name"];
  if (typeof ours === "string") return below("teams", ours);
  throw new UsageError("your credential belongs to no user or team: choose credentials with --key or --user");
}

const HEADINGS = ["id", "kind", "name", "owner", "virtual cluster", "made with", "expires", "last used"];

function rowOf(credential: JsonValue): readonly string[] {
  const { id, kind, name, subject, owner, virtualCluster, parents, expirationTimestamp, lastActivity, enforcedBy } =
    isJsonObject(credential) ? credential : {};
  const madeWith = isJsonArray(parents) && parents.length > 0 ? parents.join(",") : "";
  return [
    id,
    kind,
    name ?? subject,
    owner,
    virtualCluster,
    madeWith === "" ? undefined : madeWith,
    enforcedBy === "Cluster"
      ? `${String(expirationTimestamp)}, in the cluster itself`
      : (expirationTimestamp ?? "never"),
    // The use of certificates is not recorded.
    lastActivity ?? (kind === "AccessKey" ? "never" : undefined),
  ].map(cellText);
}
