// `postern key rotate`: replaces the value of an access key and prints the new one.

import { randomUUID } from "node:crypto";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { accessKeyAt, objectAt } from "../json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output-option.ts";
import { cellText } from "../print-table.ts";
import { accessKeysOf } from "./access-keys.ts";

type RotateFlags = ConnectionFlags & OutputFlags & { readonly grace?: number };

export const createKeyRotateCommand = (context: CommandContext): Command =>
  withOutputOption(new Command("rotate"))
    .description("give an access key a new value and print it; it is never shown again")
    .argument("<name>", "name of the key")
    .option(
      "--grace <duration>",
      "how long the old value stays valid unless the new one is used, such as 1h (default: it becomes invalid immediately)",
      parseDurationSeconds,
    )
    .action((name: string, flags: RotateFlags) =>
      withClient(flags, context, async (client, group) => {
        const answer = await accessKeysOf(client, group).createSubresource(name, "rotate", {
          apiVersion: `${group}/v1`,
          kind: "OwnedAccessKeyRotation",
          metadata: {},
          // The client retries if the server is busy: the nonce prevents a second rotation.
          spec: { nonce: randomUUID(), gracePeriodSeconds: flags.grace },
        });
        const status = objectAt(answer, "status");
        if (!writeAs(flags, status, context)) context.stdout.write(`${accessKeyAt(status, "key")}\n`);
        const old =
          (flags.grace ?? 0) === 0
            ? "the old value is refused from now on"
            : `the old value is accepted until the new one is used, at most until ${cellText(status["previousKeyExpirationTimestamp"])}`;
        context.stderr.write(`access key ${name} rotated; keep the new value now, it is not shown again; ${old}\n`);
      }),
    );
