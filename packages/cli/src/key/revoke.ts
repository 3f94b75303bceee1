// `postern key disable`, `enable` and `revoke`: disable, enable or delete access keys.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { ResourceClient } from "@postern/client/resource-client";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConfirmFlags, confirm, namedList, withYesOption } from "../confirm.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { describeFailure } from "../failure.ts";
import { type OutputFlags, type OutputFormat, withOutputOption, writeAs } from "../output/output-option.ts";
import { plainText } from "../output/plain-text.ts";
import { keyInUse } from "../whoami.ts";
import { accessKeysOf, ownerOf } from "./access-keys.ts";

const FORMATS: readonly OutputFormat[] = ["text", "json", "yaml", "name"];
const NAMES = ["<name...>", "names of the keys"] as const;

export const createKeyDisableCommand = (context: CommandContext): Command =>
  withYesOption(createSwitchCommand(context, "disable")).description(
    "disable access keys, and all credentials created with them, until they are enabled again; asks first about the one that it uses itself",
  );

export const createKeyEnableCommand = (context: CommandContext): Command =>
  createSwitchCommand(context, "enable").description("enable disabled access keys");

export const createKeyRevokeCommand = (context: CommandContext): Command =>
  withOutputOption(
    withYesOption(
      new Command("revoke")
        .description("delete access keys, which stop working immediately; asks first on a terminal")
        .argument(...NAMES),
    ),
    FORMATS,
  ).action(async (names: readonly string[], flags: ConnectionFlags & OutputFlags & ConfirmFlags) => {
    await withClient(flags, context, async (client, group) => {
      const asked = async (): Promise<string> => {
        const question = await questionAbout(accessKeysOf(client, group), names);
        return `${question}${warningAbout(await keyInUse(client, group), names)}`;
      };
      await confirm(asked, flags, context);
      await forEachKey(names, flags, "revoked", context, async (name) => {
        await accessKeysOf(client, group).delete(name);
        // The object is gone.
        return { name, revoked: true };
      });
    });
  });

/** Throws NotFound for an unknown name, before it asks for confirmation. */
async function questionAbout(keys: ResourceClient<OwnedAccessKey>, names: readonly string[]): Promise<string> {
  const found = await Promise.all(
    names.map((name) =>
      keys.get(name).catch((error: unknown) => {
        // A permission to delete does not need one to read.
        if (isApiError(error, "Forbidden")) return undefined;
        throw error;
      }),
    ),
  );
  const [only] = found;
  if (names.length > 1)
    return `Delete the access keys ${namedList(names)}? Requests with them are refused immediately.`;
  const details =
    only === undefined ? "" : ` (${ownerOf(only.spec)}, last used: ${only.status?.lastActivity ?? "never"})`;
  return `Delete the access key ${namedList(names)}${details}? Requests with it are refused immediately.`;
}

const warningAbout = (used: string | undefined, names: readonly string[]): string => {
  if (used === undefined || !names.includes(used)) return "";
  return names.length === 1
    ? " It is the access key that this command uses."
    : ` The access key ${used} that this command uses is one of them.`;
};

const createSwitchCommand = (context: CommandContext, verb: "disable" | "enable"): Command =>
  withOutputOption(new Command(verb).argument(...NAMES), FORMATS).action(
    (names: readonly string[], flags: ConnectionFlags & OutputFlags & ConfirmFlags) =>
      withClient(flags, context, async (client, group) => {
        const used = verb === "enable" || flags.yes === true ? undefined : await keyInUse(client, group);
        if (used !== undefined && names.includes(used)) {
          const question = `Disable the access key ${used}, which this command uses? It takes another one to enable it again.`;
          await confirm(question, flags, context);
        }
        await forEachKey(
          names,
          flags,
          `${verb}d`,
          context,
          async (name) =>
            // Objects of an API are JSON; their type describes each member.
            (await accessKeysOf(client, group).patch(name, {
              type: "merge",
              patch: { spec: { disabled: verb === "disable" } },
            })) as JsonValue,
        );
      }),
  );

/**
 * A failure for one key does not stop the others: each is printed, and the last one is thrown at the end.
 * Errors that affect all keys, such as a refused credential or an unreachable server, are thrown at once.
 */
async function forEachKey(
  names: readonly string[],
  flags: OutputFlags,
  done: string,
  context: CommandContext,
  act: (name: string) => Promise<JsonValue>,
): Promise<void> {
  const answers: JsonValue[] = [];
  const changed: string[] = [];
  let refusal: Error | undefined;
  for (const name of names) {
    try {
      answers.push(await act(name));
      changed.push(name);
      if (flags.output === "text") context.stdout.write(`access key ${plainText(name)} ${done}\n`);
    } catch (error) {
      if (!isApiError(error) || error.code === 401) throw error;
      if (refusal !== undefined) context.stderr.write(`postern: ${describeFailure(refusal)}\n`);
      refusal = error;
    }
  }
  writeAs(flags, answers, context, changed);
  if (refusal !== undefined) throw refusal;
}
