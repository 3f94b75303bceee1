// `postern unwrap`: exchanges a wrapped value for the credential inside, once.

import { resolve } from "node:path";
import { UNWRAP_PATH } from "@postern/api/wrapped-value";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { createApiClient } from "@postern/client/api-client";
import { replaceFile } from "@postern/client/kubeconfig-file";
import { createNodeTransport } from "@postern/client/transport/node";
import { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { withNotes } from "./help/help.ts";
import { findConnection } from "./login/platform-choice.ts";
import { parseAddress, readAuthority } from "./login/platforms.ts";
import { accessKeyAt, textAt } from "./output/json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "./output/output-option.ts";
import { plainText } from "./output/plain-text.ts";
import { readSecretFrom } from "./read-secret.ts";
import { UsageError } from "./usage-error.ts";

type UnwrapFlags = OutputFlags & {
  readonly server?: string;
  readonly ca?: string;
  readonly valueFile?: string;
  readonly out?: string;
};

export function createUnwrapCommand(context: CommandContext): Command {
  const command = withOutputOption(new Command("unwrap"))
    .description("exchange a wrapped value for the access key or kubeconfig inside, once; needs no sign-in")
    .option("--server <url>", "address of the platform (default: that of the login) [env: POSTERN_URL]")
    .option("--ca <file>", "certificate authority of the platform, if it is not publicly trusted [env: POSTERN_CA]")
    .option("--value-file <file>", "file with the value; - for standard input [env: POSTERN_WRAPPED_VALUE]")
    .option("--out <file>", "write the credential to a file with mode 0600")
    .action((flags: UnwrapFlags) => unwrap(flags, context));
  return withNotes(
    command,
    "If the value was read before, another reader has the credential, and the message says since when: revoke it.",
  );
}

async function unwrap(flags: UnwrapFlags, context: CommandContext): Promise<void> {
  const { environment, stdout, stderr, workingDirectory } = context;
  const given = environment["POSTERN_WRAPPED_VALUE"] ?? "";
  const value =
    flags.valueFile === undefined && given !== ""
      ? given
      : await readSecretFrom(flags.valueFile ?? "-", "Wrapped value: ", context.readSecret);
  if (value === undefined) throw new UsageError("there is no value: name its file with --value-file, or pipe it in");
  await using transport = createNodeTransport({ ...(await addressOf(flags, context)), proxyEnvironment: environment });
  const client = createApiClient({ transport, userAgent: `postern/${BUILD_INFO.version}` });
  const answer = await client.request({ method: "POST", path: UNWRAP_PATH, body: { value } });
  if (!isJsonObject(answer)) throw new UsageError("the server sent no credential");
  const credential = accessKeyAt(answer, "accessKey") || textAt(answer, "kubeConfig");
  if (credential === "") throw new UsageError("the server sent no credential");
  const text = credential.endsWith("\n") ? credential : `${credential}\n`;
  if (flags.out !== undefined) {
    const path = resolve(workingDirectory, flags.out);
    await replaceFile(path, text).catch((error: NodeJS.ErrnoException) => {
      // It cannot be read again.
      stdout.write(text);
      throw new UsageError(`cannot write ${flags.out} (${error.code}): the credential is on standard output`);
    });
  } else if (!writeAs(flags, answer, context)) stdout.write(text);
  const [name, by, at] = ["name", "createdBy", "creationTimestamp"].map((member) => plainText(textAt(answer, member)));
  stderr.write(`credential ${name}, created by ${by} at ${at}; the value is of no use any more\n`);
}

async function addressOf({ server, ca }: UnwrapFlags, context: CommandContext) {
  const { environment } = context;
  const given = server ?? environment["POSTERN_URL"] ?? "";
  if (given === "") return (await findConnection({}, context)).transport;
  const authority = ca ?? environment["POSTERN_CA"] ?? "";
  return {
    server: parseAddress(given),
    ...(authority === "" ? {} : { certificateAuthorityPem: await readAuthority(authority) }),
  };
}
