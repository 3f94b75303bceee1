// `postern provider test`: shows what an identity provider says, and whom a token or claims of it would sign in.

import { readFile } from "node:fs/promises";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { createResourceClient } from "@postern/client/resource-client";
import { Command, Option } from "commander";
import { findJobIdentity, type IdentityFlags } from "../ci/job-identity.ts";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "../connection-options.ts";
import { listAt, objectAt, textAt } from "../output/json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { cellText, printChecks, printFields } from "../output/print-table.ts";
import { UsageError } from "../usage-error.ts";

type TestFlags = ConnectionFlags & OutputFlags & IdentityFlags & { readonly claimsFile?: string };

export function createProviderCommand(context: CommandContext): Command {
  const test = new Command("test")
    .description("show what an identity provider says, and whom a token or claims of it sign in; nobody is signed in")
    .argument("<provider>", "name of the identity provider")
    .addOption(new Option("--token-file <file>", "file with an ID token; - for standard input"))
    .addOption(new Option("--token-variable <name>", "variable with an ID token").conflicts("tokenFile"))
    .addOption(
      new Option("--claims-file <file>", "file with claims as JSON, instead of an ID token").conflicts([
        "tokenFile",
        "tokenVariable",
      ]),
    )
    .action((name: string, flags: TestFlags) => testProvider(name, flags, context));
  return new Command("provider")
    .description("identity providers, which users sign in with")
    .addCommand(withConnectionOptions(withOutputOption(test)));
}

async function testProvider(name: string, flags: TestFlags, context: CommandContext): Promise<void> {
  const spec = await questionOf(flags, context);
  const accepted = await withClient(flags, context, async (client, group) => {
    const providers = createResourceClient(client, { group, version: "v1", resource: "identityproviders" });
    const answer = await providers.createSubresource(name, "test", { kind: "IdentityProviderTest", spec });
    const status = objectAt(answer, "status");
    if (!writeAs(flags, status, context)) {
      context.stdout.write(printChecks(listAt(status, "checks")));
      if (isJsonObject(status["identity"])) context.stdout.write(`\n${printFields(fieldsOf(status))}`);
    }
    return status["accepted"] === true;
  });
  if (accepted) return;
  const isAsked = Object.keys(spec).length > 0;
  throw new UsageError(`users cannot sign in with ${name}${isAsked ? " by these claims" : ""}`);
}

async function questionOf(flags: TestFlags, context: CommandContext): Promise<JsonObject> {
  const { claimsFile } = flags;
  if (claimsFile !== undefined) return { claims: claimsIn(await readFile(claimsFile), claimsFile) };
  if (flags.tokenFile === undefined && flags.tokenVariable === undefined) return {};
  return { idToken: (await findJobIdentity(flags, "", context)).token };
}

function claimsIn(bytes: Uint8Array, file: string): JsonObject {
  let claims: JsonValue;
  try {
    claims = parseJson(bytes);
  } catch (cause) {
    throw new UsageError(`${file}: must have claims as a JSON object`, { cause });
  }
  if (!isJsonObject(claims)) throw new UsageError(`${file}: must have claims as a JSON object`);
  return claims;
}

function fieldsOf(status: JsonObject): readonly (readonly [string, string])[] {
  const identity = objectAt(status, "identity");
  const user = isJsonObject(status["user"]) ? status["user"] : {};
  return [
    ["user", `${textAt(user, "name")} ${textAt(user, "how")}`.trim()],
    ["username", textAt(identity, "username")],
    ["subject", textAt(identity, "subject")],
    ["groups", listAt(identity, "groups").map(cellText).join(", ")],
    ["teams", listAt(user, "teams").map(cellText).join(", ")],
    ["email", textAt(identity, "email")],
    ["display name", textAt(identity, "displayName")],
    ["warning", textAt(identity, "warning")],
  ];
}
