// `postern key rotate`: replaces the value of an access key and prints the new one.

import { randomUUID } from "node:crypto";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { accessKeyAt, objectAt } from "../output/json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { cellText } from "../output/print-table.ts";
import { type WrapFlags, withWrapOption, wrapQuery, writeWrapped } from "../wrap-option.ts";
import { accessKeysOf } from "./access-keys.ts";

type RotateFlags = ConnectionFlags & OutputFlags & WrapFlags & { readonly grace?: number };

export const createKeyRotateCommand = (context: CommandContext): Command =>
  withOutputOption(withWrapOption(new Command("rotate")))
    .description("give an access key a new value and print it; it is never shown again")
    .argument("<name>", "name of the key")
    .option(
      "--grace <duration>",
      "how long the old value stays valid unless the new one is used, such as 1h (default: it becomes invalid immediately)",
      parseDurationSeconds,
    )
    .action((name: string, flags: RotateFlags) =>
      withClient(flags, context, async (client, group) => {
        const answer = await accessKeysOf(client, group).createSubresource(
          name,
          "rotate",
          {
            kind: "OwnedAccessKeyRotation",
            // The client retries if the server is busy: the nonce prevents a second rotation.
            spec: { nonce: randomUUID(), gracePeriodSeconds: flags.grace },
          },
          wrapQuery(flags),
        );
        const status = objectAt(answer, "status");
        if (flags.wrap !== undefined) writeWrapped(status, flags, context);
        else if (!writeAs(flags, status, context)) context.stdout.write(`${accessKeyAt(status, "key")}\n`);
        const old =
          (flags.grace ?? 0) === 0
            ? "the old value is refused from now on"
            : `the old value is accepted until the new one is used, at most until ${cellText(status["previousKeyExpirationTimestamp"])}`;
        const shown = flags.wrap === undefined ? "; keep the new value now, it is not shown again" : "";
        context.stderr.write(`access key ${name} rotated${shown}; ${old}\n`);
      }),
    );
